"""Web and e-mail addresses, which are spoken sign by sign."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .rewrite import any_of

ENDINGS = [
    "com", "org", "net", "edu", "gov", "io", "co", "ai", "dev", "app", "info", "biz", "me", "tv", "ly", "uk", "us",
    "ca", "au", "de", "fr", "es", "it", "nl", "se", "ch", "at", "jp", "cn", "kr", "in", "ru", "br", "eu", "xyz",
    "pdf", "txt", "csv", "json", "xml", "html", "docx", "xlsx", "pptx", "jpg", "jpeg", "png", "gif", "mp3", "mp4",
    "wav", "flac", "zip", "py", "js", "exe", "safetensors", "onnx",
]  # fmt: skip
"""What an address without a protocol ends in: names of hosts, then of files."""

_REST = r"(?::[0-9]{1,5})?(?:[/?#][\w\-./?=&%#~+:@,;!$'()*\[\]]*)?"
_LABELS = r"(?:[A-Za-z0-9_-]{1,63}\.){1,8}"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9_@.\-/])(?:"
    rf"(?:https?|ftp)://(?:[A-Za-z0-9._~-]{{1,253}})(?:{_REST})"
    rf"|mailto:(?=[\w.+-]{{1,64}}@)"
    rf"|[A-Za-z0-9_.+-]{{1,64}}@(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}[A-Za-z]{{2,24}}(?![A-Za-z0-9])"
    rf"|{_LABELS}(?:{any_of(ENDINGS)})(?![A-Za-z0-9_@-])(?!\.[A-Za-z0-9]){_REST}"
    rf")"
)
_MAY_BE = re.compile(r"[A-Za-z0-9]\.[A-Za-z]|://|[A-Za-z0-9]@[A-Za-z0-9]")
_TRAILING = ".,;:!?'()*[]"
_PARTS = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]")


def read_addresses(text: str, signs: Mapping[str, str], digits: Callable[[str], str]) -> str:
    """`text` with its addresses as spoken: "see https://example.com/a." -> "see example dot com slash a."

    The protocol is not said, nor is a slash at the end.

    Args:
        text: Any text.
        signs: Sign -> its name; others become spaces.
        digits: Reads a run of digits.
    """
    if _MAY_BE.search(text) is None:
        return text

    def read(m: re.Match[str]) -> str:
        address = m[0].rstrip(_TRAILING)
        trailing = m[0][len(address) :]
        name = re.sub(r"^(?:[a-z]+://|mailto:)", "", address).rstrip("/")
        words = (digits(p) if p.isdigit() and p.isascii() else signs.get(p, p) for p in _PARTS.findall(name))
        return " ".join(words) + trailing

    return _ADDRESS.sub(read, text)
