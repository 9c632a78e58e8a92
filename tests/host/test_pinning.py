"""Our pins in a real ComfyUI's books, with a driver that only writes down what it is asked."""

import json
import subprocess
import sys
from pathlib import Path

PACK = Path(__file__).resolve().parents[2]
PROGRAM = """
import importlib, importlib.util, json, sys
host, pack = sys.argv[1:3]
sys.argv[1:] = ["--cpu"]
sys.path.insert(0, host)
import comfy.options
comfy.options.enable_args_parsing()
import comfy.model_management as mm
import torch

spec = importlib.util.spec_from_file_location("pack", f"{pack}/__init__.py", submodule_search_locations=[pack])
sys.modules["pack"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["pack"])
adapter = importlib.import_module("pack.nodes.host.pinning")
pinning = importlib.import_module("pack.mizuoto_runtime.memory.pinning")
off = adapter.pins()

MB, calls = 1 << 20, []

class Cudart:
    def cudaHostRegister(self, *args):
        calls.append("register")
        return 0

    def cudaHostUnregister(self, *args):
        calls.append("unregister")
        return 0

torch.cuda.cudart = Cudart
torch.cuda.synchronize = lambda device=None: calls.append("synchronize")
adapter.can_pin_in_place = lambda: True
mm.MAX_PINNED_MEMORY = 16 * MB
others = mm.TOTAL_PINNED_MEMORY = 4 * MB
pinner = pinning.Pinner(64 * MB, adapter.pins())
buffer, large = pinning.HostBuffer(8 * MB), pinning.HostBuffer(8 * MB)
view = buffer.tensor[:MB].view(torch.float32)
device = torch.device("cuda", 0)
with torch.inference_mode():
    pins = [pinner.pin(buffer, device), pinner.pin(buffer, device), pinner.pin(large, device)]
during = mm.TOTAL_PINNED_MEMORY - others
known = dict(mm.PINNED_MEMORY)
del buffer
still = mm.TOTAL_PINNED_MEMORY - others
del view
print(json.dumps({
    "off": off is None, "pins": pins, "during": during, "still": still, "sizes": list(known.values()),
    "left": [mm.TOTAL_PINNED_MEMORY, len(mm.PINNED_MEMORY), pinner.pinned_bytes], "calls": calls,
}))
"""


def test_pins_are_in_its_books(host_path):
    command = [sys.executable, "-c", PROGRAM, str(host_path), str(PACK)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    seen = json.loads(run.stdout.splitlines()[-1])
    assert seen.pop("left")[1:] == [0, 0]
    assert seen == {
        "off": True,  # started with --cpu
        "pins": [True, True, False],
        "during": 8 << 20,
        "still": 8 << 20,
        "sizes": [8 << 20],
        "calls": ["register", "synchronize", "unregister"],
    }
    assert not any("unpin" in line.lower() for line in run.stderr.splitlines())
