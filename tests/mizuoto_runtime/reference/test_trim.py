"""Trimming takes silence and noise, and never speech."""

import math

import pytest
import torch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.reference import MARGIN_S, find_speech, outline
from mizuoto.mizuoto_runtime.vad import Span

RATE = 16000


def go_on():
    """Nothing to check."""


def silence(seconds):
    return torch.zeros(1, round(seconds * RATE))


def noise(seconds, level):
    return level * torch.randn(1, round(seconds * RATE), generator=torch.Generator().manual_seed(3))


def speech_of(*pieces, longest=math.inf):
    audio = Audio(torch.cat(pieces, dim=1), RATE)
    spans = find_speech(audio, longest, go_on)
    return outline(audio, spans), spans


@pytest.mark.parametrize("level_db", [0, -60])
def test_silence_goes_and_speech_stays_however_quiet(clip, level_db):  # P55
    speech = clip.waveform / clip.waveform.abs().max() * 10 ** (level_db / 20)
    kept, _ = speech_of(silence(2.0), speech, silence(2.5))
    assert 2.0 - MARGIN_S - 0.1 < kept.start <= 2.1
    assert 2.0 + clip.seconds - 0.3 <= kept.end < 2.0 + clip.seconds + MARGIN_S + 0.1


@pytest.mark.parametrize(("level_db", "is_first"), [(-30, True), (-50, True), (-50, False)])
def test_a_whisper_beside_a_shout_stays(clip, level_db, is_first):
    loud = clip.waveform / clip.waveform.abs().max()
    quiet = loud * 10 ** (level_db / 20)
    pieces = (quiet, silence(1.0), loud) if is_first else (loud, silence(1.0), quiet)
    kept, spans = speech_of(silence(1.0), *pieces, silence(1.0))
    assert kept.start <= 1.1 and kept.end >= 1.0 + 2 * clip.seconds + 1.0 - 0.3
    assert spans == sorted(spans, key=lambda span: span.start)


def test_noise_around_speech_goes(clip):
    level = float(clip.waveform.abs().max()) * 0.01
    kept, _ = speech_of(noise(2.0, level), clip.waveform, noise(2.0, level))
    assert 1.5 < kept.start <= 2.1 and 2.0 + clip.seconds - 0.3 <= kept.end < 2.5 + clip.seconds


def test_where_nobody_speaks_everything_stays():  # P55
    for nothing in (noise(5.0, 1e-3), silence(5.0), silence(0.05), silence(0.0)):
        kept, spans = speech_of(nothing)
        assert spans == [] and kept == Span(0.0, nothing.shape[1] / RATE)


def test_long_speech_is_split(clip):
    _, spans = speech_of(*[clip.waveform] * 2, longest=3.0)
    assert len(spans) > 1 and all(span.seconds <= 3.0 for span in spans)


def test_it_can_be_interrupted(clip):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_speech(clip, math.inf, stop)
