"""Recordings of voices and the words in them, as files that people keep."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError
from ...mizuoto_runtime.media import read_audio

SUFFIXES = frozenset({".wav", ".mp3", ".flac", ".ogg", ".m4a", ".opus"})
MAX_SECONDS = 600.0  # no engine hears more of a voice, and it is held in memory whole
_MAX_WORDS_BYTES = 65536
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ENCODINGS = ("utf-8", "gb18030")  # GB18030 holds all of GBK
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_IN_WORDS = re.compile(rf"(?<=[A-Za-z]){_HAN.pattern}|{_HAN.pattern}(?=[A-Za-z])")
_LETTER = re.compile("[A-Za-z]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\ue000-\uf8ff]")  # controls, and what GB18030 makes of Big5


def words_file(recording: str, beside: set[str]) -> str | None:
    """The one of the files `beside` a recording that holds its words; `name.reference.txt` before `name.txt`."""
    stem = recording.rpartition(".")[0]
    return next((name for name in (f"{stem}.reference.txt", f"{stem}.txt") if name in beside), None)


def read_words(file: Path) -> str:
    """The text of a file in UTF-8, in UTF-16 with a byte order mark, or in GBK/GB18030; "" if there is none in it.

    Raises:
        InvalidRequest: It is in none of these, or far too long for a transcript.
        ModelFileError: It cannot be read.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_WORDS_BYTES + 1)
    except OSError as error:
        raise ModelFileError(f'"{file.name}" cannot be read ({error.strerror}); look at its rights.') from error
    if len(content) > _MAX_WORDS_BYTES:
        raise InvalidRequest(f'"{file.name}" is too long for the words of a recording; it must hold nothing else.')
    marked = [encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if content.startswith(mark)]
    for encoding in marked or _ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not _NO_TEXT.search(text) and not _is_mangled(text):
            return text.strip()
    raise InvalidRequest(f'The encoding of "{file.name}" is unknown; save it as UTF-8.')


def _is_mangled(text: str) -> bool:
    """Whether Han characters were accented letters once, which GB18030 reads as such: "f黵" for "für".

    Then most letters are Latin, and most Han characters are glued to one. Kana and Hangul in their old encodings cannot
    be told from Chinese.
    """
    num_han = len(_HAN.findall(text))
    return len(_LETTER.findall(text)) > num_han and 2 * len(_HAN_IN_WORDS.findall(text)) > num_han


def read_recording(file: Path, longest: float = MAX_SECONDS) -> Audio:
    """The sound of a file; see `read_audio`. At most `MAX_SECONDS`, however much an engine takes."""
    return read_audio(file, min(longest, MAX_SECONDS))
