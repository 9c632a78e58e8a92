"""Stress marks of phoneme strings."""

from __future__ import annotations

from .alphabet import PRIMARY, SECONDARY, VOWELS

_LONG = frozenset("AIOQWYʤʧ")


def weight(phonemes: str) -> int:
    """How heavy a part of a compound is: diphthongs and affricates count double."""
    return sum(2 if c in _LONG else 1 for c in phonemes)


def restress(phonemes: str, level: float | None) -> str:
    """`phonemes` with its stress moved to `level`.

    Args:
        phonemes: A word; marks stand before the stressed vowel.
        level: None keeps all; -2 takes every mark away; -1 makes the primary a secondary and drops secondaries; -0.5
            and 0 do the same where there is a primary; 0, 0.5 and 1 give a secondary to a word without any mark; 1 and
            2 raise a lone secondary; 2 gives a primary to a word without any mark.
    """
    if level is None:
        return phonemes
    primary, secondary = PRIMARY in phonemes, SECONDARY in phonemes
    if level < -1:
        return phonemes.replace(PRIMARY, "").replace(SECONDARY, "")
    if level == -1 or (level in (0, -0.5) and primary):
        return phonemes.replace(SECONDARY, "").replace(PRIMARY, SECONDARY)
    if not primary and not secondary:
        return _before_first_vowel(phonemes, PRIMARY if level > 1 else SECONDARY) if level >= 0 else phonemes
    if level >= 1 and secondary and not primary:
        return phonemes.replace(SECONDARY, PRIMARY)
    return phonemes


def _before_first_vowel(phonemes: str, mark: str) -> str:
    at = next((i for i, c in enumerate(phonemes) if c in VOWELS), None)
    return phonemes if at is None else phonemes[:at] + mark + phonemes[at:]
