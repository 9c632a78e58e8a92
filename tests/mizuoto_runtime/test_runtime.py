import gc
import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from weakref import ref

import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.attention import Site
from mizuoto.mizuoto_runtime.device import CPU, DeviceService
from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.nn.transformer import SelfAttention
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.mizuoto_runtime.memory import zoo

MB = 1 << 20
GPU = torch.device("cuda", 0)


class Engine:
    """A loaded engine with one handle."""

    def __init__(self, runtime, device=GPU, num_layers=1):
        self.handles = (runtime.handle("zoo:part", zoo.chain(num_layers), device),)


@pytest.fixture
def runtime():
    return Runtime(Settings(vram_reserve_mb=0), DeviceService({"cuda:0": 16 * MB}))


def used(runtime):
    return runtime.devices.simulated[GPU].used_bytes


def loaded(runtime, key="key", **options):
    model = runtime.model(key, "zoo", lambda: Engine(runtime, **options))
    handles = model.engine.handles
    runtime.memory.place(handles, 0)
    return model


def test_defaults(monkeypatch):  # S005
    monkeypatch.setenv("MIZUOTO_OOM_RETRIES", "1")
    runtime = Runtime()
    assert runtime.settings == Settings(oom_retries=1)
    assert isinstance(runtime.memory, MemoryManager)


def test_contexts_are_requests_of_this_runtime(runtime):
    ctx = runtime.context(3, timeout_s=60)
    assert (ctx.seed, ctx.memory, ctx.settings) == (3, runtime.memory, runtime.settings)
    assert ctx.report.run_id != runtime.context(3).report.run_id
    with pytest.raises(InvalidRequest):
        runtime.context(-1)


def test_handles_are_registered_and_in_evaluation_mode(runtime):
    module = zoo.chain(1).train()
    handle = runtime.handle("zoo:part", module, GPU, "sequence", {module.layers[0]: "hot"})
    assert not module.training
    assert handle.kind == "sequence"
    assert handle.layout.units[0].is_hot
    runtime.memory.place([handle], 0)
    runtime.memory.make_room(GPU, keep=[])
    assert handle.loaded_bytes == 0


def test_host_copies_follow_the_policy():
    for mode, keeps in (("auto", True), ("shared", False)):
        runtime = Runtime(Settings(vram_mode=mode), DeviceService({"cuda:0": 16 * MB}, strict=False))
        handle = runtime.handle("zoo:part", zoo.chain(1), GPU)
        runtime.memory.place([handle], 0)
        assert (handle.host_bytes > 0) == keeps


def test_a_model_is_shared_while_somebody_holds_it(runtime):
    calls = []

    def load():
        calls.append(1)
        return Engine(runtime)

    model = runtime.model("key", "zoo", load)
    assert runtime.model("key", "zoo", load) is model
    assert calls == []  # loads at first use
    assert model.engine is model.engine
    assert calls == [1]
    assert runtime.model("other", "zoo", load) is not model
    assert runtime.models() == [model]


def test_dropping_the_last_reference_frees_everything_at_once(runtime):
    model = loaded(runtime)
    weight = ref(model.engine.handles[0].module.layers[0].weight)
    watched = ref(model)
    assert used(runtime) > MB
    gc.collect()
    gc.disable()  # reference counting alone must do it
    try:
        del model
        assert watched() is None
        assert weight() is None
        assert used(runtime) == 0
    finally:
        gc.enable()
    assert runtime.models() == []


def test_loading_happens_outside_inference_mode(runtime):  # S061
    for device in (CPU, GPU):
        model = runtime.model(device, "zoo", lambda where=device: Engine(runtime, where))
        with torch.inference_mode():
            handle = model.engine.handles[0]
            assert not any(parameter.is_inference() for parameter in handle.module.parameters())
            runtime.memory.place([handle], 0)
        assert not any(parameter.is_inference() for parameter in handle.module.parameters())


def test_a_failed_load_is_tried_again(runtime):
    outcomes = [ModelFileError("broken"), None]

    def load():
        error = outcomes.pop(0)
        if error:
            raise error
        return Engine(runtime)

    model = runtime.model("key", "zoo", load)
    with pytest.raises(ModelFileError, match="broken"):
        _ = model.engine
    assert model.handles == ()
    assert len(model.engine.handles) == 1


def test_release_frees_device_and_host_and_the_model_comes_back(runtime):
    model = loaded(runtime)
    weight = ref(model.engine.handles[0].module.layers[0].weight)
    size = model.handles[0].size_bytes
    assert runtime.release() == 2 * size  # on the device and in host memory
    assert (model.handles, used(runtime), weight()) == ((), 0, None)
    assert runtime.release() == 0
    assert model.engine.handles[0].size_bytes == size


def test_release_on_the_cpu_counts_host_memory_once(runtime):
    model = loaded(runtime, device=CPU)
    assert runtime.release() == model.engine.handles[0].size_bytes


def test_release_by_name(runtime):
    first = loaded(runtime, "first")
    second = runtime.model("second", "another", lambda: Engine(runtime))
    _ = second.engine
    assert runtime.release("another") > 0
    assert first.handles
    assert not second.handles
    assert runtime.release("nobody") == 0


