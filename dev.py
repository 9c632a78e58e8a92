"""The developer's entry: `python dev.py demo | test | bench | lint | templates | serve`.

Needs nothing but Python; it builds what else is needed into `.venv` and `.host`. This file keeps to syntax that every
Python 3 can read, so that a too old one gets a sentence and not a syntax error; all work is in `devtools`.
"""

import os
import signal
import sys
import types

if sys.version_info < (3, 10):  # noqa: UP036 - the check is what this file is for
    sys.stderr.write(
        "dev.py needs Python 3.10 or newer and this is Python "
        + ".".join(str(part) for part in sys.version_info[:3])
        + ": run it with a newer one, for example `python3.11 dev.py`.\n"
    )
    sys.exit(2)


def _end_politely(signum, frame):
    """Make a first SIGTERM end like Ctrl-C: servers are stopped and temporary folders removed; ignore further ones."""
    signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    """Run the command line and give back its exit code."""
    signal.signal(signal.SIGTERM, _end_politely)
    # The checkout becomes package `mizuoto` without running the pack's own __init__, which needs torch.
    package = types.ModuleType("mizuoto")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["mizuoto"] = package
    from mizuoto.devtools.cli import main as command_line

    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
