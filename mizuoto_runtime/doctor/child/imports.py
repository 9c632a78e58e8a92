"""Imports each package that it is given and prints the outcome, one JSON object a line, at once."""

from __future__ import annotations

import importlib
import json
import sys


def failure(name: str) -> str:
    """Why `name` cannot be imported; empty when it can. Any error is the answer, an exit included."""
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - see above
        return f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return ""


if __name__ == "__main__":
    for one in sys.argv[1:]:
        sys.stdout.write(json.dumps({"name": one, "error": failure(one)}) + "\n")
        sys.stdout.flush()
