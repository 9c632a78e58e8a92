"""The phoneme alphabet of Kokoro-82M (misaki's) and the roles of its characters.

Capital letters are diphthongs ("A" as in day) or a tap ("T"); every other character is IPA.
"""

from __future__ import annotations

PRIMARY, SECONDARY = "ˈ", "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ")
CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")
PAUSES = frozenset(";:,.!?—…")
"""What follows after a pause does not colour "the" or "to" before it."""
QUOTES = frozenset('"“”')
SILENT_JOINTS = frozenset("',-._‘’/")
"""Characters that join the parts of a written word and are not read themselves."""

LETTER = r"[^\W\d_]"
LOWER, UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
"""Insides of regular-expression sets."""
