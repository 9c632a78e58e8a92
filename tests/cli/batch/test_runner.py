"""The loop against a fake ComfyUI: windows, failures, a server that goes, and kills at every step."""

import contextlib
import os

import pytest
from mizuoto.cli.batch.ledger import Ledger
from mizuoto.cli.batch.runner import Runner
from mizuoto.cli.batch.server import Server
from mizuoto.tests.cli.batch.fake import sound
from mizuoto.tests.host.local import free_port

TEXTS = [f"Number {number}." for number in range(6)]


class Killed(BaseException):
    """The end of the process, as far as the code under test can see."""


def error(message="CUDA is on fire"):
    data = {"node_id": "2", "node_type": "MizuotoSpeak", "exception_message": message}
    return [["execution_start", {}], ["execution_error", data]]


# -- a run that nothing disturbs ----------------------------------------------------------------------------------


def test_every_line_becomes_a_file_and_a_line_of_the_manifest(comfy, batch, requests_of):
    requests = requests_of(*TEXTS)
    tally = batch(requests)
    assert (tally.total, tally.made, tally.kept, tally.failed) == (6, 6, 0, 0)
    assert batch.files() == {f"{r.line.number}.flac": sound(r.prompt) for r in requests}
    assert [(e["id"], e["file"], e["status"], e["seed"]) for e in batch.manifest()] == [
        (str(number), f"{number}.flac", "done", 1) for number in range(1, 7)
    ]
    assert {path.name for path in batch.folder.iterdir()} - set(batch.files()) == {"manifest.jsonl", ".mizuoto-batch"}
    assert batch.said[-1] == "[6/6] line 6: 6.flac"


@pytest.mark.parametrize("window", [1, 3])
def test_no_more_prompts_than_the_window_are_in_the_queue(comfy, batch, requests_of, window):
    comfy.pace = 0
    batch(requests_of(*TEXTS), window=window, sleep=lambda _: comfy.execute())
    assert comfy.deepest == window
    assert comfy.executions == TEXTS


def test_a_prompt_that_ended_at_once_is_collected(comfy, batch, requests_of):
    comfy.pace = 10
    assert batch(requests_of(*TEXTS)).made == 6


def test_equal_lines_are_asked_for_one_by_one(comfy, batch, requests_of):
    batch(requests_of("Same.", "Same."))
    assert len(set(comfy.posted)) == 2 and len(batch.files()) == 2


# -- again --------------------------------------------------------------------------------------------------------


def test_what_is_finished_is_not_asked_for_again_and_needs_no_server(comfy, batch, requests_of):
    batch(requests_of(*TEXTS))
    posted = list(comfy.posted)
    comfy.answers["/"] = (404, b"")
    tally = batch(requests_of(*TEXTS))
    assert (tally.made, tally.kept, comfy.posted) == (0, 6, posted)


def test_only_changed_lines_and_damaged_files_are_made_again(comfy, batch, requests_of):
    batch(requests_of(a="One.", b="Two.", c="Three."))
    (batch.folder / "c.flac").write_bytes(b"harmed")
    comfy.executions.clear()
    requests = requests_of(a="One.", b="Changed.", c="Three.")
    assert (batch(requests).made, comfy.executions) == (2, ["Changed."])  # the other is still in the history
    assert batch.files() == {f"{r.line.id}.flac": sound(r.prompt) for r in requests}
    assert [entry["id"] for entry in batch.manifest()] == ["a", "b", "c"]


def test_two_folders_are_two_batches(comfy, batch, requests_of, tmp_path):
    batch(requests_of("One."))
    batch(requests_of("One."), tmp_path / "other")
    assert comfy.executions == ["One.", "One."]


def test_an_item_that_leaves_the_list_stays_in_the_manifest(batch, requests_of):
    batch(requests_of(a="One.", b="Two."))
    batch(requests_of(c="Three."))
    assert [entry["id"] for entry in batch.manifest()] == ["c", "a", "b"]


# -- kills --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def killing(monkeypatch, step):
    """Raises `Killed` before or after the `step`-th thing that the world outside could notice; counts them."""
    count = [0]

    def guarded(function):
        def call(*args, **kwargs):
            count[0] += 1
            if count[0] == step:
                raise Killed
            result = function(*args, **kwargs)
            count[0] += 1
            if count[0] == step:
                raise Killed
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("queued", "history", "post", "view"):
            patch.setattr(Server, name, guarded(getattr(Server, name)))
        for name in ("replace", "fsync"):
            patch.setattr(os, name, guarded(getattr(os, name)))
        yield count


def test_a_kill_at_any_step_costs_nothing_and_posts_nothing_twice(comfy, batch, requests_of, monkeypatch, tmp_path):
    requests = requests_of(*TEXTS[:3])
    undisturbed = tmp_path / "undisturbed"
    with killing(monkeypatch, 0) as count:
        batch(requests, undisturbed, window=2)
    assert count[0] > 40
    for step in range(1, count[0] + 1):
        folder = tmp_path / str(step)
        comfy.forget()
        comfy.posted.clear()
        with killing(monkeypatch, step), contextlib.suppress(Killed):
            batch(requests, folder, window=2)
        tally = batch(requests, folder, window=2)
        assert tally.finished == 3, step
        assert batch.files(folder) == batch.files(undisturbed), step
        assert len(comfy.posted) == len(set(comfy.posted)) == 3, step
        assert {path.name for path in folder.iterdir()} == {path.name for path in undisturbed.iterdir()}, step


