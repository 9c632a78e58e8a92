"""OmniVoice against the upstream package: seconds of one diffusion step of a guided pair, prompt included.

Random checkpoints of two layers: the tiny one of the tests, which costs as many calls a step as a large one and no time
in them, and one as wide as the official one. One process, one thread, both sides interleaved, their codes compared
first; it runs where transformers 5 is, which the upstream needs.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
if "mizuoto" not in sys.modules:
    runpy.run_path(str(HERE.parent / "conftest.py"))

from mizuoto.tests import oracles5  # noqa: E402
from mizuoto.tests.bench.body import row  # noqa: E402
from mizuoto.tests.engines.omnivoice import tiny  # noqa: E402

OFFICIAL = {
    **{"hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8},
    **{"head_dim": 128, "num_codes": 1024},
}
SHAPES = {"tiny": {}, "official width": OFFICIAL}
MAX_RATIO = 1.0


def run() -> Iterable[dict]:
    """A row for each width."""
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        folders = {name: str(Path(place) / name) for name in SHAPES}
        for name, shape in SHAPES.items():
            tiny.build(Path(folders[name]), **shape)
        found = oracles5.run(HERE / "omnivoice_step.py", {}, checkpoints=folders)
    for name in SHAPES:
        what = f"s of a diffusion step, {name}, two layers, 75 frames behind a reference of 50, against omnivoice"
        yield row(f"omnivoice-step-{name.replace(' ', '-')}", what, *found[name].tolist(), MAX_RATIO)


if __name__ == "__main__":
    for line in run():
        print(json.dumps(line))
