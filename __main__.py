"""`python -m mizuoto`: the pack without ComfyUI."""

from __future__ import annotations

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 1 with one line on standard error, 1 when the doctor finds errors."""
    from .cli import COMMANDS
    from .mizuoto_runtime.errors import MizuotoError

    parser = argparse.ArgumentParser(prog="mizuoto", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    try:
        code: int = options.command(options) or 0
    except (MizuotoError, OSError) as error:
        print(f"mizuoto: {error}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
