"""Runs one bench file: `python tests/bench FILE` prints a JSON object a line for each of its rows.

A bench file has `run()`, which yields dicts with `id`, `what`, `ours`, `other`, `ratio`, `bar` and `holds`. Each file
gets a process of its own, so that memory and caches of one do not enter the figures of the next. What it compares with
may be missing: then the row is {"id", "skipped": name of the module}.
"""

import importlib.util
import json
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(path: Path) -> None:
    package = types.ModuleType("mizuoto")
    package.__path__ = [str(ROOT)]
    sys.modules["mizuoto"] = package
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        for row in module.run():
            print(json.dumps(row), flush=True)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "mizuoto":
            raise
        print(json.dumps({"id": path.stem.removeprefix("bench_"), "skipped": error.name}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
