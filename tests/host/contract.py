"""The contract suite inside a real ComfyUI's own model management: `python contract.py COMFYUI PACK`.

On the card of card.py, every engine of tests/contract and ComfyUI's own models take turns; and the sequences in which
ComfyUI calls a patcher are checked byte by byte. Prints one JSON object: scenario -> "" or the traceback.
"""

import importlib.util
import sys
import tempfile
from functools import cache, partial
from pathlib import Path


def import_beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


card = import_beside("card")

import comfy.model_management as mm  # noqa: E402
import torch  # noqa: E402

MB, CARD, CPU, Bench, check, core, pack = (
    card.MB, card.CARD, card.CPU, card.Bench, card.check, card.core, card.pack,
)  # fmt: skip
subjects = pack("tests.contract.subjects")
STATES = ("NORMAL_VRAM", "LOW_VRAM", "NO_VRAM", "HIGH_VRAM")
STEPS = 3
EXPECTED = {}
SCRATCH = tempfile.TemporaryDirectory()


@cache
def subject_of(name):
    return subjects.find(name, Path(SCRATCH.name)).briefly()


def on_cpu(bench, name):
    if name not in EXPECTED:
        EXPECTED[name] = spoken(bench, name, subject_of(name).load(bench.runtime, CPU))
    return EXPECTED[name]


def spoken(bench, name, model, **hooks):
    subject = subject_of(name)
    request = subject.requests()[0]
    return subjects.outputs(subject, model, request, bench.runtime.context(request[0], **hooks))


def is_right(bench, name, model, *where):
    """One request gives the bits of the CPU, without an attempt that failed, and every size is true."""
    different = subjects.differences(spoken(bench, name, model), on_cpu(bench, name))
    check(different == [], different, *where)
    for handle in model.handles:
        check(handle.attachment.loaded_size() == handle.loaded_bytes <= handle.size_bytes, *where)
    check(bench.card.used_bytes == sum(handle.loaded_bytes for handle in model.handles), *where)


def phases_of(bench, name, model):
    """(least bytes of weights, bytes that ComfyUI keeps free) of every phase."""
    phases, place = [], bench.runtime.memory.place

    def noting(handles, working_bytes):
        kept_free = max(mm.minimum_inference_memory(), working_bytes + mm.extra_reserved_memory())
        phases.append((sum(handle.minimum_bytes for handle in handles), kept_free))
        place(handles, working_bytes)

    bench.runtime.memory.place = noting
    spoken(bench, name, model)
    del bench.runtime.memory.place
    mm.unload_all_models()
    return phases


def every_size_of_card(name, bench):
    """From just the largest minimum to everything, alone and after a model of ComfyUI's has taken what it wants."""
    model = subject_of(name).load(bench.runtime, CARD)
    phases = phases_of(bench, name, model)
    least = max(weights for weights, _ in phases)
    whole = sum(handle.size_bytes for handle in model.handles)
    smallest = max(weights + free for weights, free in phases)  # where one phase has just what it needs
    split = [handle for handle in model.handles if handle.minimum_bytes < handle.size_bytes]
    for step in range(STEPS + 1):
        bench.card.total_bytes = smallest + step * (2 * whole - least) // STEPS
        bench.card.peak_bytes = 0
        before = [handle.streamed_bytes for handle in split]
        is_right(bench, name, model, step)
        streams = [handle.streamed_bytes > bytes_before for handle, bytes_before in zip(split, before, strict=True)]
        if step == STEPS:
            check(streams == [False] * len(split) and all(handle.is_whole for handle in model.handles), streams)
        elif step == 0 and split:
            check(any(streams), "nothing streamed on a card of the least size")
        theirs = core(2)
        mm.load_models_gpu([theirs])
        is_right(bench, name, model, step, "after another model")
        check(bench.card.peak_bytes <= bench.card.total_bytes)
        interrupted(bench, name, model)
        is_right(bench, name, model, step, "after an interrupt")
        mm.unload_all_models()
        check(bench.card.used_bytes == 0)
    del theirs


def interrupted(bench, name, model):
    """ComfyUI's own interruption, in the middle."""
    checks = iter(range(3))

    def on_check():
        if next(checks, None) is None:
            raise mm.InterruptProcessingException

    try:
        spoken(bench, name, model, on_check=on_check)
    except mm.InterruptProcessingException:
        check(not any(handle.is_busy for handle in model.handles))
    else:
        raise AssertionError("not interrupted")


