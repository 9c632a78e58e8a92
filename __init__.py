"""ComfyUI-Mizuoto: text to speech, voice cloning and speech recognition as ComfyUI nodes."""

import logging
import sys
from importlib.util import find_spec

WEB_DIRECTORY = "./web"

# Outside ComfyUI (tests, `python -m mizuoto`) the package is importable and offers no nodes.
if find_spec("comfy_api") is not None:
    from .nodes import comfy_entrypoint

    __all__ = ["WEB_DIRECTORY", "comfy_entrypoint"]
else:
    if {"nodes", "folder_paths"} <= sys.modules.keys():
        logging.getLogger("mizuoto").warning(
            "ComfyUI-Mizuoto adds no nodes: this ComfyUI is too old, 0.3.75 is the oldest that works; update it."
        )
    __all__ = ["WEB_DIRECTORY"]
