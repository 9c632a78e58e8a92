"""The engine as nodes use it: real speech, languages, options, progress, cancelling, memory."""

import json
import math

import pytest
import torch
from mizuoto.engines.base import Options
from mizuoto.engines.whisper import engine as engine_module
from mizuoto.engines.whisper.languages import TAGS, code_of
from mizuoto.engines.whisper.settings import Settings, settings_of, temperatures
from mizuoto.engines.whisper.workload import decoder_bytes, encoder_bytes
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest, Unsupported
from mizuoto.tests.contract.card import live_tensors
from mizuoto.tests.engines.whisper import clips
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, word_error_rate

RATE = 16000


def audio(seconds=1.0, seed=0):
    return Audio(0.1 * torch.randn(1, int(seconds * RATE), generator=torch.Generator().manual_seed(seed)), RATE)


@pytest.fixture
def hear(runtime):
    """Transcript of some audio."""

    def transcribe(model, sound, language="en", ctx=None, **options):
        values = model.manifest.resolve(Options("whisper", options))
        with torch.inference_mode():
            return model.transcribe(sound, language, values, ctx or runtime.context(1))

    return transcribe


@pytest.fixture
def tiny_model(checkpoint, load):
    return load(checkpoint())


def test_real_speech_is_understood(real, hear):
    heard = [hear(real, Audio(clips.read(name)[None], RATE), word_timestamps=True) for name in clips.WORDS]
    said, written = " ".join(clips.WORDS.values()), " ".join(found.text for found in heard)
    assert word_error_rate(said, written) <= MAX_WORD_ERROR_RATE
    for found in heard:
        times = [time for passage in found.passages for word in passage.words for time in (word.start, word.end)]
        assert times == sorted(times)
        assert 0 <= times[0] < times[-1] <= found.seconds + 0.1
        for passage in found.passages:  # the tokens of a misheard word may be two words without a space between
            assert "".join(word.text for word in passage.words) == passage.text.replace(" ", "")
        assert (found.engine, found.language) == ("whisper", "en")


def test_default_options_are_those_of_openai_whisper(tiny_model):
    values = tiny_model.manifest.resolve(None)
    assert settings_of(values, "en") == Settings("en")


@pytest.mark.parametrize(
    ("first", "has_fallback", "expected"),
    [
        (0.0, False, (0.0,)),
        (0.0, True, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (0.5, True, (0.5, 0.7, 0.9)),
        (1.0, True, (1.0,)),
    ],
)
def test_temperatures_rise_to_one(first, has_fallback, expected):
    assert temperatures(first, has_fallback) == expected


def test_english_models_know_english_only(checkpoint, load, hear):
    model = load(checkpoint(is_multilingual=False))
    assert model.manifest.languages == ("en",)
    assert hear(model, audio(), language=None).language == "en"
    with pytest.raises(InvalidRequest, match=r'does not know the language "de"; it knows en\.'):
        hear(model, audio(), language="de")
    with pytest.raises(Unsupported, match=r"knows English only and translates nothing; load one without \.en"):
        hear(model, audio(), task="translate")


def test_languages_are_those_of_the_checkpoint(tiny_model, hear):
    assert tiny_model.manifest.languages == TAGS[:99]
    with pytest.raises(InvalidRequest, match='does not know the language "yue"'):
        hear(tiny_model, audio(), language="yue")


def test_a_translation_is_english(tiny_model, hear):
    assert hear(tiny_model, audio(), language="jv", task="translate").language == "en"
    assert hear(tiny_model, audio(), language="jv").language == "jv"


def test_the_language_is_found_out(tiny_model, hear, runtime):
    ctx = runtime.context(0)
    ctx.report.params["language"] = "auto"
    found = hear(tiny_model, audio(40), language=None, ctx=ctx, temperature_fallback=False)
    decoder, tokens = tiny_model.decoder.module, tiny_model.tokens
    with torch.inference_mode():
        mel = engine_module.log_mel(audio(40).waveform[0], 80)[None, :, :3000]
        state = engine_module.WindowState(decoder, engine_module.Hearing(tiny_model.encoder.module(mel)), 1)
        logits = state.logits(torch.tensor([[tokens.sot]]))[0, 0]
    best = max(tokens.languages.values(), key=lambda token: float(logits[token]))
    assert tokens.languages[code_of(found.language)] == best
    assert ctx.report.params["language"] == found.language
    share = logits[best].exp() / logits[list(tokens.languages.values())].exp().sum()
    assert ctx.report.params["language_probability"] == pytest.approx(float(share), abs=1e-4)


def test_a_seed_decides_what_is_drawn(tiny_model, hear, runtime):
    heard = [
        hear(tiny_model, audio(), ctx=runtime.context(seed), temperature=1.0, temperature_fallback=False)
        for seed in (1, 1, 2)
    ]
    assert heard[0] == heard[1]
    assert heard[0] != heard[2]


def test_progress_rises_to_the_end(tiny_model, hear, runtime):
    seen = []
    ctx = runtime.context(0, on_progress=lambda fraction, what: seen.append((fraction, what)))
    hear(tiny_model, audio(65), ctx=ctx, temperature_fallback=False)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert len(fractions) >= 3
    assert fractions[-1] == 1.0
    assert {what for _, what in seen} == {"transcribe"}


def test_phases_are_timed(tiny_model, hear, runtime):
    ctx = runtime.context(0)
    hear(tiny_model, audio(), ctx=ctx, temperature_fallback=False)
    assert {"features", "audio encoder", "decoder"} <= ctx.report.timings_ms.keys()
    assert {"whisper:encoder", "whisper:decoder"} == ctx.report.memory.keys()


def test_cancelling_stops_it_within_a_token(tiny_model, hear, runtime):
    ctx = runtime.context(0)
    ctx.cancelled.set()
    with pytest.raises(Cancelled):
        hear(tiny_model, audio(), ctx=ctx)


@pytest.mark.parametrize("num_samples", [1, 100, RATE // 100, RATE // 2])
def test_short_recordings_are_heard(tiny_model, hear, num_samples):
    found = hear(tiny_model, Audio(torch.zeros(1, num_samples), RATE), temperature_fallback=False)
    assert math.isclose(found.seconds, num_samples / RATE)


def test_nothing_stays_in_memory(tiny_model, hear):
    hear(tiny_model, audio(), word_timestamps=True)
    before = live_tensors()
    for seed in range(3):
        hear(tiny_model, audio(seed=seed), word_timestamps=True)
    assert live_tensors() <= before


def test_options_cannot_be_overstepped(tiny_model):
    for wrong in ({"beam_size": 9}, {"temperature": 1.5}, {"task": "sing"}, {"no_speech_threshold": 2.0}):
        with pytest.raises(InvalidRequest):
            tiny_model.manifest.resolve(Options("whisper", wrong))


def test_working_memory_follows_the_sizes(real, tiny_model):
    assert encoder_bytes(real.config, 2) * 2 == encoder_bytes(real.config, 4) > encoder_bytes(tiny_model.config, 4)
    assert decoder_bytes(real.config, 5, 4) > decoder_bytes(real.config, 1, 4) > decoder_bytes(tiny_model.config, 1, 4)


def test_a_transcript_is_json(tiny_model, hear):
    assert json.loads(hear(tiny_model, audio()).to_json())["engine"] == "whisper"
