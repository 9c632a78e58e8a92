"""Scenarios on a small card, run inside a real ComfyUI's own model management: `python card.py COMFYUI PACK`.

The card is the device "cpu:0": tensors go there by ordinary copies, ComfyUI does not take it for its CPU, and what is
free on it is counted from what both sides say they hold. ComfyUI's reserves are scaled to the card. Prints one JSON
object: scenario -> "" or the traceback.
"""

import gc
import importlib.util
import json
import logging
import sys
import threading
import traceback
import types
import weakref

HOST, PACK = sys.argv[1:3]
sys.argv[1:] = ["--cpu"]
sys.path[0] = HOST  # this folder has a module called comfy of its own

import comfy.options  # noqa: E402

comfy.options.enable_args_parsing()

import comfy.model_management as mm  # noqa: E402
import comfy.model_patcher  # noqa: E402
import comfy.ops  # noqa: E402
import torch  # noqa: E402

MB = 1 << 20
CARD, CPU = torch.device("cpu", 0), torch.device("cpu")
TOTAL, WORKING = 80 * MB, 4 * MB


def import_pack(name="mizuoto_under_test"):
    """The pack as ComfyUI imports it: a package under a name of the host's choosing."""
    spec = importlib.util.spec_from_file_location(name, f"{PACK}/__init__.py", submodule_search_locations=[PACK])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return name


PACKAGE = import_pack()


def pack(path):
    return importlib.import_module(f"{PACKAGE}.{path}")


def free_on_card(device=None, torch_free_too=False):
    if device is not None and device != CARD:
        return (64 << 30, 0) if torch_free_too else 64 << 30
    free = Bench.card.free_bytes - sum(patcher.loaded_size() for patcher in Bench.core)
    return (free, 0) if torch_free_too else free


mm.vram_state = mm.VRAMState.NORMAL_VRAM
mm.is_device_cpu = lambda device: device == CPU
mm.get_free_memory = free_on_card
mm.get_torch_device = lambda: CARD
mm.minimum_inference_memory = lambda: 4 * MB
mm.extra_reserved_memory = lambda: 1 * MB
mm.soft_empty_cache = lambda force=False: None
mm.MIN_WEIGHT_MEMORY_RATIO = 0.0
if hasattr(mm, "get_all_torch_devices"):
    mm.get_all_torch_devices = lambda exclude_current=False: [CARD]


class Layers(torch.nn.Module):
    """Ten megabytes in every layer."""

    def __init__(self, num_layers, linear):
        super().__init__()
        self.first = linear(4, 4)
        self.layers = torch.nn.ModuleList(linear(2560, 1024, bias=False) for _ in range(num_layers))

    def forward(self, x):
        return torch.stack([layer(x) for layer in self.layers])


class Bench:
    """A runtime over ComfyUI's memory management with a card of so many bytes; one at a time."""

    core = weakref.WeakSet()  # noqa: RUF012

    def __init__(self, total=TOTAL):
        device, simulate = pack("mizuoto_runtime.device"), pack("mizuoto_runtime.simulate")
        devices = device.DeviceService()
        devices.simulated[CARD] = simulate.SimulatedDevice(total, strict=True)
        Bench.card = devices.simulated[CARD]
        self.runtime = pack("mizuoto_runtime.runtime").Runtime(
            devices=devices, memory=pack("nodes.host.memory").ComfyMemory()
        )

    def ours(self, num_layers, name="ours"):
        with torch.inference_mode(False):  # as models are loaded (S061)
            module = Layers(num_layers, pack("mizuoto_runtime.ops").Linear)
            pack("mizuoto_runtime.ops").init_random(module, torch.Generator().manual_seed(0))
            return self.runtime.handle(name, module, CARD)

    def use(self, *handles, working=WORKING):
        with self.runtime.context().use("test", handles, working):
            return [handle.module(torch.ones(1, 2560)) for handle in handles]


def core(num_layers):
    module = Layers(num_layers, comfy.ops.manual_cast.Linear)
    patcher = comfy.model_patcher.ModelPatcher(module, load_device=CARD, offload_device=CPU)
    Bench.core.add(patcher)
    return patcher


def check(condition, *shown):
    if not condition:
        raise AssertionError(" ".join(map(str, shown)))


def our_sizes_are_true(handle, patcher):
    check(0 <= patcher.loaded_size() <= patcher.model_size(), patcher.loaded_size(), patcher.model_size())
    check(patcher.loaded_size() == handle.loaded_bytes)


def scenario_is_a_real_patcher(bench):
    handle = bench.ours(2)
    patcher = handle.attachment
    check(isinstance(patcher, comfy.model_patcher.ModelPatcher))
    check(not patcher.is_dynamic() and hash(patcher) == object.__hash__(patcher))
    for forbidden in (patcher.clone, patcher.add_patches, patcher.load):
        try:
            forbidden()
        except TypeError as error:
            check("cannot be cloned or patched" in str(error))
        else:
            raise AssertionError(f"{forbidden} did not refuse")
    check(patcher.pinned_memory_size() == 0)  # nothing can be pinned here


