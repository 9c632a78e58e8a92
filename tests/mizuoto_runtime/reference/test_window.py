"""The window of a long recording: within the limit, in pauses, full of speech, and clean."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.reference import best_window
from mizuoto.mizuoto_runtime.vad import Span

RATE = 1000


def recording(seconds, spans=(), speech=0.3, noise=1e-3):
    draws = torch.Generator().manual_seed(2)
    waveform = noise * torch.randn(1, round(seconds * RATE), generator=draws)
    for span in spans:
        part = slice(round(span.start * RATE), round(span.end * RATE))
        waveform[:, part] = speech * torch.sin(torch.arange(waveform[:, part].shape[1]) * 0.7)
    return Audio(waveform, RATE)


@st.composite
def speech(draw):
    """(spans, seconds)"""
    spans, now = [], draw(st.floats(0.0, 3.0))
    for _ in range(draw(st.integers(0, 12))):
        end = now + draw(st.floats(0.3, 6.0))
        spans.append(Span(now, end))
        now = end + draw(st.floats(0.01, 4.0))
    return spans, now + draw(st.floats(0.05, 2.0))


@settings(max_examples=60, deadline=None)
@given(speech(), st.floats(1.0, 15.0))
def test_within_the_limit_and_in_pauses(case, limit):
    spans, seconds = case
    window = best_window(recording(seconds, spans), spans, limit)
    assert -1e-6 <= window.start < window.end <= seconds + 0.01
    assert window.seconds <= limit + 1e-6
    for span in spans:
        if span.seconds <= limit:  # a longer one must be cut
            assert not span.start + 1e-6 < window.start < span.end - 1e-6
        if all(other.seconds <= limit for other in spans):
            assert not span.start + 1e-6 < window.end < span.end - 1e-6


@settings(max_examples=40, deadline=None)
@given(speech(), st.floats(2.0, 15.0))
def test_nearly_as_much_speech_as_can_be(case, limit):
    spans, seconds = case
    window = best_window(recording(seconds, spans), spans, limit)
    held = sum(max(0.0, min(span.end, window.end) - max(span.start, window.start)) for span in spans)
    runs = [
        sum(span.seconds for span in spans[first : last + 1])
        for first in range(len(spans))
        for last in range(first, len(spans))
        if spans[last].end - spans[first].start <= limit
    ]
    assert held >= 0.9 * max(runs, default=0.0) - 1e-6 or seconds <= limit


def test_a_short_recording_is_its_own_window():
    assert best_window(recording(3.0), [Span(1.0, 2.0)], 3.0) == Span(0.0, 3.0)


def test_of_much_speech_the_clean_is_taken():
    spans = [Span(1.0, 5.0), Span(8.0, 12.0), Span(15.0, 19.0)]
    quiet = recording(20.0, spans)
    noisy = recording(20.0, spans, noise=0.05).waveform
    clean_middle = noisy.clone()
    clean_middle[:, 7000:13000] = quiet.waveform[:, 7000:13000]
    assert 7.5 < best_window(Audio(clean_middle, RATE), spans, 5.0).start < 8.0
    clipped = quiet.waveform.clone()
    clipped[:, 1000:5000] = (10 * clipped[:, 1000:5000]).clamp(-1, 1)
    clipped[:, 8000:12000] = (10 * clipped[:, 8000:12000]).clamp(-1, 1)
    assert 14.5 < best_window(Audio(clipped, RATE), spans, 5.0).start < 15.0


def test_where_nobody_speaks_the_loudest_passage_is_taken():
    audio = recording(20.0)
    audio.waveform[:, 12000:14000] += 0.5
    window = best_window(audio, [], 3.0)
    assert window.start <= 12.0 and window.end >= 14.0 and window.seconds == pytest.approx(3.0)
