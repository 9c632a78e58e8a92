"""Times ComfyUI's own executor with the pack in it: `python executor.py COMFYUI CUSTOM_NODES ROUNDS`.

CUSTOM_NODES holds the pack as `ComfyUI-Mizuoto`, the test nodes, and model folders in `models/tts`. Prints one JSON
object: lower quartiles in seconds of processor time, which neighbours on the machine disturb less than medians of the
clock.
"""

import asyncio
import inspect
import json
import logging
import statistics
import sys
import time

HOST, CUSTOM_NODES, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.argv[1:] = ["--cpu"]
sys.path[0] = HOST  # this folder has a module called comfy of its own

import comfy.options  # noqa: E402

comfy.options.enable_args_parsing()

import torch  # noqa: E402

torch.set_num_threads(1)

import utils.extra_config  # noqa: E402, F401, I001 - as main.py does: later, comfy/utils.py would hide the package
import execution  # noqa: E402
import folder_paths  # noqa: E402
import nodes  # noqa: E402
import server  # noqa: E402, F401 - part of ComfyUI, not of what the pack costs

logging.disable(logging.CRITICAL)
CACHE = {"lru": 0, "ram": 0.0, "ram_inactive": 0.0, "ram_active": 0.0}


class Server:
    """Swallows every message."""

    client_id = last_node_id = last_prompt_id = None

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def chain(*kinds):
    """Nodes one after the other; the second gets a new text every time, so that it and the rest always run."""
    prompt, before = {}, None
    for index, (kind, socket, inputs) in enumerate(kinds):
        inputs = dict(inputs) if before is None else {**inputs, socket: [before, 0]}
        before = str(index)
        prompt[before] = {"class_type": kind, "inputs": inputs}
    return prompt


def speech(round_number, speak="MizuotoSpeak"):
    return chain(
        ("MizuotoTestDummyModel", "", {"text": ""}),
        (speak, "model", {"text": "Hello there.", "seed": round_number}),
        ("MizuotoTestShape", "audio", {}),
        ("MizuotoTestOut", "value", {}),
    )


def trivial(round_number):
    return speech(round_number, "MizuotoTestTrivialSpeak")


def timed(executor, prompt):
    start = time.process_time()
    valid = asyncio.run(execution.validate_prompt("p", prompt, None))
    assert valid[0], valid
    executor.execute(prompt, "p", {}, valid[2])
    assert executor.success, executor.status_messages
    return time.process_time() - start


def schema_seconds():
    """The dearest INPUT_TYPES of the pack, a call, averaged over many."""
    worst = 0.0
    for name, node in nodes.NODE_CLASS_MAPPINGS.items():
        if name.startswith("Mizuoto") and not name.startswith("MizuotoTest"):
            node.INPUT_TYPES()
            start = time.process_time()
            for _ in range(200):
                node.define_schema()
            define = (time.process_time() - start) / 200
            worst = max(worst, define)
    return worst


def cold_schema_seconds():
    """One call of the loader's define_schema that has to look through the model folders."""
    folder_paths.add_model_folder_path("tts", f"{CUSTOM_NODES}/models/tts")
    node = nodes.NODE_CLASS_MAPPINGS["MizuotoLoadModel"]
    dummy_module().pack("nodes.host.folders")._cache = None
    start = time.process_time()
    schema = node.define_schema()
    spent = time.process_time() - start
    models = next(each for each in schema.inputs if each.id == "model").options
    assert "model-00" in models, models  # or it was not cold
    return spent


def load(name):
    start = time.process_time()
    assert asyncio.run(nodes.load_custom_node(f"{CUSTOM_NODES}/{name}")), name
    return time.process_time() - start


def dummy_module():
    """The test nodes' own window to the pack."""
    return next(module for name, module in sys.modules.items() if name.endswith("test_nodes.dummy"))


def main():
    load("test_nodes")  # first: what ComfyUI itself imports for the first pack is not the pack's cost
    import_s = load("ComfyUI-Mizuoto")
    nodes.NODE_CLASS_MAPPINGS["MizuotoTestTrivialSpeak"] = dummy_module().trivial_speak()
    arguments = {"cache_type": execution.CacheType.CLASSIC, "cache_args": CACHE}
    known = inspect.signature(execution.PromptExecutor.__init__).parameters
    executor = execution.PromptExecutor(Server(), **{name: value for name, value in arguments.items() if name in known})
    times = {speech: [], trivial: []}
    for round_number in range(ROUNDS):
        for build, measured in times.items():
            measured.append(timed(executor, build(round_number)))
    warm = ROUNDS // 5
    print(
        json.dumps(
            {
                "speak_s": statistics.quantiles(times[speech][warm:])[0],
                "trivial_s": statistics.quantiles(times[trivial][warm:])[0],
                "schema_s": schema_seconds(),
                "cold_schema_s": cold_schema_seconds(),
                "import_s": import_s,
            }
        )
    )


main()
