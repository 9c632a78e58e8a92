"""`doctor`: what this machine can run and what is in the way."""

from __future__ import annotations

import argparse
import json

from .common import Commands, preferences


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = commands.add_parser("doctor", help="what this machine can run and what is in the way")
    parser.add_argument("engine", nargs="?", help="look at this engine only")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-self-test", action="store_true", help="start no second Python process to try things in")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from .. import engines
    from ..mizuoto_runtime import doctor
    from ..mizuoto_runtime.errors import InvalidRequest

    manifests = engines.manifests()
    if options.engine is not None and options.engine not in manifests:
        raise InvalidRequest(f'There is no engine "{options.engine}"; there are: {", ".join(manifests)}.')
    chosen = list(manifests.values()) if options.engine is None else [manifests[options.engine]]
    report = doctor.examine(chosen, self_test=not options.no_self_test, saved=preferences().saved())
    print(json.dumps(report, indent=2) if options.json else doctor.render(report))
    return int(report["level"] == "error")
