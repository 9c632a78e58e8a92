"""Runs the bench files and shows their rows as a table or as JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .checks import test_environment
from .console import say
from .environment import ROOT

BENCHES = ROOT / "tests" / "bench"
FIELDS = ("id", "what", "ours", "other", "ratio", "bar", "holds")


def run(python: Path, host: Path, *, as_json: bool, folder: Path = BENCHES) -> int:
    """Run `bench_*.py` of a folder with a ComfyUI at hand. 0 if all bars hold and all files ran to the end, else 1."""
    good = True
    if not as_json:
        say(_line("id", "ours", "other", "ratio", "bar", "holds", "what"))
    for path in sorted(folder.glob("bench_*.py")):
        for row in _rows(python, host, path):
            good = good and bool(row.get("holds", "skipped" in row))
            say(json.dumps(row, ensure_ascii=False) if as_json else format_row(row))
    return 0 if good else 1


def format_row(row: dict[str, Any]) -> str:
    """One row of a bench as a line of the table."""
    if "skipped" in row:
        return _line(row["id"], "", "", "", "", "skipped", f"{row['skipped']} is not installed")
    if "failed" in row:
        return _line(row["id"], "", "", "", "", "FAILED", row["failed"])
    holds = "yes" if row["holds"] else "NO"
    figures = (_figure(row[name]) for name in ("ours", "other", "ratio", "bar"))
    return _line(row["id"], *figures, holds, row["what"])


def _rows(python: Path, host: Path, path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one file as they come; a file that fails ends with a row {"id", "failed", "holds": False}."""
    command = [str(python), str(BENCHES), str(path)]
    environment = test_environment(host)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = _parsed(line)
            if row is None:
                sys.stderr.write(line)
            else:
                yield row
    if process.returncode:
        yield {"id": path.stem, "failed": f"{path.name} ended with exit code {process.returncode}", "holds": False}


def _parsed(line: str) -> dict[str, Any] | None:
    """The row in a line of output, or None if the line is something that a library printed."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    if not isinstance(row, dict) or "id" not in row:
        return None
    missing = [name for name in FIELDS if name not in row]
    if missing and "skipped" not in row:
        return {"id": row["id"], "failed": f"the row lacks {', '.join(missing)}", "holds": False}
    return row


def _figure(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


def _line(*cells: str) -> str:
    widths = (34, 11, 11, 9, 9, 8, 0)
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
