"""The reading of one word: dictionaries, endings, spelled letters, numbers, words that heed their neighbours."""

from __future__ import annotations

import re
import unicodedata

from .alphabet import PRIMARY, SECONDARY
from .dictionary import Dictionary
from .digits import CURRENCIES, PLURAL_MARK, is_number, number_words
from .inflect import AMERICAN, INFLECTIONS, Accent, past_sound, plural_sound, progressive_sound
from .pieces import Ahead, Piece
from .stress import restress

_SIGN_WORDS = {"%": "percent", "&": "and", "+": "plus", "@": "at"}
_ADDRESS_WORDS = {".": "dot", "/": "slash"}
_WORD_CLASSES = (("VB", "VERB"), ("NN", "NOUN"), ("ADV", "ADV"), ("RB", "ADV"), ("ADJ", "ADJ"), ("JJ", "ADJ"))


def word_class(tag: str | None) -> str | None:
    """The class of a tag: "VERB" for "VBD" and so on; other tags as they are."""
    return next((name for prefix, name in _WORD_CLASSES if tag and tag.startswith(prefix)), tag)


def _plain(word: str) -> str:
    """Compatibility forms unfolded, apostrophes and digits in ASCII."""
    word = unicodedata.normalize("NFKC", word.replace("‘", "'").replace("’", "'"))
    return "".join(str(unicodedata.digit(c)) if c.isdigit() and not c.isascii() else c for c in word)


