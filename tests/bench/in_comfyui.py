"""What a bench measures inside a ComfyUI: `python in_comfyui.py COMFYUI bookkeeping|stage` prints JSON seconds.

The card is the device "cpu:0", as in `tests/host/card.py`: ComfyUI does not take it for its CPU.
"""

import importlib.util
import json
import sys
from pathlib import Path

PACK = Path(__file__).resolve().parents[2]
HOST, WHAT = sys.argv[1:3]
sys.argv[1:] = ["--cpu"]
sys.path[0] = HOST

import comfy.options  # noqa: E402

comfy.options.enable_args_parsing()

import comfy.model_management as mm  # noqa: E402
import comfy.ops  # noqa: E402
import torch  # noqa: E402

# Imported as a package of ComfyUI's, so that `mizuoto.nodes.host` is there, too.
_spec = importlib.util.spec_from_file_location("mizuoto", PACK / "__init__.py", submodule_search_locations=[str(PACK)])
sys.modules["mizuoto"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["mizuoto"])

from mizuoto.mizuoto_runtime.device import DeviceService  # noqa: E402
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.mizuoto_runtime.settings import Settings  # noqa: E402
from mizuoto.mizuoto_runtime.simulate import SimulatedDevice  # noqa: E402
from mizuoto.nodes.host.memory import ComfyMemory  # noqa: E402
from mizuoto.tests.bench import body as bodies  # noqa: E402
from mizuoto.tests.bench.bench_streaming import ROUNDS, SMALL, passes  # noqa: E402
from mizuoto.tests.bench.body import best_s, built, check_equal, example, streamed  # noqa: E402

CARD, CPU = torch.device("cpu", 0), torch.device("cpu")
TOTAL = 1 << 30
STAGES = 20


def bookkeeping() -> dict[str, float]:
    """The same body resident, streamed by us, and with ComfyUI's casting layers, which find nothing to cast."""
    hidden, resident, ours = example(SMALL), built(SMALL), built(SMALL)
    cast = built(SMALL, comfy.ops.manual_cast.Linear)
    with torch.inference_mode():
        expected = resident(hidden)
    streamed(ours, bodies.NoCopyQueue())
    variants = {"resident": resident, "ours": ours, "cast": cast}
    for body in variants.values():
        check_equal(body, hidden, expected)
    return best_s({name: passes(body, hidden) for name, body in variants.items()}, ROUNDS)


def stage() -> dict[str, float]:
    """Entering and leaving a stage of a model that is there, and ComfyUI being asked for it; `STAGES` times."""
    runtimes = {}
    mm.vram_state = mm.VRAMState.NORMAL_VRAM
    mm.is_device_cpu = lambda device: device == CPU
    mm.get_torch_device = lambda: CARD
    mm.get_free_memory = lambda device=None, torch_free_too=False: (TOTAL, 0) if torch_free_too else TOTAL
    mm.minimum_inference_memory = mm.extra_reserved_memory = lambda: 1 << 20
    mm.soft_empty_cache = lambda force=False: None
    if hasattr(mm, "get_all_torch_devices"):
        mm.get_all_torch_devices = lambda exclude_current=False: [CARD]
    for name in ("comfyui", "alone"):
        devices = DeviceService()
        devices.simulated[CARD] = SimulatedDevice(TOTAL)
        settings = Settings(vram_reserve_mb=0)
        memory = ComfyMemory() if name == "comfyui" else MemoryManager(devices, settings)
        runtimes[name] = Runtime(settings, devices, memory)
    handles = {name: runtime.handle(name, built(SMALL), CARD) for name, runtime in runtimes.items()}
    contexts = {name: runtime.context() for name, runtime in runtimes.items()}

    def enter(name: str) -> None:
        for _ in range(STAGES):
            with contexts[name].use("stage", [handles[name]], 1 << 20):
                pass

    def ask() -> None:
        for _ in range(STAGES):
            mm.load_models_gpu([handles["comfyui"].attachment], memory_required=1 << 20)

    enter("comfyui"), enter("alone")
    if not all(handle.is_whole for handle in handles.values()):
        raise AssertionError("the models are not wholly on the card")
    return best_s({"ours": lambda: enter("comfyui"), "alone": lambda: enter("alone"), "theirs": ask}, 400)


torch.set_num_threads(1)
print(json.dumps({"bookkeeping": bookkeeping, "stage": stage}[WHAT]()))
