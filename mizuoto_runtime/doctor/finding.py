"""What the doctor says: findings, and the sections they stand in. All of it is data that JSON can hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

LEVELS = ("ok", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the doctor found.

    Attributes:
        level: One of `LEVELS`; "error" means that speech cannot work as the machine is.
        what: The fact, one sentence.
        why: What it comes from or leads to; may be empty.
        fix: What to do, a command where there is one; empty where nothing needs to be done.
    """

    level: str
    what: str
    why: str = ""
    fix: str = ""


@dataclass(slots=True)
class Section:
    """One part of the report: bare facts by name, and what to think of them."""

    facts: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, level: str, what: str, why: str = "", fix: str = "") -> None:
        """Append a finding."""
        self.findings.append(Finding(level, what, why, fix))

    def as_json(self) -> dict[str, Any]:
        """`{"facts": ..., "findings": [...]}` of plain values."""
        return {"facts": self.facts, "findings": [asdict(finding) for finding in self.findings]}


def worst(levels: Iterable[str]) -> str:
    """The gravest of `levels`; "ok" where there is none."""
    return max(levels, key=LEVELS.index, default="ok")
