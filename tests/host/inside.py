"""Runs a script of scenarios inside a ComfyUI's own model management, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

PACK = Path(__file__).resolve().parents[2]


def results_of(script, host_path, timeout_s):
    """Scenario -> "" or its traceback, as `script COMFYUI PACK` prints them in its last line."""
    run = subprocess.run(
        [sys.executable, str(script), str(host_path), str(PACK)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])
