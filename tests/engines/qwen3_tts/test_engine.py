"""The engine as nodes use it: endings in the report, cancelling, memory over many requests."""

import json
import math
import shutil
from contextlib import contextmanager

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import Codes, Segment
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.qwen3_tts import fast, generation
from mizuoto.engines.qwen3_tts.codec import SAMPLES_PER_FRAME
from mizuoto.engines.qwen3_tts.ending import KEPT_LOOP_FRAMES
from mizuoto.engines.qwen3_tts.engine import ENGINE
from mizuoto.engines.qwen3_tts.prompt import PromptBuilder, Voice
from mizuoto.engines.qwen3_tts.workload import talker_bytes
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.errors import Cancelled, EngineError, InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.lm.cache import StaticCache
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.contract.card import live_tensors
from mizuoto.tests.engines.qwen3_tts import models

BASE, PRESETS, DESIGN = ("base", "0b6"), ("custom_voice", "0b6"), ("voice_design", "0b6")


@pytest.fixture
def model(checkpoint):
    return models.load(checkpoint(*PRESETS))


def warnings_of(ctx, code):
    return [warning for warning in ctx.report.warnings if warning["code"] == code]


@contextmanager
def saying_only(model, token):
    """The model says one code for ever."""

    def only(*call):
        logits = call[-1]
        logits[...] = -100.0
        logits[..., token] = 100.0
        return logits

    with models.hooked(models.talker_of(model).codec_head, only):
        yield


@pytest.mark.parametrize("text", ["1次", "a", "Hi"])
def test_a_take_without_an_end_gets_what_its_text_needs(model, text):  # P28, P29
    ctx = models.RUNTIME.context(1)
    with models.endless(model):
        codes = models.say(model, text, frames=None, ctx=ctx)
    assert 41 <= len(codes) <= 89
    (warning,) = warnings_of(ctx, "cut_off")
    assert "did not come to an end; try another seed, or set max_seconds" in warning["text"]
    assert warning["items"] == [f'"{text}" ({len(codes) / 12.5:.1f} s)']


def test_a_take_without_an_end_may_fail(model):
    with models.endless(model), pytest.raises(EngineError, match=r'did not come to an end: "Hi\." \(0\.3 s\)\. Try'):
        models.say(model, "Hi.", at_limit="fail")


def test_a_take_that_ends_says_nothing_of_limits(model):
    ctx = models.RUNTIME.context(1)
    eos = models.talker_of(model).config.tokens.eos
    with saying_only(model, eos):
        codes = models.say(model, "Hi.", ctx=ctx, at_limit="fail", temperature=0.0)
    assert len(codes) == generation.MIN_FRAMES
    assert ctx.report.warnings == []


@pytest.mark.parametrize("decoding", ["exact", "fast"])
def test_a_take_that_repeats_itself_is_ended(model, decoding):
    ctx = models.RUNTIME.context(1)
    with saying_only(model, 7):
        codes = models.say(model, "Hi.", ctx=ctx, frames=100, stop_loops=True, decoding=decoding)
    assert len(codes) == KEPT_LOOP_FRAMES
    assert "repeated itself" in warnings_of(ctx, "looped")[0]["text"]


def test_several_cut_takes_are_told_once(model):
    ctx = models.RUNTIME.context(1)
    texts = [("Hi.", 0), ("Ho ho.", 1)]
    with models.endless(model):
        speech.talk_list(model, texts, None, models.options(3), ctx)
    (warning,) = warnings_of(ctx, "cut_off")
    assert warning["items"] == ['"Hi." (0.2 s)', '"Ho ho." (0.2 s)']


def test_the_transcript_as_text_is_told(checkpoint):  # P31
    model = models.load(checkpoint(*BASE))
    voice = models.voice_for(model, "base", "the hello ")
    for text, is_told in (("the hello", True), ("the hell", False)):
        ctx = models.RUNTIME.context()
        models.say(model, text, voice, frames=2, ctx=ctx)
        assert bool(warnings_of(ctx, "same_text")) == is_told


def test_the_small_model_drops_no_instruction(model):
    with pytest.raises(Unsupported, match="follows no instruction"):
        models.say(model, "Hi.", instruction="sad")


