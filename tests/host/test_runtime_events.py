"""What every page is told of the runtime over the websocket of a real ComfyUI with a small card."""

import json
from pathlib import Path

import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.conftest import PACKS
from mizuoto.tests.host.graphs import node, show, spoken
from mizuoto.tests.host.listener import connected

CARD_PACK = Path(__file__).resolve().parents[1] / "bench" / "card_pack"
EVENT = "mizuoto.runtime"


def of(told, component):
    return next(part for model in told["models"] for part in model["components"] if part["name"] == component)


def is_over(told):
    return told["last_run"] is not None and not told["last_run"]["running"]


@pytest.fixture
def comfy_with_card(start_comfy):
    """The built-in voice does not fit into what is free of its 40 MB: the decoder streams."""
    host = start_comfy("--cpu", packs={**PACKS, "card_pack": CARD_PACK})
    host.run(node("card", "MizuotoBenchCard", size_mb=40) | show(["card", 0]))
    return host


def test_pages_are_told_what_streams_is_released_and_evicted(comfy_with_card):
    comfy = comfy_with_card
    before = comfy.get("/mizuoto/runtime")
    assert (before["models"], before["last_run"]) == ([], None)
    with connected(comfy) as socket:
        run = comfy.wait(comfy.post("/prompt", {"prompt": spoken(seed=201)})["prompt_id"])  # it names no client
        told = socket.until(EVENT, is_over)
        decoder, journal = of(told, "hibari:decoder"), told["last_run"]
        assert (decoder["state"], decoder["partial"]["reason"], decoder["busy"]) == ("streams", "budget", False)
        assert 0 < decoder["loaded_bytes"] < decoder["size_bytes"]
        assert journal["run"] == run.prompt_id
        assert [phase["name"] for phase in journal["phases"]] == ["talker", "codec decoder"]
        assert journal["streamed_bytes"] == journal["phases"][1]["streamed_bytes"] == decoder["streamed_bytes"] > 0
        assert max(count for _, count in journal["devices"][0]["samples"]) >= decoder["loaded_bytes"]

        long = comfy.post("/prompt", {"prompt": spoken("One sentence comes after another. " * 40, seed=202)})
        socket.until(EVENT, lambda each: of(each, "hibari:decoder")["busy"])
        comfy.wait(long["prompt_id"])
        socket.until(EVENT, is_over)

        comfy.free(unload_models=True, free_memory=False)  # by ComfyUI, not by us
        socket.until(EVENT, lambda each: of(each, "hibari:decoder")["state"] == "away")
        freed = comfy.post("/mizuoto/runtime/release", {"model": "hibari (built-in)"})
        assert freed["released_bytes"] > decoder["size_bytes"]
        socket.until(EVENT, lambda each: not any(model["components"] for model in each["models"]))
    with pytest.raises(HostError, match=r"404.*No model .*<b>gone</b>"):
        comfy.post("/mizuoto/runtime/release", {"model": "<b>gone</b>"})
    assert "cannot be told" not in comfy.log()
    assert len(json.dumps(told)) < 10_000