def every_state(name, bench):
    """ComfyUI's memory options, set before the model is loaded."""
    for state in STATES:
        mm.vram_state = mm.VRAMState[state]
        model, theirs = subject_of(name).load(bench.runtime, CARD), core(3)
        mm.load_models_gpu([theirs])
        is_right(bench, name, model, state)
        if state == "NO_VRAM":
            check(not any(handle.is_whole for handle in model.handles if handle.minimum_bytes < handle.size_bytes))
        if state == "HIGH_VRAM":
            check(
                all(handle.is_whole for handle in model.handles),
                [(handle.name, handle.loaded_bytes, handle.size_bytes) for handle in model.handles],
                bench.card.total_bytes,
            )
        mm.unload_all_models()
        del model, theirs
        check(bench.card.used_bytes == 0, state)


class Calls:
    """What ComfyUI asks of one patcher, with the answers; `detach(False)` moves nothing and is left out."""

    def __init__(self, patcher):
        self.log = []
        for name in ("partially_load", "partially_unload", "detach"):
            setattr(patcher, name, partial(self._noted, name, getattr(patcher, name)))

    def _noted(self, name, method, *args, **kwargs):
        answer = method(*args, **kwargs)
        if name != "detach":
            self.log.append((name, round(args[1]) if args[1] != 0.1 else 0.1, answer))
        elif kwargs.get("unpatch_all", True):
            self.log.append(("detach",))
        return answer

    def take(self):
        taken, self.log = self.log, []
        return taken


def byte_by_byte(bench):  # HOST 3.3
    total, unit, kept_free = bench.card.total_bytes, 10 * MB, 5 * MB  # 4 of working memory, 1 of ComfyUI's reserve
    handle, theirs = bench.ours(4), core(5)
    size, fixed = handle.size_bytes, handle.size_bytes - 4 * unit
    calls, their_size = Calls(handle.attachment), theirs.model_size()
    check(handle.minimum_bytes == fixed + unit and fixed < MB)

    def is_on_card(num_bytes, streamed=0):
        check(handle.loaded_bytes == bench.card.used_bytes == num_bytes, handle.loaded_bytes, num_bytes)
        check(handle.streamed_bytes == streamed, handle.streamed_bytes, streamed)

    first = bench.use(handle)[0]  # load
    check(calls.take() == [("partially_load", total - kept_free, size)])
    is_on_card(size)

    mm.load_models_gpu([theirs])  # evict for somebody else: two units are enough
    asked = their_size * 1.1 + 4 * MB - (total - size)
    check(calls.take() == [("partially_unload", round(asked), 2 * unit)])
    is_on_card(size - 2 * unit)

    check(torch.equal(bench.use(handle)[0], first))  # come back: the budget is what may be added
    budget = total - theirs.loaded_size() - kept_free - (size - 2 * unit)
    check(calls.log == [("partially_load", budget, 2 * unit)], calls.take(), budget)
    is_on_card(size)

    use = partial(bench.use, handle, working=total - 26 * MB)  # shrink in place: 25 MB are left for weights
    check(torch.equal(use()[0], first))
    check(calls.take() == [("partially_load", 25 * MB - size, -2 * unit)])
    is_on_card(size - 2 * unit, streamed=3 * unit)  # one resident unit and one slot
    check(torch.equal(use()[0], first))  # and stays
    check(calls.take() == [("partially_load", 25 * MB - (size - 2 * unit), 0)])
    is_on_card(size - 2 * unit, streamed=6 * unit)

    mm.unload_all_models()
    check(calls.take() == [("detach",)] and not mm.current_loaded_models)
    is_on_card(0, streamed=6 * unit)

    mm.vram_state = mm.VRAMState.NO_VRAM
    check(torch.equal(bench.use(handle)[0], first))  # nothing is granted, and the least is placed all the same
    check(calls.take() == [("partially_load", 0.1, 0)])
    is_on_card(fixed + unit, streamed=10 * unit)
    mm.unload_all_models()
    mm.unload_all_models()
    is_on_card(0, streamed=10 * unit)


def scenarios():
    """Name -> scenario."""
    made = {f"{case.__name__}[{name}]": partial(case, name) for case in CASES for name in subjects.NAMES}
    return {"byte_by_byte": byte_by_byte, **made}


CASES = (every_size_of_card, every_state)

if __name__ == "__main__":
    card.run(scenarios())
