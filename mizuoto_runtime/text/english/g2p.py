"""English text -> phonemes.

Normalise, tokenise, tag, cut tokens into pieces, then read the pieces from right to left, since the sound of "the",
"to" and "a" depends on what follows. Words that no dictionary has go to a small net.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..split import split
from .alphabet import LETTER, MARKS, PAUSES, QUOTES, SILENT_JOINTS, SOUNDS
from .compounds import run_starts, settle, sound
from .data import DATA_FOLDER, AccentName, EnglishData
from .dictionary import Dictionary
from .inflect import AMERICAN, BRITISH
from .lexicon import Lexicon
from .normalise import Normaliser
from .oov import OovReader
from .pieces import Ahead, Piece, cut, group, meaningful, merge
from .tagger import Tagger
from .tokenise import Tokeniser

MAX_BLOCK = 2000
"""Characters that are read at a time: the context of a word ends with its sentence, and the time stays linear."""

_MARKUP = re.compile(r"\[([^\[\]]+)\]\(([^()]*)\)")
_GIVEN = re.compile(r"/(.*?)/+")
_RUNS = re.compile(rf"{LETTER}+(?:['’]{LETTER}+)*|\d+(?:[,.]\d+)*|[^\w\s]+")
_NAMED_LETTERS = re.compile(r"(?=.*w)[b-df-hj-np-tv-xz]{2,5}", re.I)  # www, wtf: the net misreads a w without vowels
_PHONEMES = SOUNDS | MARKS | PAUSES | QUOTES
_EDGES = "".join(PAUSES | QUOTES | SILENT_JOINTS) + "()[]"  # is no part of a word that is reported
_SIGN_SOUNDS = {
    **{"/": "slˈæʃ", "=": "ˈikwᵊlz", "+": "plˈʌs", "&": "ænd", "@": "æt", "%": "pəɹsˈɛnt", "#": "hˈæʃ"},
    **{"*": "ˈæstəɹˌɪsk", "~": "tˈɪldə", "^": "kˈɛɹət", "<": "lˈɛs ðən", ">": "ɡɹˈATəɹ ðən", "—": "—"},
}


@dataclass(frozen=True)
class Phonemes:
    """A reading.

    Attributes:
        text: Phonemes, spaces between words, punctuation that makes pauses.
        dropped: Runs of letters, digits, signs and emoji that have no sound here, in the order of the text: other
            scripts above all, but also given phonemes that the alphabet lacks, and markup without any phoneme.
    """

    text: str
    dropped: tuple[str, ...] = ()


class EnglishG2P:
    """Reads American or British English, as its data has it, in the alphabet of Kokoro-82M.

    `[word](/wˈɜɹd/)` in the text sets the phonemes of a word; if there is none in it, the word itself is read.

    Args:
        data: The data, or a function that reads it when the first text comes.
    """

    def __init__(self, data: EnglishData | Callable[[], EnglishData]):
        self._source = data

    def __call__(self, text: str) -> str:
        """The phonemes of `text`; `convert` also tells what has none."""
        return self.convert(text).text

    def convert(self, text: str) -> Phonemes:
        """The phonemes of `text`, and the characters that were dropped."""
        readings = [self._reader.read(block) for block in split(text, MAX_BLOCK)]
        return Phonemes(
            " ".join(r.text for r in readings if r.text),
            tuple(run for r in readings for run in r.dropped),
        )

    @cached_property
    def _reader(self) -> _Reader:
        return _Reader(self._source if isinstance(self._source, EnglishData) else self._source())


def load(accent: AccentName = "us") -> EnglishG2P:
    """A front end over the data shipped in the pack, which is read when the first text comes."""
    return EnglishG2P(lambda: EnglishData.read(DATA_FOLDER, accent))


class _Reader:
    """Reads one block of text."""

    def __init__(self, data: EnglishData):
        self._normalise = Normaliser(data.tables)
        self._tokenise, self._tag = Tokeniser(data.special), Tagger(data.tagger)
        accent = BRITISH if data.accent == "gb" else AMERICAN
        self._lexicon = Lexicon(Dictionary(data.gold), Dictionary(data.silver), accent)
        self._oov = OovReader(data.oov, data.alphabet)

    def read(self, text: str) -> Phonemes:
        text = self._normalise(text)
        words = group(cut(self._tokens(text)))
        ahead = Ahead()
        for word in reversed(words):
            ahead = self._read_word(word, ahead)
        phonemes = "".join(sound(word) + word[-1].space for word in words).strip()
        if text.endswith(".") and phonemes and phonemes[-1] not in PAUSES:
            phonemes += "."  # "p.m." keeps its point to itself
        return Phonemes(phonemes, tuple(run for word in words for piece in word for run in piece.dropped))

    def _tokens(self, text: str) -> list[Piece]:
        tokens: list[Piece] = []
        start = 0
        for m in _MARKUP.finditer(text):
            tokens += self._tagged(text[start : m.start()])
            tokens += self._marked(m, " " if text[m.end() : m.end() + 1].isspace() else "")
            start = m.end()
        return tokens + self._tagged(text[start:])

    def _marked(self, m: re.Match[str], space: str) -> list[Piece]:
        given = _GIVEN.fullmatch(m[2])
        if given is None:
            return [Piece(m[1], "NN", space)]
        if not (SOUNDS | PAUSES).isdisjoint(given[1]):
            kept = "".join(c for c in given[1] if c in _PHONEMES)
            lost = "".join(c for c in given[1] if c not in _PHONEMES)
            return [Piece(m[1], "NN", space, phonemes=kept, dropped=(lost,) if lost else ())]
        tokens = self._tagged(m[1])
        if tokens:
            tokens[-1].space = space
        return [Piece("", phonemes="", dropped=(m[0],)), *tokens]

    def _tagged(self, text: str) -> list[Piece]:
        pairs = self._tokenise(text)
        tags = self._tag([t for t, _ in pairs])
        return [Piece(t, tag, space) for (t, space), tag in zip(pairs, tags, strict=True)]

    def _read_word(self, word: Sequence[Piece], ahead: Ahead) -> Ahead:
        """Fill in the phonemes of a word's pieces; what the word before it is followed by."""
        if len(word) > 1:
            return self._read_compound(word, ahead)
        piece = word[0]
        if piece.phonemes is None:
            piece.phonemes = self._lexicon(piece, ahead)
        if piece.phonemes is None:
            piece.phonemes, piece.dropped = self._unknown(piece.text)
        return ahead.before(piece, piece.phonemes)

    def _read_compound(self, word: Sequence[Piece], ahead: Ahead) -> Ahead:
        """Read the longest runs that the lexicon knows, from the right; an unreadable piece sends all to the net."""
        end = len(word)
        while end > 0:
            for start in run_starts(word, end):
                run = merge(word[start:end])
                found = self._lexicon(run, ahead)
                if found is not None:
                    for piece in word[start:end]:
                        piece.phonemes = ""
                    word[start].phonemes = found
                    ahead, end = ahead.before(run, found), start
                    break
            else:
                end -= 1
                if not set(word[end].text) <= SILENT_JOINTS:
                    for piece in word:
                        piece.phonemes = ""
                    word[0].phonemes, word[0].dropped = self._unknown(merge(word).text)
                    return ahead
                word[end].phonemes = ""
        settle(word)
        return ahead

    def _unknown(self, text: str) -> tuple[str, tuple[str, ...]]:
        """(phonemes, dropped runs) of what the lexicon does not know."""
        spoken: list[str] = []
        dropped: list[str] = []
        for run in _RUNS.findall(text):
            if run[0].isdecimal():
                spoken.append(self._lexicon.number(run, first=False))
            elif any(map(str.isalpha, run)):
                spelled = self._lexicon.spell(run) if _NAMED_LETTERS.fullmatch(run) else None
                spoken.append(spelled or self._oov(run))
                dropped.append(meaningful(self._oov.unknown(run)))
            else:
                spoken.append("".join(_SIGN_SOUNDS.get(c, "") for c in run))
                dropped.append(meaningful("".join(c for c in run if c not in _SIGN_SOUNDS)))
        phonemes, lost = " ".join(filter(None, spoken)), tuple(filter(None, dropped))
        # A word that is lost as a whole is reported as written, with the marks between its letters.
        return phonemes, (text.strip(_EDGES),) if lost and not phonemes else lost
