"""ComfyUI-Mizuoto: text to speech, voice cloning and speech recognition as ComfyUI nodes."""

from importlib.util import find_spec

WEB_DIRECTORY = "./web"

# Outside ComfyUI (tests, `python -m mizuoto`) the package is importable and offers no nodes.
if find_spec("comfy_api") is not None:
    from .nodes import comfy_entrypoint

    __all__ = ["WEB_DIRECTORY", "comfy_entrypoint"]
else:
    __all__ = ["WEB_DIRECTORY"]