class Lexicon:
    """Reads words that are in the dictionaries or can be derived from them.

    Args:
        gold: Checked by hand; its readings come first.
        silver: Larger; not used for capitals that stand for a name.
        accent: Theirs.
    """

    def __init__(self, gold: Dictionary, silver: Dictionary, accent: Accent = AMERICAN):
        self._gold, self._silver, self._accent = gold, silver, accent

    def __call__(self, piece: Piece, ahead: Ahead) -> str | None:
        """The phonemes of `piece`, or None if it is unknown."""
        word = _plain(piece.alias or piece.text)
        level = None if word == word.lower() else 2 if word == word.upper() else 0.5
        found = self._word(word, piece.tag, level, ahead)
        if found is not None:
            return f"{found} {self._plural(CURRENCIES[piece.currency][0])}" if piece.currency else found
        return self.number(word, piece.currency, piece.first) if is_number(word, piece.first) else None

    def spell(self, letters: str) -> str | None:
        """The names of the letters, stressed on the last; None if one has no name."""
        names = [self._gold.get(c.upper()) for c in letters if c.isalpha()]
        sounds = [name for name in names if isinstance(name, str)]
        if not sounds or len(sounds) < len(names):
            return None
        head, mark, last = restress("".join(sounds), 0).rpartition(SECONDARY)
        return head + (PRIMARY if mark else "") + last

    def number(self, word: str, currency: str | None = None, first: bool = True) -> str:
        """The phonemes of a word for which `is_number` holds."""
        sign, digits, suffix = re.fullmatch(r"(-?)(.*?)([a-z']*)", word, re.S).groups()  # type: ignore[union-attr]
        spoken = [self._say("minus")] if sign else []
        spoken += [self._number_word(name) for name in number_words(digits, suffix, currency, first, bool(sign))]
        reading = " ".join(spoken)
        if suffix in ("s", "'s"):
            return plural_sound(reading, self._accent)
        if suffix in ("ed", "'d"):
            return past_sound(reading, self._accent)
        return (progressive_sound(reading, self._accent) if suffix == "ing" else None) or reading

    def _number_word(self, name: str) -> str:
        if name.endswith(PLURAL_MARK):
            return self._plural(name.removesuffix(PLURAL_MARK))
        return self._say(name, -2 if name in ("point", "O") else None)

    # ---- single entries

    def _known(self, word: str) -> bool:
        if word in self._gold or word in _SIGN_WORDS or word in self._silver:
            return True
        if not re.fullmatch(r"[A-Za-z]+", word):
            return False
        can_be_spelled = word[1:] == word[1:].upper()  # initials, acronyms
        return can_be_spelled or (word == word.upper() and word.lower() in self._gold)

    def _entry(
        self, word: str, tag: str | None = None, level: float | None = None, ahead: Ahead | None = None
    ) -> str | None:
        """The dictionary's reading, chosen by part of speech; names in capitals without a stressed one are spelled."""
        is_name = False
        if word == word.upper() and word not in self._gold:
            word, is_name = word.lower(), tag == "NNP"
        found = self._gold.get(word)
        if found is None and not is_name:
            found = self._silver.get(word)
        if isinstance(found, dict):
            at_pause = ahead is not None and ahead.vowel is None and "None" in found
            key = "None" if at_pause else tag if tag in found else word_class(tag)
            found = found.get(key or "DEFAULT", found["DEFAULT"])
        if found is None or (is_name and PRIMARY not in found):
            spelled = self.spell(word)
            if spelled is not None:
                return spelled
        return None if found is None else restress(found, level)

    def _say(self, word: str, level: float | None = None) -> str:
        """The reading of a word that the dictionary must have."""
        found = self._entry(word, None, level)
        if found is None:
            raise LookupError(f'The dictionary has no "{word}", which numbers and signs are read with.')
        return found

    def _plural(self, word: str) -> str:
        return plural_sound(self._say(word), self._accent)

    # ---- words

    def _word(self, word: str, tag: str, level: float | None, ahead: Ahead) -> str | None:
        special = self._special(word, tag, level, ahead)
        if special is not None:
            return special
        if self._lower_is_the_word(word, tag):
            word = word.lower()
        forms = [word]
        if word.endswith("s'"):
            forms.append(word[:-2] + "'s")
        if word.endswith("'"):
            forms.append(word[:-1])
        for form in forms:
            if self._known(form):
                return self._entry(form, tag, level, ahead)
        return self._inflected(word, tag, level, ahead)

    def _inflected(self, word: str, tag: str, level: float | None, ahead: Ahead) -> str | None:
        for stems, sound in INFLECTIONS:
            stem = next(filter(self._known, stems(word)), None)
            if stem is not None:
                stem_level = 0.5 if sound is progressive_sound and level is None else level
                base = self._entry(stem, tag, stem_level, ahead)
                found = sound(base, self._accent) if base else None
                if found:
                    return found
        return None

    def _lower_is_the_word(self, word: str, tag: str) -> bool:
        """Capitals at the start of a sentence or in a shout; short proper nouns may be initials."""
        if (
            len(word) < 2
            or word == word.lower()
            or not word.replace("'", "").isalpha()
            or (tag == "NNP" and len(word) <= 7)
        ):
            return False
        if word in self._gold or word in self._silver or not (word == word.upper() or word[1:] == word[1:].lower()):
            return False
        lower = word.lower()
        return lower in self._gold or lower in self._silver or self._inflected(lower, tag, None, Ahead()) is not None

    def _special(self, word: str, tag: str, level: float | None, ahead: Ahead) -> str | None:
        """Signs, dotted letters, and words whose sound depends on their neighbours or on being a letter."""
        if tag == "ADD" and word in _ADDRESS_WORDS:
            return self._say(_ADDRESS_WORDS[word], -0.5)
        if word in _SIGN_WORDS:
            return self._say(_SIGN_WORDS[word])
        if "." in word.strip(".") and word.replace(".", "").isalpha() and max(map(len, word.split("."))) < 3:
            return self.spell(word)  # U.S., e.g.
        if word in ("used", "Used", "USED"):
            return self._entry("used", "VBD" if tag in ("VBD", "JJ") and ahead.to else None)
        if tag == "IN" and word.lower() in ("vs", "vs."):
            return self._say("versus")
        return self._article_or_pronoun(word, tag) or self._before_sounds(word, tag, level, ahead)

    def _article_or_pronoun(self, word: str, tag: str) -> str | None:
        if word in ("a", "A"):
            return "ɐ" if tag == "DT" else "ˈA"
        if word in ("an", "An", "AN"):
            return self.spell(word) if word == "AN" and tag.startswith("NN") else "ɐn"
        if word == "I" and tag == "PRP":
            return SECONDARY + "I"
        return "bˈI" if word in ("by", "By", "BY") and word_class(tag) == "ADV" else None

    def _before_sounds(self, word: str, tag: str, level: float | None, ahead: Ahead) -> str | None:
        if word in ("am", "Am", "AM"):
            if tag.startswith("NN"):
                return self.spell(word)
            is_weak = word == "am" and ahead.vowel is not None and not (level and level > 0)
            return "ɐm" if is_weak else self._entry("am")
        if word in ("to", "To") or (word == "TO" and tag in ("TO", "IN")):
            return self._entry("to") if ahead.vowel is None else "tʊ" if ahead.vowel else "tə"
        if word in ("in", "In") or (word == "IN" and tag != "NNP"):
            return ("" if tag == "IN" and ahead.vowel is not None else PRIMARY) + "ɪn"
        if word in ("the", "The") or (word == "THE" and tag == "DT"):
            return "ði" if ahead.vowel else "ðə"
        return None
