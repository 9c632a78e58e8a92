"""English: the pack's own front end."""

from __future__ import annotations

from ....mizuoto_runtime.text import english
from .front_end import FrontEnd
from .table import Language


def load(language: Language) -> FrontEnd:
    """The front end of either English."""
    return english.load("gb" if language.tag == "en-GB" else "us").convert
