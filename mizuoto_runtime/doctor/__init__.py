"""The doctor: what this machine can run and what is in the way (S094). Needs neither torch nor ComfyUI.

`examine` gives plain data for JSON, `render` turns it into text, `outline` into parts for a page. Nothing is loaded,
installed or sent anywhere, and no device is touched by this process.
"""

from .finding import Finding, Section
from .report import SCHEMA_VERSION, Host, examine, levels
from .text import outline, render

__all__ = ["SCHEMA_VERSION", "Finding", "Host", "Section", "examine", "levels", "outline", "render"]
