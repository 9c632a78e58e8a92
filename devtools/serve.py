"""A ComfyUI with the pack and the real web page, for a person."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..tests.host.comfy import Comfy, HostError
from .console import Stop, say
from .environment import BUILT, ROOT, has_accelerator
from .host import ensure_front_end

KEPT = ("models", "input", "output", "user")


def run(python: Path, host: Path, port: int) -> int:
    """Serve until Ctrl-C; models, input, output and user settings stay in `.host/user`. 0 once it is stopped."""
    packages = ensure_front_end(host)
    links = {name: BUILT / "user" / name for name in KEPT}
    for folder in links.values():
        folder.mkdir(parents=True, exist_ok=True)
    search_path = os.pathsep.join(filter(None, [str(packages), os.environ.get("PYTHONPATH")]))
    comfy = Comfy(
        host,
        python,
        packs={"ComfyUI-Mizuoto": ROOT},
        links=links,
        arguments=() if has_accelerator(python) else ("--cpu",),
        env={"PYTHONPATH": search_path},
        port=port,
        front_end=packages / "comfyui_frontend_package" / "static",
    )
    say("starting ComfyUI ...")
    try:
        comfy.start()
    except HostError as error:
        raise Stop(str(error)) from None
    say(f"ComfyUI is at {comfy.url} (models in {links['models']}, log in {comfy.log_path}); stop it with Ctrl-C")
    try:
        while comfy.is_running():
            time.sleep(0.5)
        raise Stop(f"ComfyUI ended. Its log ends with:\n{comfy.log_tail()}")
    except KeyboardInterrupt:
        say("stopped")
        return 0
    finally:
        comfy.stop()
