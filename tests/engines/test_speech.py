from dataclasses import replace

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import Codes, VoicePrompt
from mizuoto.engines.base import Option, Options
from mizuoto.engines.recording import driven
from mizuoto.engines.script import Cast, segment_seed
from mizuoto.mizuoto_runtime.context import MAX_SEED
from mizuoto.mizuoto_runtime.device import DeviceService
from mizuoto.mizuoto_runtime.errors import Cancelled, EngineError, InvalidRequest, NothingToSay, Unsupported
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.text.script import read_script, speakers_of
from mizuoto.tests.engines.dummy import MANIFEST, SAMPLE_RATE, LoadedDummy

TEXT = "The first sentence is this one. The second comes after it. And the third one ends it."


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def engine(runtime):
    return LoadedDummy(runtime)


def speak(engine, runtime, text=TEXT, seed=5, **options):
    return speech.speak(engine, text, None, Options("dummy", options), runtime.context(seed)).waveform


def texts_of(text, manifest):
    return [line.text for line in speech.plan_text(text, manifest).lines]


def talk(engine, runtime, text=TEXT, seed=5):
    return speech.talk(engine, text, None, None, runtime.context(seed))


def test_speak_equals_talk_and_decode(engine, runtime):
    codes = talk(engine, runtime)
    assert len(codes.segments) == 3
    audio = speech.decode(engine, codes, runtime.context(0))  # seeds come with the codes
    assert torch.equal(audio.waveform, speak(engine, runtime))
    assert audio.sample_rate == SAMPLE_RATE
    assert audio.waveform.shape[0] == 1


def test_decoding_twice_and_after_saving_gives_the_same(engine, runtime, tmp_path):
    codes = talk(engine, runtime)
    codes.save(tmp_path / "codes.safetensors")
    first, second, third = (
        speech.decode(engine, each, runtime.context(0)).waveform
        for each in (codes, codes, Codes.load(tmp_path / "codes.safetensors"))
    )
    assert torch.equal(first, second)
    assert torch.equal(first, third)


def test_the_seed_decides(engine, runtime):
    assert torch.equal(speak(engine, runtime), speak(engine, runtime))
    assert not torch.equal(speak(engine, runtime), speak(engine, runtime, seed=6))
    speak(engine, runtime, seed=MAX_SEED)


def test_a_change_in_segment_three_leaves_one_and_two(engine, runtime):
    before = talk(engine, runtime)
    after = talk(engine, runtime, TEXT.replace("third one ends", "fourth one ends"))
    assert before.segments[2].text != after.segments[2].text
    for index in range(2):
        old, new = (
            speech.decode(engine, replace(c, segments=(c.segments[index],)), runtime.context(0))
            for c in (before, after)
        )
        assert before.segments[index].seed == after.segments[index].seed
        assert torch.equal(old.waveform, new.waveform)


def test_segment_seeds():
    assert segment_seed(9, 0, "anything") == 9
    others = {segment_seed(seed, index, text) for seed in (9, 10) for index in (1, 2) for text in ("a", "b")}
    assert len(others) == 8
    assert all(0 <= seed <= MAX_SEED for seed in others)
    assert segment_seed(9, 1, "a") == 16299523004089046669  # never changes: old workflows sound the same


def test_every_segment_starts_from_its_own_seed(engine, runtime):
    speak(engine, runtime)
    talked = [call[2] for call in engine.calls if call[0] == "talk"]
    decoded = [call[2] for call in engine.calls if call[0] == "decode"]
    assert talked[0] == 5
    assert talked == decoded
    assert len(set(talked)) == 3


def test_speak_decodes_each_segment_before_the_next(engine, runtime):
    speak(engine, runtime)
    assert [call[0] for call in engine.calls] == ["talk", "decode"] * 3


def test_options_and_voice_reach_the_engine(engine, runtime):
    voice = VoicePrompt("dummy", "low")
    speech.talk(engine, "Hello.", voice, Options("dummy", {"steps": 3}), runtime.context())
    _, text, _, options, used = engine.calls[0]
    assert (text, used) == ("Hello.", voice)
    assert options == {"gain": 0.5, "steps": 3, "shape": "sine", "echo": False}


