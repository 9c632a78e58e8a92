"""Where long recordings are cut: as upstream does, in quiet places, and nothing is lost."""

import functools
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from mizuoto.engines.qwen3_asr.pieces import MARGIN_S, SHORTEST_SAMPLES, SUBTITLE_S, pieces, spoken_pieces
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.mizuoto_runtime.vad import speech_spans
from mizuoto.tests.engines.qwen3_asr import oracle

SPEECH = Path(__file__).resolve().parents[2] / "data" / "speech"


@functools.cache
def joined(times=4):
    """Real speech, about a minute of it."""
    clips = [soundfile.read(path, dtype="float32")[0] for path in sorted(SPEECH.glob("*.wav"))]
    return np.concatenate(clips * times)


@pytest.mark.parametrize("max_seconds", [10.0, 11.7, 20.0, 30.0])
def test_real_speech_is_cut_as_upstream_does(max_seconds):
    waveform = joined()
    found = pieces(torch.from_numpy(waveform), max_seconds)
    expected = oracle.split_audio_into_chunks(waveform, 16000, max_seconds)
    assert len(found) == len(expected) > 1
    for piece, (samples, start) in zip(found, expected, strict=True):
        assert np.array_equal(piece.waveform.numpy(), samples)
        assert piece.start == pytest.approx(start)
    together = torch.cat([piece.waveform for piece in found]).numpy()
    assert np.array_equal(together[: len(waveform)], waveform)
    assert not together[len(waveform) :].any()  # what follows a last part that is too short


def test_cuts_are_quiet():
    loudness = np.abs(joined())
    for piece in pieces(torch.from_numpy(joined()), 10.0)[1:]:
        place = round(piece.start * 16000)
        assert loudness[place - 200 : place + 200].mean() < 0.2 * loudness.mean()


@pytest.mark.parametrize("extra", [0, 1, 500, 3 * 16000])
@pytest.mark.parametrize("kind", ["speech", "silence"])
def test_around_the_longest_length(extra, kind):
    waveform = joined()[: 10 * 16000 + extra] * (kind == "speech")
    found = pieces(torch.from_numpy(waveform), 10.0)
    expected = oracle.split_audio_into_chunks(waveform, 16000, 10.0)
    assert [piece.waveform.tolist() for piece in found] == [samples.tolist() for samples, _ in expected]
    assert found[-1].end == len(waveform) / 16000
    assert sum(piece.seconds for piece in found) == pytest.approx(len(waveform) / 16000)


@pytest.mark.parametrize(("samples", "length"), [(1, SHORTEST_SAMPLES), (200, SHORTEST_SAMPLES), (201, 201)])
def test_what_has_no_spectrogram_is_followed_by_silence(samples, length):
    (piece,) = pieces(torch.ones(samples), 1200.0)
    assert piece.waveform.tolist() == [1.0] * samples + [0.0] * (length - samples)
    assert (piece.start, piece.end) == (0.0, samples / 16000)


@pytest.mark.parametrize("max_seconds", [10.0, 1200.0])
def test_speech_is_cut_in_its_pauses_and_all_of_it_is_there(max_seconds):
    silence = np.zeros(5 * 16000, np.float32)
    waveform = torch.from_numpy(np.concatenate([silence, joined(2), silence]))
    found = spoken_pieces(waveform, max_seconds, Runtime(Settings()).context())
    spans = speech_spans(Audio(waveform[None], 16000), is_levelled=True)
    assert len(found) > 1
    for piece in found:
        assert piece.seconds <= min(max_seconds, SUBTITLE_S) + 1e-6
        assert piece.waveform.numel() == pytest.approx(piece.seconds * 16000, abs=1)
    for before, after in pairwise(found):
        assert before.end <= after.start + 1e-6
    for span in spans:
        assert (
            sum(min(span.end, piece.end) - max(span.start, piece.start) > span.seconds - 0.05 for piece in found) == 1
        )
    assert found[0].start >= 5.0 - MARGIN_S and found[-1].end <= waveform.numel() / 16000 - 4.5


def test_silence_has_no_pieces():
    assert spoken_pieces(torch.zeros(48000), 30.0, Runtime(Settings()).context()) == []
