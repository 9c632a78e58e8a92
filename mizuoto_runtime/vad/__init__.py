"""Voice activity detection: where in a recording somebody speaks."""

from .network import SECONDS_A_CHECK
from .spans import Span, SpeechRules, spans_of
from .speech import speech_probabilities, speech_spans

__all__ = ["SECONDS_A_CHECK", "Span", "SpeechRules", "spans_of", "speech_probabilities", "speech_spans"]
