"""Finds the Chromium that the browser tests drive, and starts it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the developer tools look for the browser before there is any package
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOW_TO_INSTALL = (
    "The browser tests need Chromium: install it (Debian: apt-get install chromium fonts-liberation "
    "fonts-wqy-microhei), or let MIZUOTO_CHROMIUM be the path of one."
)
# The page may reach its own server and nothing else; root may run no sandbox; sound starts without a click.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--autoplay-policy=no-user-gesture-required",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def find() -> Path | None:
    """The program, or None where there is none."""
    named = os.environ.get("MIZUOTO_CHROMIUM")
    found = (shutil.which(name) for name in ((named,) if named else NAMES))
    return next((Path(path) for path in found if path), None)


def launch(playwright: Playwright) -> Browser:
    """A running browser without a window.

    Raises:
        FileNotFoundError: There is none; the text says how to get it.
    """
    program = find()
    if program is None:
        raise FileNotFoundError(HOW_TO_INSTALL)
    return playwright.chromium.launch(executable_path=program, args=OPTIONS)