def test_prompts_still_in_the_queue_are_taken_over(comfy, batch, requests_of, monkeypatch):
    comfy.pace = 0
    requests = requests_of(*TEXTS)
    with Ledger(batch.folder) as ledger:
        runner = Runner(Server(comfy.url), ledger, requests)
        monkeypatch.setattr(runner, "_collect", lambda: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            runner.run()
    assert len(comfy.queue) == 4
    comfy.pace = 1
    assert batch(requests).made == 6
    assert len(comfy.posted) == len(set(comfy.posted)) == 6


# -- failures -----------------------------------------------------------------------------------------------------


def test_a_failing_item_is_named_and_the_rest_goes_on(comfy, batch, requests_of):
    comfy.failing["Two."] = error("CUDA is\n on fire")
    tally = batch(requests_of("One.", "Two.", "invalid voice", "Four."))
    assert (tally.made, tally.failed) == (2, 2)
    assert "[1/4] line 3: failed: MizuotoSpeak (node 2): Value not in list: invalid voice" in batch.said
    reasons = {entry["line"]: entry["error"] for entry in batch.manifest()}
    assert reasons[2] == "MizuotoSpeak (node 2): CUDA is on fire" and reasons[1] is reasons[4] is None
    assert set(batch.files()) == {"1.flac", "4.flac"}


def test_a_failed_item_is_tried_again_the_next_time_or_not(comfy, batch, requests_of):
    comfy.failing["Two."] = error()
    requests = requests_of("One.", "Two.")
    batch(requests)
    comfy.failing.clear()
    tally = batch(requests, retry_failed=False)
    assert (tally.kept, tally.failed, len(comfy.posted)) == (1, 1, 2)
    assert batch(requests).made == 1
    assert [entry["status"] for entry in batch.manifest()] == ["done", "done"]


def test_a_failure_that_an_earlier_run_did_not_live_to_see_is_told(comfy, batch, requests_of):
    comfy.failing["One."] = error()
    requests = requests_of("One.")
    with Ledger(batch.folder) as ledger:
        Server(comfy.url).post(requests[0].prompt, ledger.prompt_id(requests[0]))
    assert batch(requests).failed == 1 and len(comfy.posted) == 1


def test_a_changed_line_that_fails_leaves_no_file_of_its_old_self(comfy, batch, requests_of):
    batch(requests_of(a="One."))
    comfy.failing["Bad."] = error()
    batch(requests_of(a="Bad."))
    assert batch.files() == {}


def test_a_prompt_that_somebody_removes_fails(comfy, batch, requests_of):
    comfy.pace = 0
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        comfy.queue.clear()

    assert batch(requests_of("One."), sleep=sleep).failed == 1
    assert batch.manifest()[0]["error"] == "it was taken out of ComfyUI's queue"
    assert max(waits) <= 1.0


def test_an_interrupted_prompt_fails(comfy, batch, requests_of):
    comfy.failing["One."] = [["execution_interrupted", {}]]
    batch(requests_of("One."))
    assert batch.manifest()[0]["error"] == "it was interrupted in ComfyUI"


def test_a_cached_result_whose_file_is_gone_fails_with_a_way_out(comfy, batch, requests_of):
    file = {"filename": "gone.flac", "subfolder": "", "type": "output"}
    comfy.outputs = lambda _: {"3": {"audio": [file]}}
    batch(requests_of("One."))
    assert 'ComfyUI no longer has its file "gone.flac"' in batch.manifest()[0]["error"]


# -- a server that goes -------------------------------------------------------------------------------------------


def test_a_restarted_server_is_given_what_it_forgot(comfy, batch, requests_of):
    comfy.pace = 0

    def sleep(_):
        if comfy.pace:  # it is back
            comfy.answers.clear()
        elif len(comfy.queue) == 4:
            comfy.forget()
            comfy.answers["/"] = (503, b"")
            comfy.pace = 1

    assert batch(requests_of(*TEXTS), sleep=sleep).made == 6
    assert len(batch.files()) == 6
    assert "ComfyUI does not answer (it answers 503); waiting up to 120 s." in batch.said


def test_a_server_that_stays_away_ends_the_run_with_one_sentence(comfy, batch, requests_of):
    clock = [0.0]

    def sleep(seconds):
        comfy.execute()
        clock[0] += seconds
        if len(batch.files()) >= 2:
            comfy.answers["/"] = (502, b"")

    comfy.pace = 0
    requests = requests_of(*TEXTS)
    with pytest.raises(OSError, match=r"not answered for 60 s .*502.*; [2-5] of 6 are finished: start the same"):
        batch(requests, sleep=sleep, patience_s=60.0, clock=lambda: clock[0])
    assert 60 <= clock[0] < 100
    comfy.answers.clear()
    comfy.pace = 1
    assert batch(requests).finished == 6
    assert len(comfy.posted) == len(set(comfy.posted)) == 6


def test_a_prompt_that_takes_the_server_down_every_time_fails(comfy, batch, requests_of):
    comfy.pace = 0

    def sleep(_):
        if comfy.answers:
            comfy.answers.clear()
        elif comfy.queue:
            comfy.forget()
            comfy.answers["/"] = (502, b"")

    assert batch(requests_of("One."), sleep=sleep).failed == 1
    assert len(comfy.posted) == 3
    assert batch.manifest()[0]["error"] == "ComfyUI went away 3 times while this was in its queue"


def test_nobody_there_at_the_start_is_one_sentence_at_once(comfy, requests_of, tmp_path):
    server = Server(f"http://127.0.0.1:{free_port()}")
    with Ledger(tmp_path / "out") as ledger, pytest.raises(OSError, match=r"^No ComfyUI answers at http.*start it or"):
        Runner(server, ledger, requests_of("One."), sleep=lambda _: pytest.fail("it waits")).run()
