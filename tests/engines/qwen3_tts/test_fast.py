"""The loop for speed, on the CPU: what it may share with the exact one, and that nothing in it waits for the device."""

import pytest
import torch
import torch.nn.functional as F
from mizuoto.engines.qwen3_tts import fast, generation
from mizuoto.engines.qwen3_tts.ending import BUDGET, EOS
from mizuoto.engines.qwen3_tts.fast import FRAMES_PER_LOOK, FrameLoop, generate_fast
from mizuoto.engines.qwen3_tts.generation import Choices, batched, generate
from mizuoto.engines.qwen3_tts.prompt import Voice
from mizuoto.mizuoto_runtime.attention import AttentionPolicy
from mizuoto.mizuoto_runtime.attention.select import rounded_freely
from mizuoto.mizuoto_runtime.lm.sampling import Sampling
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from mizuoto.tests.engines.qwen3_tts import models
from torch.utils._python_dispatch import TorchDispatchMode

GREEDY = Sampling(do_sample=False)
DRAWN = Sampling(temperature=0.9, top_k=20)
LOOPS = {"exact": generate, "fast": lambda *args: generate_fast(*args, False, unwarned)}


@pytest.fixture(params=["0b6", "1b7"])
def model(checkpoint, request):
    return models.load(checkpoint("custom_voice", request.param))


def nothing(made):
    """No check."""


def unwarned(code, text):
    raise AssertionError(f"{code}: {text}")


def prompts_of(model, *texts, is_streamed=False):
    return [model._prompt(text, Voice(speaker="ryan"), "Auto", "", is_streamed) for text in texts]


def made_by(loop, model, prompts, budgets, sampling=GREEDY, seed=0, check=nothing):
    choices = Choices(sampling, sampling, budgets, stops_loops=False)
    with torch.inference_mode():
        generator = torch.Generator().manual_seed(seed)
        return LOOPS[loop](models.talker_of(model), prompts, choices, generator, models.CPU, check)


