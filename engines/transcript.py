"""What a recognition engine hears: passages and words with their times. Imports no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..mizuoto_runtime.errors import InvalidRequest

# Scripts that are written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, kana, ideographs and their punctuation.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Attributes:
        text: As written, punctuation included, no spaces around it; words of a passage follow each other without
            spaces where the language writes none.
        start, end: Seconds from the beginning of the recording.
        probability: How sure the engine is, 0 to 1.
    """

    text: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of speech, usually a sentence or a part of one.

    Attributes:
        text: What is said, no spaces around it.
        start, end: Seconds from the beginning of the recording.
        words: Empty where the engine knows no times of words.
    """

    text: str
    start: float
    end: float
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is said in a recording, in order.

    Attributes:
        engine: Who heard it.
        language: BCP 47 tag; "" if unknown.
        seconds: Length of the recording.
        passages: Empty where nobody speaks.
    """

    engine: str
    language: str
    seconds: float
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """All that is said, on one line."""
        return joined([passage.text for passage in self.passages])

    def with_passages(self, passages: tuple[Passage, ...]) -> Transcript:
        """The same recording with other passages."""
        return replace(self, passages=passages)

    def to_json(self) -> str:
        """JSON that `from_json` reads; `text` is repeated in it for other readers."""
        return json.dumps({"text": self.text, **asdict(self)}, ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Transcript:
        """The transcript that `to_json` wrote.

        Raises:
            InvalidRequest: It is no such JSON.
        """
        try:
            data = json.loads(text)
            passages = tuple(_passage(entry) for entry in data["passages"])
            return cls(str(data["engine"]), str(data["language"]), float(data["seconds"]), passages)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidRequest(
                f"This is no transcript in JSON ({error!r}); take what Transcript to Text gives for the format json."
            ) from error


def joined(texts: Sequence[str]) -> str:
    """Pieces of text one after the other, with spaces between them where their scripts write any."""
    whole = ""
    for text in filter(None, texts):
        is_spaced = whole and not (_UNSPACED.match(whole[-1]) or _UNSPACED.match(text[0]))
        whole += f" {text}" if is_spaced else text
    return whole


def _passage(entry: dict[str, Any]) -> Passage:
    words = tuple(
        Word(str(word["text"]), float(word["start"]), float(word["end"]), float(word["probability"]))
        for word in entry["words"]
    )
    return Passage(str(entry["text"]), float(entry["start"]), float(entry["end"]), words)
