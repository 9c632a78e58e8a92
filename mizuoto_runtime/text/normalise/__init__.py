"""Numbers, dates, money, units, short forms, addresses and signs in words, for English and Chinese.

    normalise("Dr. Smith paid $50 on 2024/10/01.", "en")
    normalise("我买了2个，打8折。", "zh")

Small and pure: a few tables, and rules that are applied once from left to right. The optional package `wetext` does the
same with large automata: `normalise(text, language, engine="wetext")`.
"""

from .language import guess_language
from .tags import tag_spans
from .text import ENGINES, normalise
from .wetext import require_wetext

__all__ = ["ENGINES", "guess_language", "normalise", "require_wetext", "tag_spans"]
