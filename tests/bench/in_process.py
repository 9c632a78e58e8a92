"""Runs a bench's script in a process of its own and reads the JSON that it prints last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHES = Path(__file__).resolve().parent


def in_process(script: str, *arguments: object) -> Any:
    """What `script`, a file beside this one, prints for `arguments`.

    Raises:
        RuntimeError: It failed; the text is the end of what it wrote.
    """
    command = [sys.executable, str(BENCHES / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def in_comfyui(what: str) -> dict[str, float]:
    """The seconds that `in_comfyui.py` measures for `what` in a process that is a ComfyUI."""
    return in_process("in_comfyui.py", os.environ["COMFYUI_PATH"], what)
