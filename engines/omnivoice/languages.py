"""The languages that OmniVoice was trained on. Imports no torch.

What the model reads is a tag: ISO 639-1 where there is one, else ISO 639-3.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.text.languages import AUTO, find_language, match_language

_TABLE = Path(__file__).parent / "assets" / "languages.tsv"
_NONE = frozenset({"", "none", AUTO})
_STANDARD = {"ar": "arb", "mg": "plt", "ne": "npi"}  # what the table has by its varieties only -> the usual one
_NEAR = 3

# Tag -> English name.
LANGUAGES: dict[str, str] = dict(line.split("\t", 1) for line in _TABLE.read_text(encoding="utf-8").splitlines())
_BY_NAME = {name.casefold(): tag for tag, name in LANGUAGES.items()}


def language_tag(asked: str) -> str | None:
    """The tag of a language given as a tag or an English name; None for "auto".

    Raises:
        InvalidRequest: It is none that the model knows; the nearest ones are named.
    """
    folded = asked.strip().casefold()
    if folded in _NONE:
        return None
    found = folded if folded in LANGUAGES else _BY_NAME.get(folded) or _by_common_name(asked)
    if found is None:
        near = difflib.get_close_matches(folded, [*_BY_NAME, *LANGUAGES], n=_NEAR)
        names = [f'"{LANGUAGES[word] if word in LANGUAGES else LANGUAGES[_BY_NAME[word]]}"' for word in near]
        hint = f" Did you mean {' or '.join(dict.fromkeys(names))}?" if names else ""
        raise InvalidRequest(
            f'"{asked.strip()[:40]}" is none of the {len(LANGUAGES)} languages of OmniVoice; give a name, a tag '
            f'or "{AUTO}".{hint}'
        )
    return found


def _by_common_name(asked: str) -> str | None:
    """By what the pack calls a language elsewhere: another name, another tag, one with a region."""
    try:
        tag = find_language(asked)
    except InvalidRequest:
        return None
    return match_language(tag, LANGUAGES) or _STANDARD.get(tag)