def test_a_text_beyond_the_context_is_refused(checkpoint, tmp_path):  # P35
    folder = shutil.copytree(checkpoint(*PRESETS), tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["talker_config"]["max_position_embeddings"] = 200
    (folder / "config.json").write_text(json.dumps(config))
    model = models.load(folder)
    text = "word " * 60
    with pytest.raises(InvalidRequest, match="positions of the model to read"):
        models.say(model, text)
    assert len(models.say(model, "word " * 30)) == 4


def test_seeds_decide(model):
    codes = [models.say(model, "Hi.", seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(codes[0], codes[1])
    assert not torch.equal(codes[0], codes[2])


@pytest.mark.parametrize("decoding", ["exact", "fast"])
def test_cancelling_takes_effect_within_a_frame(model, decoding):
    made, at = [], 5

    def check():
        if len(made) >= at:
            ctx.cancelled.set()

    ctx = models.RUNTIME.context(on_check=check)
    talker = models.talker_of(model)
    with models.hooked(talker.predictor, lambda *call: made.append(1)), pytest.raises(Cancelled):
        models.say(model, "Hi.", frames=100, ctx=ctx, decoding=decoding)
    assert len(made) == at
    assert len(models.say(model, "Hi.", decoding=decoding)) == 4


@pytest.mark.parametrize("decoding", ["exact", "fast"])
def test_progress_inside_a_take_is_told(model, decoding):
    told = []
    ctx = models.RUNTIME.context(on_progress=lambda fraction, what: told.append((fraction, what)))
    with models.endless(model):
        codes = models.say(model, "Hi.", frames=40, ctx=ctx, decoding=decoding)
    fractions = [fraction for fraction, what in told if what == "talker"]
    assert fractions == sorted(fractions)
    assert len([fraction for fraction in fractions if 0 < fraction < 1]) >= 3
    assert len(fractions) < len(codes)  # not once a frame
    assert fractions[-1] == 1.0


@pytest.mark.parametrize("decoding", ["exact", "fast"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_overflow_is_an_error_and_no_babble(model, decoding, value):
    def overflown(_, inputs, hidden):
        return hidden.fill_(value)

    decoder = models.talker_of(model).decoder
    with models.hooked(decoder, overflown), pytest.raises(EngineError, match=r"overflowed in float32.*bf16 or fp32"):
        models.say(model, "Hi.", decoding=decoding)


@pytest.mark.parametrize("decoding", ["exact", "fast"])
def test_prompts_of_every_length_leave_nothing(model, decoding):  # P07
    counts = []
    for number in range(20):
        text = "word " * (number * 7 % 20) + "end."
        speech.speak(model, text, None, models.options(2, decoding=decoding), models.RUNTIME.context(number))
        if number in (1, 10, 19):
            counts.append(live_tensors())
    assert len(set(counts)) == 1


@pytest.mark.parametrize("count", [1, 30])
def test_the_cache_is_as_long_as_what_is_in_it(model, monkeypatch, count):  # P04
    caches = []

    class Noted(generation.GrowingCache):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            caches.append(self)

    monkeypatch.setattr(generation, "GrowingCache", Noted)
    models.say(model, "word " * count)
    cache, _ = caches  # the other is the predictor's
    rooms = {buffer.shape[2] for buffer in (*cache._keys.values(), *cache._values.values())}
    assert rooms == {-(-cache.length // 64) * 64}


@pytest.mark.parametrize(("seconds", "most"), [(0.5, 40), (600.0, 80), (0.0, 80)])
def test_the_fast_caches_are_as_long_as_the_text_needs(model, monkeypatch, seconds, most):  # P04
    lengths = []

    class Noted(StaticCache):
        def __init__(self, *args):
            super().__init__(*args)
            lengths.append(self.max_length)

    monkeypatch.setattr(fast, "StaticCache", Noted)
    with saying_only(model, models.talker_of(model).config.tokens.eos):
        models.say(model, "Hi.", decoding="fast", frames=None, max_seconds=seconds)
    assert lengths[0] < most
    assert lengths[1:] == [16]


def test_estimates_follow_the_request(model):
    build = PromptBuilder(model._config, model._prompt._bpe)
    short, long = (build(text, Voice(), "Auto", "", False) for text in ("Hi.", "word " * 100))
    config = model._config.talker

    def estimate(prompts, budget):
        return talker_bytes(config, prompts, [budget] * len(prompts), 4)

    assert estimate([short], 100) < estimate([short, short], 100) < estimate([short, long], 1000)
    assert estimate([short], 8000) == estimate([short], 4000)


def test_a_reference_is_not_heard_again(checkpoint):
    model = models.load(checkpoint(*BASE))
    voice = models.voice_for(model, "base")
    codes = speech.talk(model, "Hi.", voice, models.options(4), models.RUNTIME.context(1))
    assert speech.decode(model, codes, models.RUNTIME.context()).waveform.shape[-1] == 4 * 1920
    assert codes.segments[0].tensors["reference"].shape == (19, 16)


def test_sound_comes_in_chunks_that_make_up_the_whole(model):
    tensors = {"codes": torch.randint(0, 32, (310, 16), generator=torch.Generator().manual_seed(0))}
    codes = Codes("qwen3_tts", 24000, (Segment("a long one", 0, tensors),))
    with torch.inference_mode():
        chunks = [chunk.waveform for chunk in model.decode(codes, models.RUNTIME.context())]
    assert [chunk.shape[-1] for chunk in chunks] == [300 * 1920, 10 * 1920]
    assert torch.equal(torch.cat(chunks, dim=-1), speech.decode(model, codes, models.RUNTIME.context()).waveform)


def test_only_windows_with_speech_of_their_own_are_decoded(model):
    codes = torch.randint(32, (640, 16), generator=torch.Generator().manual_seed(0))
    reference, own = codes[:620], codes[620:]
    module = next(handle.module for handle in model.handles if handle.name.endswith(":codec"))
    with torch.inference_mode():
        whole = torch.cat(list(models.decode_chunks(module, codes.T[None])), dim=-1)[0]
    segment = Segment("x", 0, {"codes": own, "reference": reference})
    decoded = []
    with models.hooked(module, lambda _, inputs, output: decoded.append(inputs[0].shape[-1])):
        found = speech.decode(model, Codes("qwen3_tts", 24000, (segment,)), models.RUNTIME.context()).waveform
    assert torch.equal(found, whole[:, int(620 / 640 * whole.shape[-1]) :])
    assert decoded == [65]  # the third window, with its context


def test_where_memory_runs_out_for_good_shorter_windows_may_do(checkpoint, monkeypatch):  # S159
    runtime = Runtime(Settings(oom_fallback=True, oom_retries=0))
    model = ENGINE.load(LoadSpec("tiny", checkpoint(*PRESETS), CPU, torch.float32), runtime)
    module = next(handle.module for handle in model.handles if handle.name.endswith(":codec"))
    codes = torch.randint(32, (640, 16), generator=torch.Generator().manual_seed(0))
    segments = (Segment("x", 0, {"codes": codes[20:], "reference": codes[:20]}),)
    with torch.inference_mode():
        expected = torch.cat(list(models.decode_chunks(module, codes.T[None])), dim=-1)[0][:, 20 * SAMPLES_PER_FRAME :]
    forward, seen = module.forward, []

    def little_memory(frames):
        seen.append(frames.shape[-1])
        if frames.shape[-1] > 100:
            raise torch.OutOfMemoryError("out of memory")
        return forward(frames)

    monkeypatch.setattr(module, "forward", little_memory)
    ctx = runtime.context()
    found = speech.decode(model, Codes("qwen3_tts", 24000, segments), ctx).waveform
    assert found.shape == expected.shape
    # A sample hears some frames back at most: only what follows a cut by less than that may differ.
    assert torch.corrcoef(torch.cat((found, expected)))[0, 1] > 0.99
    assert seen == [300, 75, 100, 100, 100, 325, 100, 100, 100, 100, 65]
    assert ctx.report.applied["fallbacks"] == ["codec windows of 75 frames"] * 2