def same(found, expected):
    return [take.ending for take in found] == [take.ending for take in expected] and all(
        torch.equal(one.codes, other.codes) for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_rounding_apart_it_is_the_exact_loop(model, sampling, is_streamed):
    """The same draws in the same order; in float32 no choice of these models hangs on the last bits."""
    prompts = prompts_of(model, "The cat sat.", is_streamed=is_streamed)
    exact, found = (made_by(loop, model, prompts, [20], sampling) for loop in LOOPS)
    assert same(found, exact)


def test_batches_are_those_of_the_exact_loop(model):
    prompts = prompts_of(model, "Hi.", "The cat sat on the mat.", "And?")
    budgets = [6, 13, 1]
    exact, found = (made_by(loop, model, prompts, budgets) for loop in LOOPS)
    assert same(found, exact)
    assert [len(take.codes) for take in found] == budgets


def test_a_seed_says_the_same_twice(model):
    prompts = prompts_of(model, "Hi.")
    one, two, other = (made_by("fast", model, prompts, [12], DRAWN, seed) for seed in (3, 3, 4))
    assert same(one, two)
    assert not same(one, other)


class Ending:
    """A hook on the first codes' head: frame `at` of every row is the end, and no frame before or after it."""

    def __init__(self, at, eos):
        self.count, self.at, self.eos = 0, at, eos

    def __call__(self, *call):
        logits = call[-1]
        logits[..., self.eos] = 1e4 if self.count == self.at else -torch.inf
        self.count += 1
        return logits


@pytest.mark.parametrize("at", [2, 5, FRAMES_PER_LOOK - 1, FRAMES_PER_LOOK, FRAMES_PER_LOOK + 3])
@pytest.mark.parametrize("loop", LOOPS)
def test_what_comes_after_the_end_is_thrown_away(checkpoint, loop, at):
    model = models.load(checkpoint("custom_voice", "0b6"))
    talker, prompts = models.talker_of(model), prompts_of(model, "Hi.")
    whole = made_by("exact", model, prompts, [20])[0].codes
    ending = Ending(at, talker.config.tokens.eos)
    with models.hooked(talker.codec_head, ending):
        (take,) = made_by(loop, model, prompts, [20])
    assert take.ending == EOS
    assert torch.equal(take.codes, whole[:at])
    looks = -(-(at + 1) // FRAMES_PER_LOOK)
    assert ending.count == (at + 1 if loop == "exact" else looks * FRAMES_PER_LOOK)


@pytest.mark.parametrize("budget", [1, FRAMES_PER_LOOK - 1, FRAMES_PER_LOOK, 2 * FRAMES_PER_LOOK + 1])
def test_no_more_frames_than_the_budget_and_one(checkpoint, budget):
    """The one more may be the end."""
    model = models.load(checkpoint("custom_voice", "0b6"))
    checks = []
    with models.endless(model):
        (take,) = made_by("fast", model, prompts_of(model, "Hi."), [budget], check=checks.append)
    assert (len(take.codes), take.ending) == (budget, BUDGET)
    assert checks == list(range(budget + 1))


class NoWaiting(TorchDispatchMode):
    """Fails at whatever would make the host wait for the device."""

    WAITING = ("_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal", "_to_copy", "unique")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        assert name not in self.WAITING, f"aten.{name} waits for the device"
        return function(*args, **(kwargs or {}))


def frame_loop(model, prompts, sampling):
    talker = models.talker_of(model)
    batch = batched([talker.embed(prompt, models.CPU) for prompt in prompts])
    return FrameLoop(talker, batch, Choices(sampling, sampling, [4] * len(prompts), False), torch.Generator())


@pytest.mark.parametrize("texts", [["Hi."], ["Hi.", "The cat sat."]], ids=["one", "batch"])
def test_no_frame_waits_for_the_device(model, texts):
    sampling = Sampling(temperature=0.9, top_k=20, repetition_penalty=1.05)
    with torch.inference_mode(), rounded_freely(models.talker_of(model)):
        loop = frame_loop(model, prompts_of(model, *texts), sampling)
        with NoWaiting():
            for _ in range(4):
                loop.step()
    assert loop.codes[:4].any(dim=(1, 2)).all()


def test_waiting_is_seen():
    with NoWaiting(), pytest.raises(AssertionError, match="waits for the device"):
        torch.ones(1).item()


def test_frames_are_made_in_place(model):
    """A captured step writes where it was recorded to."""
    with torch.inference_mode():
        loop = frame_loop(model, prompts_of(model, "Hi."), DRAWN)
        places = [tensor.data_ptr() for tensor in tensors_of(loop)]
        for _ in range(3):
            loop.step()
    assert [tensor.data_ptr() for tensor in tensors_of(loop)] == places


def tensors_of(loop):
    caches = [tensor for cache in (loop._cache, loop._predicted) for tensor in (cache.keys, cache.values, cache.length)]
    samplers = [sampler._penalties for sampler in (loop._first, loop._later) if sampler._penalties is not None]
    return [*caches, *samplers, loop.codes, loop.hidden, loop._frame]


@pytest.mark.parametrize(("may_capture", "on_card"), [(True, True), (True, False), (False, True)])
def test_only_weights_that_stay_are_captured(checkpoint, monkeypatch, may_capture, on_card):  # P13, P14
    model = models.load(checkpoint("custom_voice", "0b6"))
    captured = []

    def capture(step, generators, device):
        captured.append((step.__self__._frame.item(), len(generators), device))
        return step

    monkeypatch.setattr(fast, "CapturedStep", capture)
    monkeypatch.setattr(fast, "can_capture", lambda device: on_card)
    monkeypatch.setitem(LOOPS, "fast", lambda *args: generate_fast(*args, may_capture, unwarned))
    prompts = prompts_of(model, "Hi.")
    for _ in range(2):  # nothing that was recorded outlives its generation: the weights may move before the next
        assert same(made_by("fast", model, prompts, [12]), made_by("exact", model, prompts, [12]))
    recording = (generation.MIN_FRAMES + 1, 1, models.CPU)
    assert captured == ([recording] * 2 if may_capture and on_card else [])


@pytest.mark.parametrize("is_whole", [True, False])
def test_streamed_weights_are_never_captured(checkpoint, monkeypatch, is_whole):
    model, seen = models.load(checkpoint("custom_voice", "0b6")), []

    def noting(*args):
        seen.append(args[-2])
        return generate_fast(*args[:-2], False, args[-1])

    monkeypatch.setattr("mizuoto.engines.qwen3_tts.engine.generate_fast", noting)
    monkeypatch.setattr(type(model._talker), "is_whole", is_whole)
    models.say(model, "Hi.", decoding="fast")
    models.say(model, "Hi.", decoding="exact")
    assert seen == [is_whole]


def capturing(monkeypatch, capture):
    """Let the fast loop "capture" on the CPU: `capture(step)` gives what replays or raises; returns what is warned."""
    warned = []
    monkeypatch.setattr(fast, "CapturedStep", lambda step, generators, device: capture(step))
    monkeypatch.setattr(fast, "can_capture", lambda device: True)
    monkeypatch.setitem(LOOPS, "fast", lambda *args: generate_fast(*args, True, lambda *told: warned.append(told)))
    return warned


def refusing(error):
    """A capture that fails with `error`."""

    def capture(step):
        raise error

    return capture


def test_a_failed_capture_costs_time_only(checkpoint, monkeypatch):
    model = models.load(checkpoint("custom_voice", "0b6"))
    prompts = prompts_of(model, "Hi.")
    warned = capturing(monkeypatch, refusing(RuntimeError("not permitted\nwhile capturing")))
    assert same(made_by("fast", model, prompts, [12], DRAWN), made_by("exact", model, prompts, [12], DRAWN))
    ((code, text),) = warned
    assert code == "no_graph"
    assert "RuntimeError: not permitted)" in text


def test_a_capture_without_memory_is_for_the_retry(checkpoint, monkeypatch):
    model = models.load(checkpoint("custom_voice", "0b6"))
    warned = capturing(monkeypatch, refusing(SimulatedOutOfMemory("no room")))
    with pytest.raises(SimulatedOutOfMemory):
        made_by("fast", model, prompts_of(model, "Hi."), [12])
    assert warned == []


@pytest.mark.parametrize("texts", [["Hi."], ["Hi.", "The cat sat."]], ids=["one", "batch"])
def test_long_takes_get_room_as_they_go(checkpoint, monkeypatch, texts):
    """What was captured is thrown away first, as the tensors move, and captured anew."""
    model, rooms = models.load(checkpoint("custom_voice", "0b6")), []

    def capture(step):
        loop = step.__self__
        rooms.append(loop.room)
        places = [tensor.data_ptr() for tensor in tensors_of(loop)]

        def replay():
            assert [tensor.data_ptr() for tensor in tensors_of(loop)] == places
            step()

        return replay

    capturing(monkeypatch, capture)
    monkeypatch.setattr("mizuoto.engines.qwen3_tts.ending.SPARE_FRAMES", -2)
    prompts, budgets = prompts_of(model, *texts), [60] * len(texts)
    with models.endless(model):
        exact, found = (made_by(loop, model, prompts, budgets) for loop in LOOPS)
    assert same(found, exact)
    assert len(rooms) > 1 and rooms == sorted(rooms)
    assert rooms[-1] <= 61


def test_the_last_bits_are_free_in_the_fast_loop_only(model, monkeypatch):
    """With a mask, torch shares key heads in its slowest kernel: the fast loop repeats them instead."""
    shared = []

    def noting(query, key, value, mask=None, *args, **kwargs):
        shared.append(mask is not None and query.shape[1] != key.shape[1])
        return sdpa(query, key, value, mask, *args, **kwargs)

    sdpa = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", noting)
    prompts = prompts_of(model, "Hi.", "The cat sat.")  # padded, so the exact loop has masks too
    for loop, expected in (("exact", True), ("fast", False), ("exact", True)):
        shared.clear()
        made_by(loop, model, prompts, [3, 3])
        assert any(shared) == expected


def test_replays_are_counted_and_recordings_are_not(checkpoint, monkeypatch):
    model = models.load(checkpoint("custom_voice", "0b6"))
    talker, prompts, counts = models.talker_of(model), prompts_of(model, "Hi."), []

    def capture(step):
        step()  # what a recording runs of the host's side
        loop = step.__self__
        loop._frame -= 1
        return lambda: None

    policy = AttentionPolicy("sdpa")
    policy.bind(talker)
    with models.endless(model):
        made_by("fast", model, prompts, [20])
        counts.append(dict(policy.counts))
        policy.reset()
        capturing(monkeypatch, capture)
        made_by("fast", model, prompts, [20])
    assert counts == [policy.counts]
