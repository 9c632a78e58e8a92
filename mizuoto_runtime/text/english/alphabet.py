"""The phoneme alphabet of Kokoro-82M (misaki's) and the roles of its characters.

Capital letters are diphthongs ("A" as in day) or a tap ("T"); every other character is IPA.
"""

from __future__ import annotations

import unicodedata

PRIMARY, SECONDARY = "ˈ", "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ")
CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")
SOUNDS = frozenset("AIOQSTWYabcdefhijklmnopqrstuvwxyzæçðøŋœɐɑɒɔɕɖəɚɛɜɟɡɣɤɥɨɪɯɰɲɳɴɸɹɻɽɾʁʂʃʈʊʋʌʎʒʔʝʣʤʥʦʧʨβθχᵊᵝᵻꭧ")
"""All letters of the alphabet, which phonemes given in the text may use."""
PAUSES = frozenset(";:,.!?—…")
"""What follows after a pause does not colour "the" or "to" before it."""
QUOTES = frozenset('"“”')
MARKS = frozenset(PRIMARY + SECONDARY + "ːʰʲ\u0303↓→↗↘() ")
"""What else may stand between sounds."""
SILENT_JOINTS = frozenset("',-._‘’/")
"""Characters that join the parts of a written word and are not read themselves."""

LETTER = r"[^\W\d_]"
LOWER, UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
"""Insides of regular-expression sets."""


def is_latin(c: str) -> bool:
    """Whether `c` is a Latin letter or no letter of any script."""
    plain = unicodedata.normalize("NFKC", c)[0]
    return unicodedata.category(plain) not in ("Lu", "Ll", "Lt", "Lo") or unicodedata.name(plain, "").startswith(
        "LATIN"
    )
