"""A report as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .finding import LEVELS


def render(report: Mapping[str, Any]) -> str:
    """The report of `examine` as lines; its findings first, the facts by section after them."""
    return "\n".join([*_summary(report), *_facts(report)])


def outline(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report of `examine` for a page: `level`, and `sections` with `name`, `findings`, and `facts` as lines."""
    sections = [
        {"name": name, "findings": section["findings"], "facts": list(_lines(section["facts"]))}
        for name, section in report["sections"].items()
    ]
    return {"level": report["level"], "sections": sections}


def _summary(report: Mapping[str, Any]) -> Iterator[str]:
    findings = [(name, finding) for name, section in report["sections"].items() for finding in section["findings"]]
    counts = {level: sum(finding["level"] == level for _, finding in findings) for level in LEVELS}
    if counts["error"] or counts["warning"]:
        yield f"Speech Doctor: {_count(counts['error'], 'error')}, {_count(counts['warning'], 'warning')}"
    else:
        yield "Speech Doctor: everything is in order"
    for level in reversed(LEVELS):
        for name, finding in findings:
            if finding["level"] == level:
                yield f"  [{level}] {name}: {finding['what']}"
                if finding["why"]:
                    yield f"      why: {finding['why']}"
                if finding["fix"]:
                    yield f"      fix: {finding['fix']}"


def _facts(report: Mapping[str, Any]) -> Iterator[str]:
    for title, section in report["sections"].items():
        yield ""
        yield title
        for line in _lines(section["facts"]):
            yield f"  {line}"


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        if value is not None:
            yield from _fact(name, value)


def _fact(name: str, value: Any) -> Iterator[str]:
    label = name.removesuffix("_bytes").replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield f"{label}:"
        for row in value:
            first, *rest = row
            yield f"  {row[first]}: {', '.join(_pair(each, row[each]) for each in rest)}"
    elif isinstance(value, Mapping) and any(isinstance(each, str) and len(each) > 40 for each in value.values()):
        yield f"{label}:"
        for each in value:
            yield f"  {each}: {value[each]}"
    else:
        yield f"{label}: {_show(name, value)}"


def _pair(name: str, value: Any) -> str:
    return f"{name.removesuffix('_bytes').replace('_', ' ')} {_show(name, value)}"


def _show(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes"):
        return f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_show(key, each)}" for key, each in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(_show("", each) for each in value) or "none"
    return str(value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
