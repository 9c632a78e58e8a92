"""The loop of a batch: a window of prompts in ComfyUI's queue, each result fetched and put down when it is there.

Nothing is remembered but the folder's manifest: a prompt's id follows from its request, so whatever an earlier run left
in ComfyUI's queue or history is found again rather than asked for twice.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .ledger import Entry, Ledger
from .results import NoResult, audio_file, ending, seconds
from .server import PromptRefused, Server, ServerGone
from .workflow import Request

_SHORTEST_S, _LONGEST_S = 0.02, 1.0  # between two looks while nothing ends
_MISSING_AFTER_S = 0.5  # the queue, which holds whole prompts, is read only if nothing ends for so long
_BACKOFF_S = (0.5, 10.0)
_MAX_POSTS = 3  # a prompt that takes ComfyUI down each time must not do so for ever


@dataclass(slots=True)
class Tally:
    """How many items a run made, found made, and failed, of how many."""

    total: int
    made: int = 0
    kept: int = 0
    failed: int = 0

    @property
    def finished(self) -> int:
        """Items whose file is there."""
        return self.made + self.kept


class Runner:
    """One run over `requests`.

    Args:
        server: The ComfyUI that works.
        ledger: The folder that the results go to.
        requests: In the order in which they shall be made.
        window: How many prompts may be in ComfyUI's queue at a time.
        patience_s: How long ComfyUI may be away.
        retry_failed: Whether what failed in an earlier run is tried again.
        say: Takes one line for the user.
        sleep: Waits for seconds.
        clock: Seconds since some time.
    """

    def __init__(
        self,
        server: Server,
        ledger: Ledger,
        requests: Sequence[Request],
        *,
        window: int = 4,
        patience_s: float = 120.0,
        retry_failed: bool = True,
        say: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server, self._ledger, self._requests = server, ledger, requests
        self._window, self._patience_s, self._retry_failed = window, patience_s, retry_failed
        self._say, self._sleep, self._clock = say, sleep, clock
        self.tally = Tally(len(requests))
        self.outstanding: dict[str, Request] = {}  # by prompt id, in the order of posting
        self._waiting: deque[Request] = deque()
        self._queued: set[str] = set()  # what was in the queue when it was last read for the sake of finding ours
        self._posts: Counter[str] = Counter()
        self._away_since: float | None = None

    def run(self) -> Tally:
        """Make every item that is not made yet.

        Raises:
            OSError: Nobody answers, for longer than `patience_s` if somebody did before; or a file cannot be written.
        """
        self._sort_out()
        if self._waiting:
            try:
                self._queued = self._server.queued()
            except ServerGone as gone:
                raise OSError(f"No ComfyUI answers at {self._server.url} ({gone}); start it or give --url.") from None
        pause = _SHORTEST_S
        while self._waiting or self.outstanding:
            try:
                self._fill()
                has_ended = self._collect()
                self._away_since = None
                if has_ended:
                    pause = _SHORTEST_S
                    continue
                if pause > _MISSING_AFTER_S:
                    self._give_up_missing()
            except ServerGone as gone:
                self._wait_for_server(gone)
            self._sleep(pause)
            pause = min(pause * 1.5, _LONGEST_S)
        self._ledger.tidy(self._requests)
        return self.tally

    def cancel(self) -> None:
        """Take what waits in ComfyUI's queue out of it; what runs goes on, and a later run finds it."""
        self._server.delete(list(self.outstanding))

    def _sort_out(self) -> None:
        for request in self._requests:
            if self._ledger.is_done(request):
                self.tally.kept += 1
            elif not self._retry_failed and self._ledger.has_failed(request):
                self.tally.failed += 1
            else:
                self._waiting.append(request)

    def _fill(self) -> None:
        while self._waiting and len(self.outstanding) < self._window:
            self._place(self._waiting[0])
            self._waiting.popleft()

    def _place(self, request: Request) -> None:
        """Have a request in ComfyUI's queue or history, once. First the queue, then the history: so it moves there."""
        prompt_id = self._ledger.prompt_id(request)
        if prompt_id not in self._queued and self._server.history(prompt_id) is None:
            if self._posts[prompt_id] == _MAX_POSTS:
                self._fail(request, f"ComfyUI went away {_MAX_POSTS} times while this was in its queue")
                return
            try:
                self._server.post(request.prompt, prompt_id)
            except PromptRefused as refusal:
                self._fail(request, str(refusal))
                return
            self._posts[prompt_id] += 1
        self.outstanding[prompt_id] = request

    def _collect(self) -> bool:
        """Put down what has ended; whether anything has."""
        has_ended = False
        for prompt_id, request in list(self.outstanding.items()):
            has_ended |= self._settle(prompt_id, request)
        return has_ended

    def _settle(self, prompt_id: str, request: Request) -> bool:
        entry = self._server.history(prompt_id)
        if entry is None:
            return False
        try:
            file = audio_file(entry, request.prompt)
            suffix = ending(file)
            data = self._server.view(file)
        except (NoResult, PromptRefused) as reason:
            self._fail(request, str(reason))
        else:
            self._keep(request, suffix, data)
        del self.outstanding[prompt_id]
        self._fill()  # ComfyUI must not wait while the rest of the window is looked at
        return True

    def _give_up_missing(self) -> None:
        queued = self._server.queued()
        for prompt_id, request in list(self.outstanding.items()):
            if prompt_id not in queued and self._server.history(prompt_id) is None:
                self._fail(request, "it was taken out of ComfyUI's queue")
                del self.outstanding[prompt_id]

    def _wait_for_server(self, gone: ServerGone) -> None:
        """Wait until ComfyUI answers; afterwards everything outstanding is placed anew, for it may have forgotten."""
        if self._away_since is None:
            self._away_since = self._clock()
            self._say(f"ComfyUI does not answer ({gone}); waiting up to {self._patience_s:.0f} s.")
        delay, longest = _BACKOFF_S
        while True:
            if self._clock() - self._away_since >= self._patience_s:
                raise OSError(
                    f"{self._server.url} has not answered for {self._patience_s:.0f} s ({gone}); "
                    f"{self.tally.finished} of {self.tally.total} are finished: start the same command again to go on."
                )
            self._sleep(delay)
            delay = min(delay * 2, longest)
            try:
                self._queued = self._server.queued()
            except ServerGone as still:
                gone = still
                continue
            self._waiting.extendleft(reversed(self.outstanding.values()))
            self.outstanding.clear()
            return

    def _keep(self, request: Request, suffix: str, data: bytes) -> None:
        entry = self._ledger.keep(request, suffix, data, seconds(data))
        self.tally.made += 1
        length = "" if entry.seconds is None else f", {entry.seconds:.1f} s"
        self._tell(entry, f"{entry.file}{length}")

    def _fail(self, request: Request, reason: str) -> None:
        entry = self._ledger.fail(request, reason)
        self.tally.failed += 1
        self._tell(entry, f"failed: {reason}")

    def _tell(self, entry: Entry, what: str) -> None:
        done = self.tally.finished + self.tally.failed
        self._say(f"[{done}/{self.tally.total}] line {entry.line}: {what}")
