"""Voice activity detection: where in a recording somebody speaks."""

from .spans import Span, SpeechRules, spans_of
from .speech import speech_probabilities, speech_spans

__all__ = ["Span", "SpeechRules", "spans_of", "speech_probabilities", "speech_spans"]