def scenario_its_cache_gives_way_before_our_models(bench):
    memory, (cache, asked) = pack("nodes.host.memory"), (comfy.cli_args.args.cache_ram, 100 << 30)
    is_default = isinstance(cache, list)  # newer ones watch RAM unless told otherwise
    kept = memory.ComfyMemory().kept_ram_bytes(asked)
    check(0 < kept <= 5 << 30 if is_default else kept == asked)
    for headroom, kept in ((6.0, 3 << 30), (1000.0, asked)):
        comfy.cli_args.args.cache_ram = [headroom] if is_default else headroom
        check(memory.ComfyMemory().kept_ram_bytes(asked) == kept)
    comfy.cli_args.args.cache_ram = cache


def scenario_ours_makes_core_give_way(bench):
    theirs, handle = core(6), bench.ours(4)
    mm.load_models_gpu([theirs])
    check(theirs.loaded_size() == theirs.model_size())
    before = bench.use(handle)
    check(handle.is_ready and theirs.loaded_size() < theirs.model_size(), handle.loaded_bytes, theirs.loaded_size())
    check(bench.card.used_bytes == handle.size_bytes)
    check(torch.equal(before[0], bench.use(handle)[0]))


def scenario_core_makes_ours_give_way(bench):
    theirs, handle = core(5), bench.ours(4)
    first = bench.use(handle)[0]
    mm.load_models_gpu([theirs])
    our_sizes_are_true(handle, handle.attachment)
    check(theirs.loaded_size() == theirs.model_size(), theirs.loaded_size())
    check(handle.loaded_bytes < handle.size_bytes and bench.card.used_bytes == handle.loaded_bytes)
    check(handle.loaded_bytes > 0, "gave more than was asked for")
    check(torch.equal(bench.use(handle)[0], first), "other output after coming back")
    check(handle.is_ready and theirs.loaded_size() < theirs.model_size())


def scenario_shrinks_in_place(bench):
    handle = bench.ours(4)
    bench.use(handle)
    mm.load_models_gpu([handle.attachment], memory_required=60 * MB)  # a negative budget on 0.3.69 and later
    our_sizes_are_true(handle, handle.attachment)
    check(handle.loaded_bytes <= 20 * MB, handle.loaded_bytes)
    bench.use(handle)
    check(handle.is_ready)


def scenario_busy_models_stay(bench):
    held, other = bench.ours(4, "held"), bench.ours(5, "other")
    ctx = bench.runtime.context()
    with ctx.use("outer", [held], WORKING):
        with ctx.use("inner", [other], WORKING):
            check(held.is_whole, "a busy model gave way")
            check(other.is_ready and not other.is_whole, "90 MB cannot be on a card of 80")
            other.module(torch.ones(1, 2560))
        mm.load_models_gpu([held.attachment], memory_required=60 * MB)
        check(held.is_whole, "a busy model shrank")
    check(not held.is_busy and not other.is_busy)


def scenario_no_vram_still_runs(bench):
    mm.vram_state = mm.VRAMState.NO_VRAM
    try:
        handle = bench.ours(3)
        check(handle.attachment.partially_load(CARD, 0.1) == 0 and handle.loaded_bytes == 0)
        bench.use(handle)
        check(handle.is_ready)
    finally:
        mm.vram_state = mm.VRAMState.NORMAL_VRAM


def scenario_unload_all(bench):
    handle = bench.ours(3)
    bench.use(handle)
    mm.unload_all_models()
    check(handle.loaded_bytes == 0 and bench.card.used_bytes == 0 and not mm.current_loaded_models)
    mm.unload_all_models()  # idempotent
    bench.use(handle)
    check(handle.is_ready)


def scenario_detach_false_never_moves(bench):
    handle = bench.ours(3)
    bench.use(handle)
    handle.attachment.detach(False)
    check(handle.is_ready)


def scenario_budget_of_everything(bench):
    handle = bench.ours(3)
    check(handle.attachment.partially_load(CARD, 1e32) == handle.size_bytes)
    check(handle.attachment.partially_unload(CPU, 0) == 0)
    freed = handle.attachment.partially_unload(CPU, 5 * MB)
    check(freed >= 5 * MB and handle.loaded_bytes == handle.size_bytes - freed, freed)


def scenario_failed_load_leaves_nothing(bench):
    bench.card.allocate(60 * MB)
    handle = bench.ours(4)
    try:
        mm.load_models_gpu([handle.attachment], force_full_load=True)
    except RuntimeError:
        pass
    else:
        raise AssertionError("40 MB fitted into 20")
    check(handle.loaded_bytes == 0 and bench.card.used_bytes == 60 * MB, bench.card.used_bytes)
    bench.card.free(60 * MB)
    bench.use(handle)