def test_the_report_and_progress(engine, runtime):
    seen = []
    ctx = runtime.context(5, on_progress=lambda fraction, what: seen.append((fraction, what)))
    audio = speech.speak(engine, TEXT, None, None, ctx)
    assert ctx.report.segments == 3
    assert ctx.report.audio_seconds == round(audio.waveform.shape[-1] / SAMPLE_RATE, 4)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)


class Telling(LoadedDummy):
    """Tells at the middle and at the end of every call how far it is; says up to two segments at once."""

    manifest = replace(MANIFEST, max_batch=2, options=(*MANIFEST.options, Option("batch_size", 1, "", low=1, high=2)))

    def talk(self, text, voice, options, ctx):
        ctx.progress(0.5, "own")
        ctx.progress(1.0, "own")
        return super().talk(text, voice, options, ctx)

    def talk_batch(self, texts, voice, options, ctx):
        ctx.progress(0.5, "own")
        ctx.progress(1.0, "own")
        return [super(Telling, self).talk(text, voice, options, ctx) for text in texts]

    def decode(self, codes, ctx):
        ctx.progress(0.5, "own")
        yield from super().decode(codes, ctx)


@pytest.mark.parametrize(("size", "middles"), [(1, [1, 3, 5]), (2, [2, 5])])
@pytest.mark.parametrize("call", [speech.talk, speech.speak])
def test_engines_tell_of_their_own_call_only(runtime, call, size, middles):
    seen = []
    ctx = runtime.context(5, on_progress=lambda *told: seen.append(told))
    call(Telling(runtime), TEXT, None, Options("dummy", {"batch_size": size}), ctx)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
    own = [round(fraction * 6, 6) for fraction, what in seen if what == "own"]
    assert set(middles) <= set(own) <= {*middles, 2, 4, 6}


def test_decoding_tells_of_every_segment(engine, runtime):
    seen = []
    codes = talk(engine, runtime)
    speech.decode(Telling(runtime), codes, runtime.context(on_progress=lambda *told: seen.append(told)))
    assert [round(fraction * 6, 6) for fraction, _ in seen] == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("call", [speech.talk, speech.speak])
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("", None, None), "The text is empty, so there is nothing to say; type a text with words"),
        ((" \n\t", None, None), "The text is empty"),
        (("... !?", None, None), r'"... !\?" has no letter or digit, so there is nothing to say'),
        (("🙂🙃", None, None), "has no letter or digit"),
        (("a" * 250_001, None, None), "has 250,001 characters; the limit is 250,000"),
        (("Hi.", VoicePrompt("other", "x"), None), 'The voice came from engine "other" but the model is "dummy"'),
        (("Hi.", None, Options("other")), 'The options are for engine "other"'),
        (("Hi.", None, Options("dummy", {"gain": 2.0})), "its range is 0 to 1"),
    ],
)
def test_wrong_requests_never_reach_the_engine(engine, runtime, call, arguments, problem):
    with pytest.raises(InvalidRequest, match=problem):
        call(engine, *arguments, runtime.context())
    assert engine.calls == []


def test_wrong_codes_are_refused(engine, runtime):
    with pytest.raises(InvalidRequest, match='The codes came from engine "other"'):
        speech.decode(engine, Codes("other", 8000, ()), runtime.context())
    with pytest.raises(InvalidRequest, match="hold no segment"):
        speech.decode(engine, Codes("dummy", 8000, ()), runtime.context())


def test_an_engine_that_does_not_speak_is_refused(engine, runtime):
    engine.manifest = replace(engine.manifest, tasks=("asr",))
    with pytest.raises(Unsupported, match="cannot speak; load one that does"):
        speak(engine, runtime)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_audio_that_is_not_finite_is_an_error(runtime, value):
    engine = LoadedDummy(runtime, spoil=lambda waveform: torch.cat([waveform, torch.tensor([[value]])], dim=-1))
    with pytest.raises(EngineError, match=r'non-finite samples for "The first .*; try dtype fp32 or another seed'):
        speak(engine, runtime)
    with pytest.raises(EngineError, match="non-finite"):
        speech.decode(engine, talk(engine, runtime), runtime.context())


