"""Runs upstream packages that need transformers 5, in the environment that `dev.py` builds for them: `.venv5`.

A reference script is called as `script.py FOLDER`: it reads its arguments from `request.json` there, its tensors from
`request.safetensors`, and writes what it made of them into `answer.safetensors`. MIZUOTO_ORACLES5 names another
interpreter than that of `.venv5`.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from mizuoto.devtools.environment import VENV5, venv_python
from safetensors.torch import load_file, save_file

TIMEOUT_S = 600


def run(script: Path, tensors: dict, **arguments: object) -> dict:
    """The tensors that `script` makes of `tensors` and JSON-able `arguments`, on the CPU, in one thread, offline.

    Raises:
        RuntimeError: There is no such environment, or the script failed; the text says how.
    """
    python = Path(os.environ.get("MIZUOTO_ORACLES5") or venv_python(VENV5))
    if not python.exists():
        raise RuntimeError(f"{python} is missing: `python dev.py test` builds it.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="mizuoto-oracle-") as scratch:
        answer = Path(scratch) / "answer.safetensors"
        (Path(scratch) / "request.json").write_text(json.dumps(arguments), encoding="utf-8")
        save_file(tensors, Path(scratch) / "request.safetensors")
        done = subprocess.run(
            [str(python), str(script), scratch],
            **{"env": environment, "cwd": scratch, "timeout": TIMEOUT_S, "check": False},
            **{"capture_output": True, "text": True, "encoding": "utf-8", "errors": "replace"},
        )
        if done.returncode or not answer.is_file():
            raise RuntimeError(f"{script.name} failed in {python}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}")
        return {name: tensor.clone() for name, tensor in load_file(answer).items()}