def scenario_oom_is_retried_after_eviction(bench):
    idle, handle = bench.ours(3, "idle"), bench.ours(4)
    bench.use(idle)
    attempts = []

    def fn():
        attempts.append(idle.loaded_bytes)
        bench.card.allocate(30 * MB)  # an estimate far too low
        bench.card.free(30 * MB)
        return handle.module(torch.ones(1, 2560))

    ctx = bench.runtime.context()
    ctx.run("talker", [handle], fn)
    check(attempts == [idle.size_bytes, 0] and ctx.report.applied == {"oom_retries": 1}, attempts, ctx.report.applied)


def scenario_final_oom_is_comfyuis(bench):
    handle = bench.ours(2)
    try:
        bench.runtime.context().run("talker", [handle], lambda: bench.card.allocate(TOTAL))
    except mm.OOM_EXCEPTION as error:
        check(getattr(mm, "is_oom", lambda e: isinstance(e, mm.OOM_EXCEPTION))(error))
        check('"ours" needs' in str(error) and "GB" in str(error), error)
    else:
        raise AssertionError("no error")


def scenario_dropping_frees(bench):
    handle = bench.ours(2)
    bench.use(handle)
    dead = [weakref.ref(handle), weakref.ref(handle.attachment), weakref.ref(handle.module)]
    del handle
    check([ref() for ref in dead] == [None] * 3, "still referenced")  # without a garbage collection: no cycles
    check(not mm.current_loaded_models and bench.card.used_bytes == 0, mm.current_loaded_models)


def scenario_release_takes_it_off_the_list(bench):
    handle, theirs = bench.ours(2), core(1)
    mm.load_models_gpu([theirs])
    bench.use(handle)
    check(bench.runtime.memory.release(handle) == handle.size_bytes)
    check([entry.model for entry in mm.current_loaded_models] == [theirs])
    check(handle.loaded_bytes == 0 and theirs.loaded_size() == theirs.model_size())


def scenario_below_the_minimum_it_warns_once_and_tries(bench):
    bench.card.allocate(TOTAL - 12 * MB)  # a layer and a little: less than ComfyUI wants to keep free beside it
    handle, records = bench.ours(3), []
    noting = logging.Handler(logging.WARNING)
    noting.emit = records.append
    logging.getLogger("mizuoto.memory").addHandler(noting)
    try:
        for _ in range(2):
            bench.use(handle, working=20 * MB)
            mm.unload_all_models()
        mm.vram_state = mm.VRAMState.NO_VRAM
        bench.card.free(TOTAL - 12 * MB)
        bench.use(bench.ours(3, "roomy"))  # it gets the least by choice: there is room
    finally:
        logging.getLogger("mizuoto.memory").removeHandler(noting)
    told = [record.getMessage() for record in records]
    check(len(told) == 1 and told[0].startswith("ours: 10 MB of weights and 21 MB of working memory may not fit"), told)


def scenario_idle_time_unloads_between_prompts_only(bench):
    prompts = pack("nodes.host.prompts")
    queue = types.SimpleNamespace(mutex=threading.RLock(), currently_running={0: "a prompt"})
    server = types.SimpleNamespace(
        PromptServer=types.SimpleNamespace(instance=types.SimpleNamespace(prompt_queue=queue))
    )
    now = [0.0]
    runtime = bench.runtime = pack("mizuoto_runtime.runtime").Runtime(
        pack("mizuoto_runtime.settings").Settings(unload_after_minutes=1),
        bench.runtime.devices,
        pack("nodes.host.memory").ComfyMemory(),
        has_host=True,
        pause=prompts.between_prompts,
        clock=lambda: now[0],
    )
    model = runtime.model("ours", "ours", lambda: types.SimpleNamespace(handles=(bench.ours(2),)))
    bench.use(*model.engine.handles)
    now[0] = model.last_used + 61
    sys.modules["server"], before = server, sys.modules.get("server")
    try:
        for is_running in (True, False):
            listed = [entry.model for entry in mm.current_loaded_models]
            check(listed == [handle.attachment for handle in model.handles] != [], listed)
            queue.currently_running = {0: "a prompt"} if is_running else {}
            ringing = threading.Thread(target=runtime._timer.ring)
            ringing.start()
            ringing.join(10)
            check(model.is_loaded == is_running == runtime._timer.is_armed)
        check(not mm.current_loaded_models and bench.card.used_bytes == 0)
    finally:
        runtime._timer.stop()
        sys.modules.pop("server")
        if before is not None:
            sys.modules["server"] = before


def run(scenarios):
    """Every scenario on a card of its own; prints name -> "" or the traceback."""
    results = {}
    with torch.inference_mode():  # as in a running prompt
        for name, scenario in scenarios.items():
            try:
                scenario(Bench())
                results[name] = ""
            except Exception:  # noqa: BLE001 - reported as the result of the scenario
                results[name] = traceback.format_exc()
            mm.vram_state = mm.VRAMState.NORMAL_VRAM
            mm.unload_all_models()
            gc.collect()
    print(json.dumps(results))


if __name__ == "__main__":
    run({name: scenario for name, scenario in globals().items() if name.startswith("scenario_")})
