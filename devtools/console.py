"""What a person sees: lines of text, progress of long steps, and one sentence when something stops."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

HEARTBEAT_S = 10.0


class Stop(Exception):  # noqa: N818 - not a defect of the program
    """A reason to stop that the user can act on; its text is one sentence, and the exit code is 2."""


class CommandFailed(Exception):  # noqa: N818
    """A command ended with an exit code other than zero.

    Attributes:
        output: Everything it wrote, both streams in order.
    """

    def __init__(self, command: Sequence[str], returncode: int, output: str) -> None:
        super().__init__(f"{' '.join(command)} ended with exit code {returncode}")
        self.output = output


def say(text: str) -> None:
    """Write one line to standard output at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_step(
    title: str,
    command: Sequence[str],
    describe: Callable[[str], str | None] = lambda line: line.strip() or None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a command quietly and give back what it wrote; while it runs, a line now and then says how far it is.

    Args:
        title: Names the step in every line.
        command: Program and arguments.
        describe: Turns a line of output into the words of the next progress line, or None to keep the last ones.
        env: The whole environment; None hands on this process's own.
        cwd: Where it runs.

    Raises:
        CommandFailed: It ended with another exit code than zero.
    """
    started = time.monotonic()
    say(f"{title} ...")
    process = subprocess.Popen(
        list(command), env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    try:
        lines = _follow(process, title, describe, started)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode:
        raise CommandFailed(command, process.returncode, "".join(lines))
    say(f"{title}: done in {time.monotonic() - started:.0f} s")
    return "".join(lines)


def _follow(
    process: subprocess.Popen[str], title: str, describe: Callable[[str], str | None], started: float
) -> list[str]:
    incoming: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_pump, args=(process, incoming), daemon=True).start()
    lines: list[str] = []
    now_at = "working"
    next_beat = started + HEARTBEAT_S
    while True:
        try:
            line = incoming.get(timeout=max(0.05, next_beat - time.monotonic()))
            if line is None:
                break
            lines.append(line)
            now_at = describe(line) or now_at
        except queue.Empty:
            pass
        if time.monotonic() >= next_beat:
            say(f"  {time.monotonic() - started:4.0f} s  {title}: {now_at}")
            next_beat += HEARTBEAT_S
    process.wait()
    return lines


def _pump(process: subprocess.Popen[str], incoming: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        incoming.put(line)
    incoming.put(None)
