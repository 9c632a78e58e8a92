"""A pack that offers the built-in voice's own weights as a download from a hub on this machine.

Standard library only; `fake_hub.FakeHub` is the hub.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "engines" / "hibari" / "assets"
WEIGHTS = "hibari_heart.f16.safetensors"
SIZE = (ASSETS / WEIGHTS).stat().st_size
NAME, REPO = "Hibari-Copy", "mizuoto/Hibari-Copy"
CHOICE = f"{NAME} (download)"
# It waits until all packs are loaded.
_PACK = f'''
import sys, threading, time
from dataclasses import replace
NODE_CLASS_MAPPINGS = {{}}
def offer():
    while True:
        for name, module in list(sys.modules.items()):
            if name.endswith("ComfyUI-Mizuoto.engines") and hasattr(module, "recognise"):
                base, manifests = sys.modules[name + ".base"], module.manifests()
                downloads = (base.Download("{NAME}", "{REPO}", {SIZE}),)
                manifests["hibari"] = replace(manifests["hibari"], downloads=downloads)
                return
        time.sleep(0.02)
threading.Thread(target=offer, daemon=True).start()
'''


def files() -> dict[str, bytes]:
    """What the repository holds."""
    return {WEIGHTS: (ASSETS / WEIGHTS).read_bytes(), "config.json": b"{}", "code.py": b"raise SystemExit"}


def pack(folder: Path) -> dict[str, Path]:
    """The pack, written into a new folder: what `Comfy` takes among its `packs`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(_PACK, encoding="utf-8")
    return {"offer": folder}


def online(url: str) -> dict[str, str]:
    """The environment in which the hub at `url` is asked."""
    return {"HF_ENDPOINT": url, "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0"}
