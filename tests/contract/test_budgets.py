"""Whatever share of the weights is on the card, and however often memory runs out: the same bits as on the CPU."""

import math

import pytest
from mizuoto.mizuoto_runtime.errors import OutOfDeviceMemory
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.contract.card import Trap, noting_retried
from mizuoto.tests.contract.subjects import differences

MB = 1 << 20
SHARES = {"all streamed": 0.0, "halfway": 0.5, "whole": 1.0}


def put_on(loaded, share):
    card, model = loaded
    card.clear([model])
    card.memory.share = share
    return card, model


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_every_share_gives_the_bits_of_the_cpu(name, subject, loaded, expected, share):  # C12
    card, model = put_on(loaded, share)
    requests = subject.requests()
    for number, request in enumerate(requests):
        before = {handle.name: handle.streamed_bytes for handle in model.handles}
        found, report = card.run(subject, model, request)
        assert differences(found, expected(name, number)) == []
        assert report.applied == {}
        assert report.segments == (2 if subject.speaks else 0)  # listeners are asked directly
        for handle in model.handles:
            is_split = share < 1 and handle.minimum_bytes < handle.size_bytes
            streamed = handle.streamed_bytes - before[handle.name]
            assert handle.loaded_bytes == card.memory.allowed(handle) or (is_split and share)
            assert handle.minimum_bytes <= handle.loaded_bytes <= card.memory.allowed(handle)
            assert (streamed > 0) == (handle.num_hooks > 0) == is_split, handle.name
            rows = [handle.size_bytes, handle.loaded_bytes, streamed]
            assert list(report.memory[handle.name].values()) == pytest.approx([b / MB for b in rows], abs=0.02)
    assert card.simulated.used_bytes == sum(handle.loaded_bytes for handle in model.handles)


def test_there_is_something_to_stream(name, loaded):
    handles = loaded[1].handles
    is_split = [handle.name for handle in handles if handle.minimum_bytes < handle.size_bytes]
    assert is_split or name == "dummy", "no unit of 64 KB or more: make the layers of the tiny checkpoint larger"


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("where", ["middle", "end"])
def test_a_phase_that_runs_out_of_memory_is_rerun_exactly(
    name, subject, loaded, expected, monkeypatch, where, times
):  # S154-S157
    brief = subject.briefly()
    request = brief.requests()[0]
    for handle in loaded[1].handles:
        card, model = put_on(loaded, 1.0)
        with Trap(card, handle) as trap, noting_retried(monkeypatch) as retried:
            card.run(brief, model, request)
        at = trap.most if where == "end" else math.ceil(trap.most / 2)
        with Trap(card, handle, at, times) as trap:
            if handle.name in retried:
                found, report = card.run(brief, model, request)
                assert report.applied == {"oom_retries": times}
                assert [warning["code"] for warning in report.warnings].count("oom_retry") == 1
                assert handle.loaded_bytes <= max(handle.minimum_bytes, handle.size_bytes // 2**times)
                assert (handle.num_hooks > 0) == (handle.minimum_bytes < handle.size_bytes)
            else:  # phases that yield are not rerun; the next request must be fine all the same
                with pytest.raises(SimulatedOutOfMemory):
                    card.run(brief, model, request)
        assert trap.raised == times if handle.name in retried else trap.raised == 1
        if handle.name not in retried:
            found, _ = card.run(brief, model, request)
        assert differences(found, expected(name, 0, True)) == [], handle.name


def test_memory_that_is_never_enough_ends_in_a_plain_error(name, subject, loaded, expected, monkeypatch):  # K2
    card, model = put_on(loaded, 0.5)
    brief = subject.briefly()
    request = brief.requests()[0]
    with noting_retried(monkeypatch) as retried:
        card.run(brief, model, request)
    for handle in model.handles:
        if handle.name in retried:
            with Trap(card, handle, 1, 3), pytest.raises(OutOfDeviceMemory) as caught:
                card.run(brief, model, request)
            assert handle.name in str(caught.value)
            assert caught.value.detail["needed_bytes"] >= handle.minimum_bytes
    found, report = card.run(brief, model, request)
    assert differences(found, expected(name, 0, True)) == []
    assert report.applied == {}