def test_busy_models_stay(runtime):
    model = loaded(runtime)
    with runtime.context().use("talker", model.handles):
        assert model.is_busy
        assert runtime.release() == model.drop() == 0
        assert model.handles[0].is_ready
    assert not model.is_busy


def test_a_model_stays_while_another_thread_has_a_request_on_it(runtime):
    model = loaded(runtime)
    freed = []
    with model.lock:  # between two phases: no handle is busy
        thread = threading.Thread(target=lambda: freed.extend([model.is_busy, runtime.release(), model.drop()]))
        thread.start()
        thread.join(timeout=10)
    assert freed == [True, 0, 0]
    assert model.handles[0].is_ready


def test_description_is_json(runtime):  # S169
    model = loaded(runtime)
    runtime.memory.release(model.handles[0])
    data = json.loads(json.dumps(runtime.describe()))
    assert data["models"][0].pop("unused_s") >= 0
    (entry,) = data["models"]
    size = model.handles[0].size_bytes
    assert entry == {
        "name": "zoo",
        "busy": False,
        "attention": "auto",
        "cache_bytes": 0,
        "size_bytes": size,
        "loaded_bytes": 0,
        "host_bytes": size,
        "streamed_bytes": 0,
        "components": [
            {
                "name": "zoo:part",
                "device": "cuda:0",
                "dtype": "float32",
                "state": "away",
                "busy": False,
                "unused_s": None,
                "size_bytes": size,
                "loaded_bytes": 0,
                "host_bytes": size,
                "streamed_bytes": 0,
                "partial": None,
            }
        ],
    }
    assert {"name": "cuda:0", "free_bytes": 16 * MB, "total_bytes": 16 * MB} in data["devices"]
    assert data["vram_mode"] == "auto"


def test_what_streams_is_described():
    runtime = Runtime(Settings(vram_reserve_mb=0), DeviceService({"cuda:0": 2 * MB + MB // 2}))
    model = loaded(runtime, num_layers=3)
    model.handles[0].module(zoo.example())
    data = json.loads(json.dumps(runtime.describe()))["models"][0]
    assert data["streamed_bytes"] == data["components"][0]["streamed_bytes"] == 2 * MB
    assert data["components"][0]["partial"]["reason"] == "budget"
    assert data["components"][0]["state"] == "streams"


def test_a_dropped_model_is_described_as_empty(runtime):
    model = runtime.model("key", "zoo", lambda: SimpleNamespace(handles=()))
    (entry,) = runtime.describe()["models"]
    assert entry["name"] == model.name
    assert entry["size_bytes"] == entry["loaded_bytes"] == 0


class Attending:
    """An engine with one module that attends."""

    def __init__(self, runtime):
        layer = SelfAttention(Site("toy:layer", 2, 8))
        ops.init_random(layer, torch.Generator().manual_seed(0))
        self.handles = (runtime.handle("toy:layer", layer, CPU),)


def test_a_model_keeps_its_own_choice_of_attention_when_it_loads_again():  # S209, S216
    runtime = Runtime(Settings())
    models = {choice: runtime.model(choice, "toy", lambda: Attending(runtime), choice) for choice in ("auto", "sdpa")}
    for _ in range(2):
        outputs = {}
        for choice, model in models.items():
            model.attention.reset()
            with torch.inference_mode():
                outputs[choice] = model.engine.handles[0].module(torch.ones(1, 3, 16))
            model.drop()
        torch.testing.assert_close(outputs["auto"], outputs["sdpa"])
        assert models["auto"].attention.as_data() == {"choice": "auto"}
        assert models["sdpa"].attention.as_data()["counts"] == {"sdpa": 1}
    assert {entry["attention"] for entry in runtime.describe()["models"]} == {"auto", "sdpa"}


def test_an_unknown_attention_is_refused():
    with pytest.raises(InvalidRequest, match="warp"):
        Runtime(Settings()).model("key", "toy", lambda: None, "warp")


def test_changed_settings_are_followed_from_the_next_request_on(runtime):
    model = loaded(runtime)
    model.cache.put("a", "sound", 3 * MB)
    before = model.engine
    runtime.change(replace(runtime.settings, oom_retries=0, segment_cache_mb=2, attention_strict=True, fast="tf32"))
    assert runtime.context().settings.oom_retries == 0
    assert runtime.settings.fast == "host", "it counts at the start only"
    assert model.cache.get("a") == "sound", "the model is not touched before it is used"
    runtime.tidy(keep=model)
    assert model.cache.get("a") is None and model.attention.is_strict
    assert model.engine is before
    runtime.change(replace(runtime.settings, vram_mode="none"))
    runtime.tidy(keep=model)
    assert model.engine is not before and used(runtime) == 0, "other placement: loaded again"
    again = model.engine
    runtime.tidy(keep=model)
    assert model.engine is again


def test_idle_models_go_by_the_time_that_is_set_now():
    runtime = Runtime(Settings(vram_reserve_mb=0), DeviceService({"cuda:0": 16 * MB}), has_host=True)
    model = loaded(runtime)
    runtime.tidy(keep=model)
    assert not runtime._timer.is_armed
    runtime.change(replace(runtime.settings, unload_after_minutes=5))
    assert runtime._timer.is_armed
    runtime.change(replace(runtime.settings, unload_after_minutes=0))
    assert not runtime._timer.is_armed
