"""Ports and linked folders of this machine, alike on every system."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path


def free_port() -> int:
    """A port on which nothing listens at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_port_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        if os.name != "nt":
            # As servers do: a port whose last connections are still closing counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def link_folder(target: Path, link: Path) -> None:
    """Make a folder appear at another place: a symbolic link, on Windows a junction, or else a copy of what matters."""
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.symlink_to(target, target_is_directory=True)
    except OSError:
        if os.name != "nt":
            raise
        # Windows keeps symbolic links from ordinary users; junctions are free for all.
        made = subprocess.run(["cmd", "/c", "mklink", "/J", str(link), str(target)], capture_output=True, check=False)
        if made.returncode:
            shutil.copytree(target, link, ignore=shutil.ignore_patterns(".git", ".venv", ".host", "__pycache__"))


def unlink_folder(link: Path) -> None:
    """Undo `link_folder`; what the link leads to stays."""
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        try:
            link.rmdir()  # a junction
        except OSError:
            shutil.rmtree(link)  # a copy
