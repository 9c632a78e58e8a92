"""Speech in recordings: Silero's lists, at any rate, and at any level where that is asked."""

import math

import pytest
import torch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.nn.resample import resample
from mizuoto.mizuoto_runtime.vad import Span, SpeechRules, speech_spans
from silero_vad import get_speech_timestamps


@pytest.mark.parametrize(
    ("max_speech_s", "names"),
    [(math.inf, ["joined", "quiet", "noise", "silence", "less than a window"]), (2.0, ["without pauses"])],
)
def test_spans_equal_silero(recordings, silero, max_speech_s, names):
    for name in names:
        waveform = recordings[name]
        expected = get_speech_timestamps(waveform, silero, max_speech_duration_s=max_speech_s)
        found = speech_spans(Audio(waveform[None], 16000), SpeechRules(max_speech_s=max_speech_s))
        assert found == [Span(span["start"] / 16000, span["end"] / 16000) for span in expected], name


@pytest.mark.parametrize("level_db", [-60, -50, 10])
def test_quiet_speech_is_as_much_speech_as_loud(recordings, level_db):  # P55
    loud = Audio(recordings["one clip"][None] / recordings["one clip"].abs().max(), 16000)
    quiet = Audio(loud.waveform * 10 ** (level_db / 20), 16000)
    assert speech_spans(quiet, is_levelled=True) == speech_spans(loud, is_levelled=True) != []


def test_level_is_what_the_network_alone_depends_on(recordings):  # or `is_levelled` would be for nothing
    quiet = Audio(recordings["one clip"][None] * 3e-4, 16000)
    assert speech_spans(quiet) != speech_spans(quiet, is_levelled=True)


def test_silence_and_noise_are_no_speech_however_quiet(recordings):
    for waveform in (recordings["silence"], recordings["noise"] * 1e-2, recordings["noise"] * 1e-4):
        assert speech_spans(Audio(waveform[None], 16000), is_levelled=True) == []


@pytest.mark.parametrize("rate", [8000, 48000])
def test_other_rates_and_channels(recordings, rate):
    speech = torch.nn.functional.pad(recordings["one clip"], (8000, 8000))
    expected = speech_spans(Audio(speech[None], 16000))
    other = resample(speech[None], 16000, rate)
    found = speech_spans(Audio(torch.cat((other, 0 * other)) * 2, rate))
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        assert one.start == pytest.approx(two.start, abs=0.1)
        assert one.end == pytest.approx(two.end, abs=0.1)


def test_the_recording_is_left_alone(recordings):
    waveform = recordings["one clip"][None].clone()
    speech_spans(Audio(waveform, 16000), is_levelled=True)
    assert torch.equal(waveform[0], recordings["one clip"])
