"""Recordings become references: every kind that users bring, and every limit of an engine."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mizuoto.engines import reference
from mizuoto.engines.reference import Preparation, check_reference, prepare
from mizuoto.engines.transcript import Passage, Transcript, Word
from mizuoto.mizuoto_runtime import reference as tools
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest
from mizuoto.mizuoto_runtime.loudness import integrated_loudness
from mizuoto.mizuoto_runtime.nn.resample import resample
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.vad import Span
from mizuoto.tests.engines.dummy import MANIFEST

SPEECH = Path(__file__).resolve().parents[1] / "data" / "speech"
RATE = 16000
ENGINE = replace(MANIFEST, sample_rate=24000, reference_seconds=(0.5, 60.0))


@pytest.fixture(scope="module")
def clip():
    """[1, T] of a reader, two seconds."""
    return torch.from_numpy(soundfile.read(SPEECH / "austen-0880.wav", dtype="float32")[0])[None]


@pytest.fixture
def ctx():
    return Runtime(Settings()).context()


@pytest.fixture
def by_level(monkeypatch):
    """Speech is what is loud: for tests that are not about hearing it, and long ones."""

    def find_speech(audio, longest_s, check):
        check()
        frames = (
            audio.waveform[0, : audio.waveform.shape[1] // 160 * 160].reshape(-1, 160).square().mean(1).sqrt() > 0.1
        )
        edges = torch.nn.functional.pad(frames.int(), (1, 1)).diff().nonzero().flatten().tolist()
        seconds = [edge * 160 / audio.sample_rate for edge in edges]
        return [Span(start, end) for start, end in zip(seconds[::2], seconds[1::2], strict=True)]

    monkeypatch.setattr(tools, "find_speech", find_speech)


def silence(seconds):
    return torch.zeros(1, round(seconds * RATE))


def tone(seconds, level=0.3):
    return level * torch.sin(torch.arange(round(seconds * RATE)) * 0.3)[None]


def sentences(*lengths, pause=1.0):
    """Tones with pauses around and between them."""
    return torch.cat([silence(pause), *[part for length in lengths for part in (tone(length), silence(pause))]], dim=1)


def run(waveform, ctx, manifest=ENGINE, words="", heard=None, preparation=Preparation(), hear=None, rate=RATE):  # noqa: B008
    waveforms = waveform if isinstance(waveform, list) else [waveform]
    return prepare([Audio(each, rate) for each in waveforms], manifest, words, heard, preparation, ctx, hear)


def codes(ctx):
    return [warning["code"] for warning in ctx.report.warnings]


def test_a_recording_becomes_mono_trimmed_loud_enough_and_at_the_engines_rate(clip, ctx):
    given_waveform = torch.cat((torch.cat((silence(1.0), clip, silence(1.5)), dim=1),) * 2) * 0.05
    before = given_waveform.clone()
    found = run(given_waveform, ctx, words=" he was ")
    audio = found.audio
    assert audio.sample_rate == 24000 and audio.waveform.shape[0] == 1 and audio.waveform.is_contiguous()
    seconds = clip.shape[1] / RATE
    assert seconds - 0.3 < audio.seconds < seconds + 0.4
    assert integrated_loudness(audio) == pytest.approx(-20.0, abs=0.3) or audio.waveform.abs().max() > 0.85
    assert audio.waveform.abs().max() <= 0.9
    assert audio.waveform[0, 0].abs() < 1e-4 and audio.waveform[0, -1].abs() < 1e-4
    assert found.transcript == "he was"
    assert torch.equal(given_waveform, before)  # P59
    assert found.facts["recorded_channels"] == 2 and found.facts["seconds"] == pytest.approx(audio.seconds, abs=1e-3)


@pytest.mark.parametrize("num_channels", [1, 2, 6])
def test_channels_are_averaged_at_the_same_length(by_level, ctx, num_channels):  # P50, P51
    waveform = torch.cat((tone(1.0, 0.9), *[silence(1.0)] * (num_channels - 1)))
    plain = Preparation(is_trimmed=False, loudness=None)
    found = run(waveform, ctx, manifest=None, preparation=plain)
    assert found.audio.seconds == 1.0 and found.audio.sample_rate == RATE
    assert torch.allclose(found.audio.waveform[:, 100:-100], tone(1.0, 0.9 / num_channels)[:, 100:-100], atol=1e-6)


@pytest.mark.parametrize("rate", [8000, 22050, 44100, 96000])
def test_any_rate_becomes_the_engines(by_level, ctx, rate):  # P57
    waveform = resample(tone(1.0), RATE, rate)
    found = run(waveform, ctx, rate=rate, preparation=Preparation(is_trimmed=False))
    assert found.audio.sample_rate == 24000 and found.audio.seconds == pytest.approx(1.0, abs=1e-3)
    assert ("narrow" in codes(ctx)) == (rate == 8000)


def test_quiet_noise_is_kept_and_silence_refused(ctx):  # P55
    noise = 1e-3 * torch.randn(1, RATE, generator=torch.Generator().manual_seed(0))
    found = run(noise, ctx)
    assert found.audio.seconds == 1.0 and codes(ctx) == ["no_speech"]
    for nothing in (silence(5.0), silence(0.0), 3e-5 * torch.ones(1, RATE)):
        with pytest.raises(InvalidRequest, match="The reference recording is silent"):
            run(nothing, ctx)
    opposite = torch.cat((tone(1.0), -tone(1.0)))
    with pytest.raises(InvalidRequest, match="is silent"):
        run(opposite, ctx)


def test_quiet_speech_is_trimmed_like_loud_speech(clip, ctx):  # P55
    speech = torch.cat((silence(1.0), clip / clip.abs().max(), silence(1.0)), dim=1)
    loud, quiet = run(speech, ctx), run(speech * 1e-3, ctx)
    assert quiet.audio.seconds == pytest.approx(loud.audio.seconds, abs=0.01)
    assert quiet.facts["loudness_lufs"] == pytest.approx(loud.facts["loudness_lufs"], abs=0.05)
    assert "no_speech" not in codes(ctx)


@pytest.mark.parametrize("seconds", [0.05, 2.9, 10.1, 31.0, 600.0])
def test_every_engine_has_its_range_and_the_message_names_it(by_level, ctx, seconds):  # P54
    limits = (3.0, 30.0)
    manifest = replace(ENGINE, reference_seconds=limits, name="Parrot")
    rate = RATE if seconds < 100 else 2000
    recording = Audio(tone(seconds * rate / RATE), rate)
    if limits[0] <= seconds <= limits[1]:
        assert torch.equal(check_reference(recording, manifest).waveform, recording.waveform)
    else:
        with pytest.raises(InvalidRequest, match=rf"is {seconds:.1f} s long and Parrot takes 3 to 30 s"):
            check_reference(recording, manifest)
    if seconds < limits[0]:
        with pytest.raises(InvalidRequest, match=rf"is left of the recording is {seconds:.1f} s long and Parrot takes"):
            run(recording.waveform, ctx, manifest, rate=rate)
    else:
        found = run(recording.waveform, ctx, manifest, rate=rate).audio
        assert found.seconds == pytest.approx(min(seconds, limits[1]), abs=0.02)
        check_reference(found, manifest)
    with pytest.raises(InvalidRequest, match="takes at least 5 s"):
        check_reference(Audio(tone(1.0), RATE), replace(manifest, reference_seconds=(5.0, math.inf)))


def test_the_limit_may_be_lowered_but_not_below_the_engines(by_level, ctx):
    found = run(sentences(2.0, 2.0, 2.0), ctx, preparation=Preparation(max_seconds=5.5))
    assert 5.0 <= found.audio.seconds <= 5.5
    with pytest.raises(InvalidRequest, match=r"max_seconds is 0\.3 and Dummy takes at least 0\.5 s"):
        run(tone(1.0), ctx, preparation=Preparation(max_seconds=0.3))


def heard_words(seconds):
    """A word in the middle of every second."""
    words = tuple(Word(f"w{second}", second + 0.3, second + 0.7, 0.9) for second in range(int(seconds)))
    return Transcript("ear", "en", seconds, (Passage(" ".join(word.text for word in words), 0.0, seconds, words),))


LONG = Preparation(max_seconds=5.5)


def test_the_words_follow_the_cut(by_level, ctx):  # P53
    waveform = sentences(2.0, 2.0, 2.0)
    seconds = waveform.shape[1] / RATE
    found = run(waveform, ctx, words="the full text", heard=heard_words(seconds), preparation=LONG)
    start = found.facts["start"]
    inside = [f"w{second}" for second in range(int(seconds)) if start <= second + 0.5 <= start + found.audio.seconds]
    assert found.transcript.split() == inside and 4 <= len(inside) < seconds
    assert codes(ctx) == ["window"]


def test_a_cut_recording_never_keeps_the_full_text(by_level, ctx):  # P53
    waveform = sentences(2.0, 2.0, 2.0)
    with pytest.raises(InvalidRequest, match="its transcript does not tell which words are left; connect"):
        run(waveform, ctx, words="the full text", preparation=LONG)
    without_times = replace(heard_words(10.0), passages=(Passage("the full text", 0.0, 10.0),))
    with pytest.raises(InvalidRequest, match="does not tell which words are left"):
        run(waveform, ctx, heard=without_times, preparation=LONG)
    asked = []

    def hear(audio):
        asked.append(audio)
        return " what is left "

    found = run(waveform, ctx, words="the full text", preparation=LONG, hear=hear)
    assert found.transcript == "what is left" and asked == [found.audio]
    assert run(waveform, ctx, preparation=LONG).transcript == ""  # there never were any words


def test_a_whole_recording_keeps_its_words_and_unknown_ones_are_heard(by_level, ctx):
    waveform = sentences(2.0)
    heard = heard_words(4.0)
    assert run(waveform, ctx, words="typed", heard=heard, hear=lambda audio: "heard").transcript == "typed"
    assert run(waveform, ctx, heard=heard, hear=lambda audio: "heard").transcript == heard.text
    assert run(waveform, ctx, hear=lambda audio: "heard").transcript == "heard"
    assert run(waveform, ctx).transcript == ""


def test_a_transcript_of_another_recording_is_refused(by_level, ctx):
    with pytest.raises(InvalidRequest, match=r"is of a recording of 9\.0 s and the audio is one of 4\.0 s"):
        run(sentences(2.0), ctx, heard=heard_words(9.0))
    with pytest.raises(InvalidRequest, match=r"the audio is recordings of 8\.0 s"):
        run([sentences(2.0), sentences(2.0)], ctx, heard=heard_words(8.0))


def test_a_batch_becomes_one_recording(by_level, ctx):
    found = run([sentences(1.0), silence(2.0), 0.6 * sentences(2.0)], ctx)
    margins = 4 * tools.MARGIN_S
    assert found.audio.seconds == pytest.approx(3.0 + margins + tools.PAUSE_S, abs=0.05)
    assert codes(ctx)[0] == "batch"
    first, last = found.audio.waveform[0, :24000], found.audio.waveform[0, -24000:]
    assert float(first.abs().max()) == pytest.approx(float(last.abs().max()), rel=0.15)  # each is brought to the level


def test_a_good_recording_is_not_complained_about(clip, ctx):
    assert run(clip, ctx).facts["noise_below_speech_db"] > 20 and codes(ctx) == []


def test_clipping_and_noise_are_reported(by_level, ctx):
    clipped = (sentences(1.0) * 5).clamp(-1, 1)
    assert run(clipped, ctx).facts["clipped_share"] > 0.1
    noise = 0.06 * torch.randn(clipped.shape, generator=torch.Generator().manual_seed(0)).clamp(-1, 1)
    facts = run(sentences(1.0) + noise, ctx).facts
    assert 8 < facts["noise_below_speech_db"] < 15 and facts["clipped_share"] == 0
    assert codes(ctx) == ["clipped", "noisy"]


def test_values_beyond_full_scale_come_back_into_it(by_level, ctx):  # P59
    loud = sentences(1.0) * 10
    for loudness in (None, -20.0):
        found = run(loud, ctx, preparation=Preparation(loudness=loudness))
        assert found.audio.waveform.abs().max() <= 0.92
    quiet = run(sentences(1.0), ctx, manifest=None, preparation=Preparation(loudness=None))
    assert float(quiet.audio.waveform.abs().max()) == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize("num_channels", [1, 6])
def test_two_hours_are_refused_before_anything_is_copied(ctx, num_channels):  # P09
    endless = torch.zeros(1, 1).expand(num_channels, 2 * 3600 * 48000)
    with pytest.raises(InvalidRequest, match="is 120 minutes long and the limit is 30"):
        run(endless, ctx, rate=48000)
    with pytest.raises(InvalidRequest, match=r"7200\.0 s long and Dummy takes"):
        check_reference(Audio(endless, 48000), ENGINE)


def test_it_can_be_cancelled(clip, ctx):
    ctx.cancelled.set()
    with pytest.raises(Cancelled):
        run(clip, ctx)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(0.6, 4.0), min_size=1, max_size=5), st.floats(5.0, 12.0), st.floats(-35, -14))
def test_within_the_limit_at_the_loudness_and_nothing_more_to_do_the_second_time(by_level, lengths, limit, loudness):
    wanted = Preparation(max_seconds=limit, loudness=loudness)
    once = run(sentences(*lengths), Runtime(Settings()).context(), manifest=None, preparation=wanted)
    assert once.audio.seconds <= limit
    reached = integrated_loudness(once.audio)
    peak = float(once.audio.waveform.abs().max())
    assert reached == pytest.approx(loudness, abs=0.3) or peak == pytest.approx(
        10 ** (reference.PEAK_DBFS / 20), rel=0.01
    )
    again = run(
        once.audio.waveform, Runtime(Settings()).context(), manifest=None, preparation=replace(wanted, is_trimmed=False)
    )
    assert again.audio.seconds == once.audio.seconds
    assert integrated_loudness(again.audio) == pytest.approx(reached, abs=0.1)
