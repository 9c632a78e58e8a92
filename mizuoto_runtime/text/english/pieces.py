"""Tokens cut into the pieces that are looked up, pieces joined into words, and what a word hears of the next one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .alphabet import CONSONANTS, LETTER, LOWER, PAUSES, QUOTES, UPPER, VOWELS
from .digits import CURRENCIES, MAGNITUDES

_PIECES = re.compile(
    rf"^['‘’]+|[{UPPER}](?=[{UPPER}][{LOWER}])|(?:^-)?(?:\d?[,.]?\d)+|[-_]+|['‘’]{{2,}}"
    rf"|{LETTER}*?(?:['‘’]{LETTER})*?[{LOWER}](?=[{UPPER}])|{LETTER}+(?:['‘’]{LETTER})*|[^\w\-'‘’]|['‘’]+$"
)
_PUNCTUATION_TAGS = frozenset([".", ",", "-LRB-", "-RRB-", "``", "''", '""', ":", "$", "#", "NFP"])
_MEANINGFUL = frozenset(["Sm", "So", "Sc", "Co", "Cn", "Nl", "No"])  # Co, Cn: private or newer than the Unicode tables
_TAG_SOUNDS = {"-LRB-": "(", "-RRB-": ")", "``": "“", '""': "”", "''": "”"}


@dataclass(frozen=True)
class Ahead:
    """What a word is followed by.

    Attributes:
        vowel: True for a vowel, False for a consonant, None for a pause or the end.
        to: Whether it is the word "to".
    """

    vowel: bool | None = None
    to: bool = False

    def before(self, piece: Piece, phonemes: str) -> Ahead:
        """What the word before `piece`, read as `phonemes`, is followed by."""
        vowel = self.vowel
        sound = next((c for c in phonemes if c in VOWELS or c in CONSONANTS or c in PAUSES), None)
        if sound is not None:
            vowel = None if sound in PAUSES else sound in VOWELS
        return Ahead(vowel, piece.text in ("to", "To") or (piece.text == "TO" and piece.tag in ("TO", "IN")))


@dataclass
class Piece:
    """A token or a part of one.

    Attributes:
        text: As written.
        tag: Part of speech of its token.
        space: The space that follows, or "".
        phonemes: Its sound; None until it is read.
        alias: The word it is read as, if not `text`.
        currency: The sign whose unit is said after it.
        first: Whether it opens its word.
        gap: Whether a space is read before it.
        dropped: Those of its runs of characters that have no sound.
    """

    text: str
    tag: str = ""
    space: str = ""
    phonemes: str | None = None
    alias: str | None = None
    currency: str | None = None
    first: bool = True
    gap: bool = False
    dropped: tuple[str, ...] = ()


def cut(tokens: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of tagged tokens; signs of punctuation get their sound here, signs of money go to their number."""
    sign: Piece | None = None  # a sign of money whose number has not ended
    for i, token in enumerate(tokens):
        if token.phonemes is not None:
            yield token
            continue
        texts = _PIECES.findall(token.text)
        is_number = token.tag == "CD" or re.match("-?[0-9]", token.text) is not None
        number_goes_on = i + 1 < len(tokens) and tokens[i + 1].text.lower() in MAGNITUDES
        if sign is not None and not is_number:
            sign.dropped, sign = (sign.text,), None  # no number came
        for j, text in enumerate(texts):
            is_last = j + 1 == len(texts)
            piece = replace(token, text=text, space=token.space if is_last else "")
            sound = _sign_sound(piece)
            if token.tag == "$" and text in CURRENCIES:
                sign, piece.phonemes = piece, ""
            elif sound is not None:
                piece.phonemes = sound
                piece.dropped = tuple(filter(None, [meaningful(text)])) if not sound else ()
            elif sign is not None:
                if is_last and not number_goes_on:
                    piece.currency, sign = sign.text, None  # said after the whole amount: "$5 million"
            elif text == "2" and 0 < j < len(texts) - 1 and (texts[j - 1][-1] + texts[j + 1][0]).isalpha():
                piece.alias = "to"  # B2B
            yield piece
    if sign is not None:
        sign.dropped = (sign.text,)


def meaningful(text: str) -> str:
    """The characters of `text` whose loss a listener would notice: letters, digits, signs, emoji."""
    return "".join(c for c in text if c.isalnum() or unicodedata.category(c) in _MEANINGFUL)


def _sign_sound(piece: Piece) -> str | None:
    if piece.tag == ":" and piece.text in ("-", "–"):
        return "—"
    if piece.tag not in _PUNCTUATION_TAGS or re.fullmatch(r"[A-Za-z]+", piece.text):
        return None
    return _TAG_SOUNDS.get(piece.tag, "".join(c for c in piece.text if c in PAUSES or c in QUOTES))


def group(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces without a space between them form one word; those already read stand alone."""
    groups: list[list[Piece]] = []
    is_open = False
    for piece in pieces:
        is_fixed = piece.alias is not None or piece.phonemes is not None
        if is_open and not is_fixed:
            piece.first = False
            groups[-1].append(piece)
        else:
            groups.append([piece])
        is_open = not is_fixed and not piece.space
    return groups


def written(pieces: Sequence[Piece]) -> str:
    """The text of a run of pieces, without the space after it."""
    return "".join(p.text + p.space for p in pieces[:-1]) + pieces[-1].text


def merge(pieces: Sequence[Piece]) -> Piece:
    """One piece for a run of them; its tag is that of the piece with most letters, capitals counting double."""
    heaviest = max(pieces, key=lambda p: sum(1 if c == c.lower() else 2 for c in p.text))
    currency = max((p.currency for p in pieces if p.currency), default=None)
    return Piece(written(pieces), heaviest.tag, pieces[-1].space, currency=currency, first=pieces[0].first)
