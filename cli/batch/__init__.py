"""`batch`: many lines through a workflow of a running ComfyUI; a run that was stopped is taken up where it was."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from ..common import Commands
from .items import read
from .ledger import Ledger, refuse_strangers
from .runner import Runner
from .server import Server, ServerGone
from .workflow import DEFAULT, Workflow


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = commands.add_parser(
        "batch",
        help="speak every line of a CSV or JSONL file through a running ComfyUI",
        description="Every line becomes one audio file in the output folder, and a line of its manifest.jsonl. Start "
        "the same command again to go on after a stop, to redo lines that were changed, and to retry what failed.",
    )
    parser.add_argument("lines", type=Path, help=".csv with a head line, or .jsonl; columns text, id, seed, others")
    parser.add_argument("--output", type=Path, required=True, help="the folder that the files go to")
    parser.add_argument("--workflow", type=Path, help="in API form; default: the built-in voice")
    parser.add_argument("--url", default="http://127.0.0.1:8188")
    parser.add_argument("--map", action="extend", nargs="+", default=[], metavar="column=node.input",
                        help="send a column to an input of a node (id, class or title)")  # fmt: skip
    parser.add_argument("--window", type=_at_least_one, default=4, help="prompts in ComfyUI's queue at a time")
    parser.add_argument("--encoding", default="utf-8", help="of the lines, such as gbk")
    parser.add_argument("--wait", type=float, default=120.0, metavar="SECONDS", help="how long ComfyUI may be away")
    parser.add_argument("--retry-failed", action=argparse.BooleanOptionalAction, default=True,
                        help="try again what failed in an earlier run")  # fmt: skip
    parser.add_argument("--cancel-on-exit", action="store_true", help="on Ctrl-C, empty ComfyUI's queue of this batch")
    parser.set_defaults(command=_run)


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _run(options: argparse.Namespace) -> int:
    lines = read(options.lines, options.encoding)
    workflow = Workflow.load(options.workflow or DEFAULT)
    columns = list(dict.fromkeys(column for line in lines for column in line.values))
    targets = workflow.targets(columns, options.map)
    requests = workflow.requests(options.lines, lines, targets)
    unused = sorted(set(columns) - {"id"} - {target.column for target in targets})
    if unused:
        _say(f"Columns that go nowhere (see --map): {', '.join(unused)}.")

    refuse_strangers(options.output, (line.stem for line in lines))
    with Ledger(options.output) as ledger:
        runner = Runner(
            Server(options.url), ledger, requests,
            window=options.window, patience_s=options.wait, retry_failed=options.retry_failed, say=_say,
        )  # fmt: skip
        try:
            tally = runner.run()
        except KeyboardInterrupt:
            return _stopped(runner, options.cancel_on_exit)
    failed = f"{tally.failed} failed, see manifest.jsonl; the same command tries them again" if tally.failed else ""
    print(f"{options.output}: {tally.finished} of {tally.total} files ({tally.made} made now). {failed}".rstrip())
    return int(tally.failed > 0)


def _stopped(runner: Runner, cancel: bool) -> int:
    if cancel:
        with contextlib.suppress(ServerGone, OSError):
            runner.cancel()
    left = f" {len(runner.outstanding)} of them are in ComfyUI's queue." if runner.outstanding and not cancel else ""
    done = runner.tally
    _say(f"Stopped: {done.finished} of {done.total} are finished; start the same command again for the rest.{left}")
    return 130


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # standard error writes any character, on every terminal
