import warnings

import pytest
import torch
from mizuoto.mizuoto_runtime.reference.silence import (
    Clip,
    sounding_ranges,
    split_at_silence,
    trim_edges,
    without_silence,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about programs that only other formats need
    from pydub import AudioSegment
    from pydub.silence import detect_leading_silence, detect_nonsilent, split_on_silence

RATES = (24000, 16000, 44100, 11025)


def segment(clip):
    return AudioSegment(data=clip.samples.numpy().tobytes(), sample_width=2, frame_rate=clip.sample_rate, channels=1)


def samples(found):
    return torch.tensor(found.get_array_of_samples().tolist(), dtype=torch.int16)


def clips():
    """Noise with gaps of many lengths and levels around the limit, whole milliseconds or not."""
    for seed in range(24):
        generator = torch.Generator().manual_seed(seed)
        rate = RATES[seed % len(RATES)]
        pieces = []
        for _ in range(int(torch.randint(1, 7, (), generator=generator))):
            length = int(rate * 0.9 * torch.rand((), generator=generator))
            level = (0.0, 1e-4, 0.0031, 0.0033, 0.2)[int(torch.randint(0, 5, (), generator=generator))]
            pieces.append(level * torch.randn(length, generator=generator))
        yield Clip.from_waveform(torch.cat(pieces), rate)
    yield Clip.from_waveform(torch.zeros(24000), 24000)
    yield Clip.from_waveform(torch.zeros(7), 24000)
    yield Clip.from_waveform(3.0 * torch.ones(2400), 24000)


@pytest.mark.parametrize("clip", list(clips()))
def test_everything_equals_pydub(clip):
    theirs = segment(clip)
    assert clip.length == len(theirs)
    for shortest, decibels in ((100, -40), (200, -50)):
        expected = detect_nonsilent(theirs, min_silence_len=shortest, silence_thresh=decibels, seek_step=10)
        assert sounding_ranges(clip, shortest, decibels) == [tuple(pair) for pair in expected]
        parts = split_on_silence(
            theirs, min_silence_len=shortest, silence_thresh=decibels, keep_silence=shortest, seek_step=10
        )
        ours = split_at_silence(clip, shortest, decibels, shortest)
        assert [part.samples.tolist() for part in ours] == [samples(part).tolist() for part in parts]
    assert torch.equal(trim_edges(clip, 30, 50).samples, samples(trimmed(theirs, 30, 50)))


def trimmed(found, lead, trail):
    for kept in (lead, trail):
        found = found[max(0, detect_leading_silence(found, silence_threshold=-50) - kept) :].reverse()
    return found


def test_pauses_are_shortened_and_ends_cut():
    time = torch.arange(72_000) / 24000
    waveform = 0.3 * torch.sin(2000 * time) * ((time > 0.5) & ((time < 1) | (time > 2)) & (time < 2.5))
    found = without_silence(waveform, 24000, middle=200, lead=100, trail=50)
    assert found.dtype == torch.float32 and len(found) / 24000 == pytest.approx(0.1 + 0.5 + 0.4 + 0.5 + 0.05, abs=0.03)
    assert torch.equal(found * 32768, (found * 32768).round())
    assert len(without_silence(torch.zeros(24000), 24000, middle=200, lead=0, trail=0)) == 0
