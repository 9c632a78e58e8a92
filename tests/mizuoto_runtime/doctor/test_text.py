from copy import deepcopy

import pytest
from mizuoto.mizuoto_runtime.doctor import render

REPORT = {
    "schema_version": "1.0",
    "level": "error",
    "sections": {
        "hardware": {
            "facts": {
                "gpus": [{"device": "cuda:0", "name": "L4", "total_bytes": 24_000_000_000, "free_bytes": 5_000_000}],
                "found_by": "nvidia-smi",
                "nothing": None,
            },
            "findings": [{"level": "ok", "what": "It is there.", "why": "", "fix": ""}],
        },
        "torch": {
            "facts": {"loaded": False, "tasks": ["a", "b"], "none": [], "dtypes": {"cpu": ["fp32"], "x": None}},
            "findings": [
                {"level": "warning", "what": "Old.", "why": "Time passes.", "fix": ""},
                {"level": "error", "what": "Missing.", "why": "", "fix": "pip install it"},
            ],
        },
    },
}
TEXT = """\
Speech Doctor: 1 error, 1 warning
  [error] torch: Missing.
      fix: pip install it
  [warning] torch: Old.
      why: Time passes.
  [ok] hardware: It is there.

hardware
  gpus:
    cuda:0: name L4, total 24.0 GB, free 5 MB
  found by: nvidia-smi

torch
  loaded: no
  tasks: a, b
  none: none
  dtypes: cpu fp32, x none"""


def test_golden():
    report = deepcopy(REPORT)
    assert render(report) == TEXT
    assert report == REPORT, "the report was changed"


@pytest.mark.parametrize(
    ("kept", "title"),
    [
        (["ok"], "everything is in order"),
        (["ok", "warning"], "0 errors, 1 warning"),
        (["warning", "error"], "1 error, 1 warning"),
    ],
)
def test_the_title_counts(kept, title):
    report = deepcopy(REPORT)
    for section in report["sections"].values():
        section["findings"] = [finding for finding in section["findings"] if finding["level"] in kept]
    assert render(report).splitlines()[0] == f"Speech Doctor: {title}"


def test_long_texts_have_lines_of_their_own():
    report = {"sections": {"attention": {"facts": {"install_commands": {"a": "x" * 60, "b": "y"}}, "findings": []}}}
    assert render(report).endswith(f"  install commands:\n    a: {'x' * 60}\n    b: y")