@pytest.mark.parametrize("spoil", [lambda waveform: waveform[:, :0], lambda waveform: waveform * 1e-5])
def test_no_audio_is_an_error_and_never_silence(runtime, spoil):
    engine = LoadedDummy(runtime, spoil=spoil)
    with pytest.raises(EngineError, match=r'silence for "The first .*; try another seed or text'):
        speak(engine, runtime)
    engine.decode = lambda codes, ctx: iter(())
    with pytest.raises(EngineError, match="silence"):
        speech.decode(engine, talk(engine, runtime), runtime.context())


class Picky(LoadedDummy):
    """Cannot say what begins with "And"."""

    def talk(self, text, *rest):
        if text.startswith("And"):
            raise NothingToSay(f"cannot say {text}")
        return super().talk(text, *rest)


def test_a_segment_that_cannot_be_said_is_left_out_and_reported(runtime):
    ctx = runtime.context(5)
    audio = speech.speak(Picky(runtime), TEXT, None, None, ctx)
    (warning,) = ctx.report.warnings
    assert (warning["code"], warning["items"]) == ("left_out", ["And the third one ends it."])
    assert ctx.report.segments == 2
    codes = talk(Picky(runtime), runtime)
    assert torch.equal(speech.decode(Picky(runtime), codes, runtime.context()).waveform, audio.waveform)
    with pytest.raises(NothingToSay, match="cannot say And nothing else"):
        speech.speak(Picky(runtime), "And nothing else.", None, None, runtime.context())


@pytest.mark.parametrize("stop_in", ["talk", "decode"])
def test_cancelled_in_the_middle(runtime, stop_in):
    ctx = runtime.context()

    class Stopped(LoadedDummy):
        def talk(self, *arguments):
            codes = super().talk(*arguments)
            if stop_in == "talk":
                ctx.cancelled.set()
            return codes

        def decode(self, *arguments):
            yield from super().decode(*arguments)
            if stop_in == "decode":
                ctx.cancelled.set()

    engine = Stopped(runtime)
    with pytest.raises(Cancelled):
        speech.speak(engine, TEXT, None, None, ctx)
    assert [call[0] for call in engine.calls] == {"talk": ["talk"], "decode": ["talk", "decode"]}[stop_in]


def test_texts_keep_their_words_and_fit():
    text = f"{TEXT}\n\n{TEXT}"
    pieces = texts_of(text, MANIFEST)
    assert len(pieces) == 6
    assert all(0 < len(piece) <= 40 and piece == piece.strip() for piece in pieces)
    assert " ".join(pieces).split() == text.split()
    wordless = texts_of(f"{TEXT}\n\n{'... ' * 40}\n\nEnd.", MANIFEST)
    assert all(any(character.isalnum() for character in piece) for piece in wordless)
    assert wordless[-1].endswith("End.")
    assert texts_of("... \n\n !", MANIFEST) == []


def test_same_audio_on_a_small_simulated_device():
    devices = DeviceService({"cuda:0": 6000})  # one of the two modules fits
    runtime = Runtime(Settings(vram_reserve_mb=0), devices)
    small = LoadedDummy(runtime, torch.device("cuda", 0))
    roomy = Runtime(Settings())
    assert torch.equal(speak(small, runtime), speak(LoadedDummy(roomy), roomy))
    assert devices.simulated[torch.device("cuda", 0)].peak_bytes <= 6000


def test_the_engine_works_in_inference_mode_and_its_callers_do_not(engine, runtime):  # S062, S063
    seen = []

    class Watched(LoadedDummy):
        def talk(self, *given):
            seen.append(torch.is_inference_mode_enabled())
            return super().talk(*given)

        def decode(self, codes, ctx):
            for chunk in super().decode(codes, ctx):
                seen.append(torch.is_inference_mode_enabled())
                yield chunk

    watched = Watched(runtime)
    codes = talk(watched, runtime)
    assert not torch.is_inference_mode_enabled()
    for _ in driven(watched.decode(codes, runtime.context(0))):
        assert not torch.is_inference_mode_enabled()
    assert len(seen) == 3 + 6 and all(seen)


class Choir(LoadedDummy):
    """Says several segments at once; a batch shares the seed of its first segment."""

    def __init__(self, runtime):
        super().__init__(runtime)
        options = (*MANIFEST.options, Option("batch_size", 1, "Rows.", low=1, high=8, step=1))
        self.manifest = replace(MANIFEST, max_batch=2, options=options)
        self.batches = []

    def talk_batch(self, texts, voice, options, ctx):
        self.batches.append((list(texts), ctx.seed))
        return [self.talk(text, voice, options, ctx) for text in texts]


