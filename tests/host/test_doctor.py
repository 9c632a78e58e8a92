"""The doctor in a real ComfyUI: the node, the routes, the start options; and that it leaves everything as it is."""

import json
import time

import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.graphs import show, spoken

PROMPT = {"doctor": {"class_type": "MizuotoDoctor", "inputs": {"self_test": False}}}


def facts(report, section):
    return report["sections"][section]["facts"]


def texts(report, section):
    return [finding["what"] for finding in report["sections"][section]["findings"]]


def test_the_node_shows_text_and_hands_on_text_and_json(comfy):
    run = comfy.run(PROMPT | show(["doctor", 0], "text") | show(["doctor", 1], "json"))
    (shown,) = run.outputs["doctor"]["text"]
    assert shown.startswith("Speech Doctor: ") and "engine hibari" in shown
    assert run.outputs["text"]["text"][0] == shown
    report = json.loads(run.outputs["json"]["text"][0])
    assert report["schema_version"] == "1.0" and report["level"] != "error"
    assert "doctor" in comfy.run(PROMPT).executed, "the cache answered"


def test_the_self_test_runs_in_the_node(comfy):
    run = comfy.run({"doctor": {"class_type": "MizuotoDoctor", "inputs": {"self_test": True}}})
    assert run.outputs["doctor"]["text"][0].startswith("Speech Doctor: ")


def test_the_route_knows_the_host(comfy):
    report = comfy.get("/mizuoto/doctor")
    assert facts(report, "system")["host"].startswith("ComfyUI ")
    assert facts(report, "host")["options"] == {"cpu": True}
    assert (facts(report, "host")["cpu_state"], facts(report, "host")["allocator"]) == ("CPU", "native")
    assert any("--cpu is set" in text for text in texts(report, "host"))
    assert facts(report, "torch")["loaded"] is True
    assert facts(report, "memory")["mode_from"] == "ComfyUI"
    assert {"host_pinning_budget_bytes", "host_copy_streams", "ram_bytes"} <= facts(report, "memory").keys()
    assert facts(report, "engine hibari")["usable"] is True
    assert not any("could not be examined" in text for name in report["sections"] for text in texts(report, name))


def test_the_route_as_text_and_with_the_self_test(comfy):
    assert comfy.get("/mizuoto/doctor?format=text&self_test=1").decode().startswith("Speech Doctor: ")


def test_one_engine(comfy):
    report = comfy.get("/api/mizuoto/doctor/hibari")
    assert [name for name in report["sections"] if name.startswith("engine")] == ["engine hibari"]
    with pytest.raises(HostError, match=r'404.*There is no engine \\"nope\\"; there are: .*hibari'):
        comfy.get("/mizuoto/doctor/nope")


def test_installed_models_are_listed_and_damaged_ones_named(comfy):
    folder = comfy.base / "models" / "tts" / "cut off for the doctor"
    folder.mkdir(parents=True)
    (folder / "hibari_x.safetensors").write_bytes(b"short")
    try:
        time.sleep(2.1)  # the list of folders is kept for two seconds
        report = comfy.get("/mizuoto/doctor")
        assert "cut off for the doctor" in facts(report, "engine hibari")["models"]
        assert any('"cut off for the doctor" is damaged' in text for text in texts(report, "engine hibari"))
        assert facts(report, "engine hibari")["usable"] is True
    finally:
        (folder / "hibari_x.safetensors").unlink()
        folder.rmdir()


def test_start_options_are_judged_and_no_runtime_is_made(start_comfy):
    host = start_comfy(
        "--cpu", "--disable-smart-memory", "--fast", "fp16_accumulation", "--use-pytorch-cross-attention"
    )
    report = host.get("/mizuoto/doctor")
    assert facts(report, "host")["options"] == {
        "cpu": True, "disable_smart_memory": True, "fast": ["fp16_accumulation"], "use_pytorch_cross_attention": True,
    }  # fmt: skip
    said = " ".join(texts(report, "host"))
    for flag in (
        "--disable-smart-memory is set",
        "--fast is set (fp16_accumulation)",
        "--use-pytorch-cross-attention is set",
    ):
        assert flag in said
    alive = {"count": {"class_type": "MizuotoTestAlive", "inputs": {"text": "Runtime,Model"}}}
    assert json.loads(host.run(alive | show(["count", 0])).texts()[0]) == {"Runtime": 0, "Model": 0}
    host.run(spoken())
    assert json.loads(host.run(alive | show(["count", 0])).texts()[0])["Runtime"] == 1
