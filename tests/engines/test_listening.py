import math
import wave
from pathlib import Path

import pytest
import torch
from mizuoto.engines import listening
from mizuoto.engines.base import Options
from mizuoto.engines.transcript import Passage, Transcript
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.engines.dummy import LoadedDummy
from mizuoto.tests.engines.dummy_listener import SAMPLE_RATE, LoadedListener

SPEECH = Path(__file__).resolve().parents[1] / "data" / "speech"


@pytest.fixture
def runtime():
    return Runtime(Settings())


@pytest.fixture
def engine(runtime):
    return LoadedListener(runtime)


def clip(name="austen-0880"):
    with wave.open(str(SPEECH / f"{name}.wav")) as file:
        samples = torch.frombuffer(bytearray(file.readframes(file.getnframes())), dtype=torch.int16)
        return Audio(samples[None] / 32768, file.getframerate())


def silence(seconds):
    return torch.zeros(1, round(seconds * SAMPLE_RATE))


def noise(seconds, level=0.01):
    return level * torch.randn(1, round(seconds * SAMPLE_RATE), generator=torch.Generator().manual_seed(0))


def transcribe(engine, runtime, waveform, rate=SAMPLE_RATE, language=None, options=None, **more):
    ctx = runtime.context()
    return listening.transcribe(engine, Audio(waveform, rate), language, options, ctx, **more), ctx.report


def test_speech_reaches_the_engine(engine, runtime):
    waveform = clip().waveform
    found, report = transcribe(
        engine, runtime, waveform, language="EN", options=Options("dummy_listener", {"prompt": "x"})
    )
    ((audio, language, options),) = engine.calls
    assert torch.equal(audio.waveform, waveform) and audio.sample_rate == SAMPLE_RATE
    assert (language, options) == ("en", {"temperature": 0.0, "prompt": "x"})
    assert found.passages and found.seconds == pytest.approx(waveform.shape[-1] / SAMPLE_RATE)
    assert (report.segments, report.warnings, report.params["language"]) == (len(found.passages), [], "en")


@pytest.mark.parametrize("rate", [8000, 44_100, 96_000])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_any_rate_and_channels(engine, runtime, rate, channels):
    speech = clip().waveform
    waveform = torch.nn.functional.interpolate(speech[None], scale_factor=rate / SAMPLE_RATE)[0].repeat(channels, 1)
    transcribe(engine, runtime, waveform, rate)
    ((audio, *_),) = engine.calls
    assert audio.waveform.shape[0] == 1 and audio.seconds == pytest.approx(speech.shape[-1] / SAMPLE_RATE, abs=0.01)


@pytest.mark.parametrize(
    "waveform", [silence(3), silence(0.02), noise(3), noise(3, 1e-5), 0.5 * torch.sin(torch.arange(48000.0))[None]]
)
def test_without_a_voice_the_transcript_is_empty(engine, runtime, waveform):
    found, report = transcribe(engine, runtime, waveform)
    assert (found.text, found.passages, engine.calls) == ("", (), [])
    assert found.seconds == pytest.approx(waveform.shape[-1] / SAMPLE_RATE)
    assert [warning["code"] for warning in report.warnings] == ["no_speech"]


@pytest.mark.parametrize("decibels", [-50, -30, 0])
def test_quiet_voices_are_heard(engine, runtime, decibels):  # P55
    found, _ = transcribe(engine, runtime, clip().waveform * 10 ** (decibels / 20))
    assert found.passages


def test_without_asking_the_voice_detector_everything_is_heard(engine, runtime):
    found, report = transcribe(engine, runtime, noise(3), is_voice_required=False)
    assert found.passages and report.warnings == []


def test_what_is_heard_where_nobody_speaks_is_left_out_and_told(engine, runtime):
    speech = clip().waveform
    seconds = speech.shape[-1] / SAMPLE_RATE
    waveform = torch.cat([silence(10), speech, silence(10)], dim=1)
    passages = (
        Passage("Thanks for watching!", 1.0, 5.0),
        Passage("He was not", 10.2, 9.8 + seconds),
        Passage("", 11.0, 11.5),
        Passage("Bye.", 10 + seconds + 5, 10 + seconds + 7),  # every voice is told of by now
    )
    engine.transcribe = lambda audio, *_: Transcript("dummy_listener", "en", audio.seconds, passages)
    found, report = transcribe(engine, runtime, waveform)
    assert [passage.text for passage in found.passages] == ["He was not"]
    (warning,) = report.warnings
    assert (warning["code"], warning["items"]) == ("invented", ["Thanks for watching!", "Bye."])


def test_wrong_requests(engine, runtime):
    with pytest.raises(InvalidRequest, match=r'does not know the language "fr"; it knows en, de, jw'):
        transcribe(engine, runtime, noise(1), language="fr")
    with pytest.raises(InvalidRequest, match='options are for engine "whisper"'):
        transcribe(engine, runtime, noise(1), options=Options("whisper"))
    with pytest.raises(InvalidRequest, match=r"The recording is 7.0 h long; the limit is 6 h: cut it"):
        transcribe(engine, runtime, torch.zeros(1, 7 * 3600), rate=1)
    with pytest.raises(Unsupported, match="cannot transcribe; load one for speech recognition"):
        transcribe(LoadedDummy(runtime), runtime, noise(1))


def test_a_cancelled_request_stops_in_the_voice_detector(engine, runtime):
    ctx = runtime.context()
    ctx.cancelled.set()
    with pytest.raises(Cancelled):
        listening.transcribe(engine, Audio(noise(10), SAMPLE_RATE), None, None, ctx)
    assert math.isfinite(ctx.report.audio_seconds) and engine.calls == []