@pytest.fixture
def choir(runtime):
    return Choir(runtime)


def test_segments_go_in_batches_as_large_as_asked_and_allowed(choir, runtime):
    asked = Options("dummy", {"batch_size": 8})
    codes = speech.talk(choir, TEXT, None, asked, runtime.context(5))
    texts = [segment.text for segment in codes.segments]
    assert texts == texts_of(TEXT, MANIFEST)
    assert choir.batches == [(texts[:2], 5)]  # the third segment is a plain call
    assert speech.speak(choir, TEXT, None, asked, runtime.context(5)).waveform.numel() > 0


def test_speakers_in_turn_are_batched_and_stay_in_order(choir, runtime):
    voices = {"A": VoicePrompt("dummy", "low"), "B": VoicePrompt("dummy", "high")}
    parts = read_script("A: One.\nB: Two.\nA: Three.\nB: Four.\nA: Five.", speakers_of(voices))
    ctx = runtime.context(5)
    _, takes = speech.perform(choir, parts, Cast(None, voices), Options("dummy", {"batch_size": 2}), ctx)
    assert [texts for texts, _ in choir.batches] == [["One.", "Three."], ["Two.", "Four."]]
    assert [(take.text, take.speaker) for take in takes] == [
        ("One.", "A"), ("Two.", "B"), ("Three.", "A"), ("Four.", "B"), ("Five.", "A"),
    ]  # fmt: skip
    assert [take.start for take in takes] == sorted(take.start for take in takes)


def test_without_a_batch_size_nothing_is_batched(choir, runtime):
    codes = speech.talk(choir, TEXT, None, None, runtime.context(5))
    assert choir.batches == []
    alone = speech.talk(LoadedDummy(runtime), TEXT, None, None, runtime.context(5))
    for one, other in zip(codes.segments, alone.segments, strict=True):
        assert torch.equal(one.tensors["hidden"], other.tensors["hidden"])


@pytest.mark.parametrize("size", [1, 2])
def test_a_list_of_texts_gives_codes_of_each_in_order(choir, runtime, size):
    pairs = [(TEXT, 5), ("Short.", 6), ("Another one.", 7)]
    found = speech.talk_list(choir, pairs, None, Options("dummy", {"batch_size": size}), runtime.context(0))
    assert [len(codes.segments) for codes in found] == [3, 1, 1]
    assert [codes.segments[0].text for codes in found[1:]] == ["Short.", "Another one."]
    if size == 1:  # each as if it were alone
        alone = speech.talk(choir, "Short.", None, None, runtime.context(6))
        assert torch.equal(found[1].segments[0].tensors["hidden"], alone.segments[0].tensors["hidden"])


def test_a_text_of_a_list_that_cannot_be_said_is_an_error(runtime):
    engine = LoadedDummy(runtime)
    said = engine.talk

    def talk(text, *rest):
        if "???" in text or "foreign" in text:
            raise NothingToSay(text)
        return said(text, *rest)

    engine.talk = talk
    with pytest.raises(NothingToSay, match="foreign"):
        speech.talk_list(engine, [("One.", 0), ("foreign", 0)], None, None, runtime.context(0))


def test_the_report_names_the_voice_and_an_error_its_text(engine, runtime):
    for voice, name in ((None, "low"), (VoicePrompt("dummy", "high"), "high")):
        ctx = runtime.context()
        speech.talk(engine, "One.", voice, None, ctx)
        assert ctx.report.params["voice"] == name
    with pytest.raises(InvalidRequest, match=r"^Text 2 of 3: The text is empty"):
        speech.talk_list(engine, [("One.", 0), (" ", 0), ("Two.", 0)], None, None, runtime.context())


def test_the_language_of_the_options_decides_how_numbers_are_said(runtime):
    engine = LoadedDummy(runtime)
    engine.manifest = replace(
        MANIFEST, options=(*MANIFEST.options, Option("language", "Auto", "", choices=("Auto", "German")))
    )
    for language, said in (("Auto", "It costs five dollars."), ("German", "It costs $5.")):
        (segment,) = speech.talk(
            engine, "It costs $5.", None, Options("dummy", {"language": language}), runtime.context(), "on"
        ).segments
        assert segment.text == said
