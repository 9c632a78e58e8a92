"""Stretches of speech: the same lists as Silero's."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.vad import Span, SpeechRules, spans_of
from mizuoto.mizuoto_runtime.vad.network import SAMPLE_RATE, WINDOW
from silero_vad import get_speech_timestamps_from_probs


def theirs(probabilities, num_samples, rules):
    found = get_speech_timestamps_from_probs(
        probabilities,
        threshold=rules.threshold,
        neg_threshold=rules.exit_threshold,
        min_speech_duration_ms=rules.min_speech_s * 1000,
        max_speech_duration_s=rules.max_speech_s,
        min_silence_duration_ms=rules.min_silence_s * 1000,
        speech_pad_ms=rules.pad_s * 1000,
        audio_length_samples=num_samples,
    )
    return [Span(span["start"] / SAMPLE_RATE, span["end"] / SAMPLE_RATE) for span in found]


@st.composite
def probabilities(draw):
    """Runs of speech, of hesitation and of silence, as recordings have them."""
    levels = st.sampled_from([0.0, 0.2, 0.34, 0.36, 0.49, 0.5, 0.9, 1.0])
    runs = draw(st.lists(st.tuples(levels, st.integers(1, 40)), max_size=12))
    return [level for level, length in runs for _ in range(length)]


@settings(max_examples=200, deadline=None)
@given(
    probabilities(),
    st.integers(0, WINDOW - 1),
    st.builds(
        SpeechRules,
        threshold=st.sampled_from([0.5, 0.3, 0.1]),
        exit_threshold=st.sampled_from([None, None, 0.2]),
        min_speech_s=st.sampled_from([0.25, 0.0, 0.5]),
        max_speech_s=st.sampled_from([math.inf, 0.5, 1.0, 2.0]),
        min_silence_s=st.sampled_from([0.1, 0.5, 0.032]),
        pad_s=st.sampled_from([0.03, 0.0, 0.2]),
    ),
)
def test_equal_to_silero_whatever_the_probabilities(given_probabilities, missing, rules):
    num_samples = max(0, len(given_probabilities) * WINDOW - missing)
    assert spans_of(given_probabilities, num_samples, rules) == theirs(given_probabilities, num_samples, rules)


def test_a_span_knows_its_length():
    assert Span(1.0, 2.5).seconds == 1.5
