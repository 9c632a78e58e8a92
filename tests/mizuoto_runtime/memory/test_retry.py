import gc
from weakref import ref

import pytest
from mizuoto.mizuoto_runtime.errors import OutOfDeviceMemory
from mizuoto.mizuoto_runtime.memory.retry import run_exact
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory


class Attempts:
    """Fails so many times, then gives its result."""

    def __init__(self, failures, error=SimulatedOutOfMemory):
        self.failures, self.error, self.log = failures, error, []

    def __call__(self):
        self.log.append("try")
        if self.log.count("try") <= self.failures:
            raise self.error(f"failure {self.log.count('try')}")
        return "done"

    def make_room(self):
        self.log.append("room")


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_reruns_until_it_succeeds(failures):  # S157
    attempts = Attempts(failures)
    assert run_exact(attempts, attempts.make_room, 2) == ("done", failures, "")
    assert attempts.log == ["try", "room"] * failures + ["try"]


@pytest.mark.parametrize("max_retries", [0, 1, 2])
def test_gives_up_after_the_last_retry(max_retries):
    attempts = Attempts(9)
    assert run_exact(attempts, attempts.make_room, max_retries) == (
        None,
        max_retries,
        f"failure {max_retries + 1}",
    )
    assert attempts.log.count("try") == max_retries + 1


class OutOfMemoryError(RuntimeError):
    """Looks like torch's."""


def test_an_error_without_a_text_is_still_a_failure():
    def attempt():
        raise OutOfMemoryError

    assert run_exact(attempt, lambda: None, 0) == (None, 0, "OutOfMemoryError")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, KeyboardInterrupt, OutOfDeviceMemory])
def test_other_errors_pass_through(error):
    attempts = Attempts(1, error)
    with pytest.raises(error):
        run_exact(attempts, attempts.make_room, 2)
    assert attempts.log == ["try"]


class Tensorlike:
    pass


def test_frames_of_the_failed_attempt_are_gone_before_the_next():  # S154
    alive, seen = [], []

    def attempt():
        held = Tensorlike()
        alive.append(ref(held))
        if len(alive) < 3:
            raise SimulatedOutOfMemory("out of memory")
        return "done"

    def make_room():
        seen.append([reference() for reference in alive])

    gc.disable()  # reference counting alone must do it
    try:
        run_exact(attempt, make_room, 2)
    finally:
        gc.enable()
    assert seen == [[None], [None, None]]
