"""The manifest: cut lines, foreign ones, two runs at once."""

import json

import pytest
from mizuoto.cli.batch.ledger import Ledger, refuse_strangers
from mizuoto.mizuoto_runtime.errors import InvalidRequest


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


def kept(folder, requests):
    with Ledger(folder) as ledger:
        for request in requests:
            ledger.keep(request, ".flac", request.line.id.encode(), 1.5)


def test_what_an_entry_says(folder, requests_of):
    (request,) = requests_of(a="One.")
    kept(folder, [request])
    entry = json.loads((folder / "manifest.jsonl").read_text("utf-8"))
    assert entry.pop("prompt_id").count("-") == 4
    assert entry == {
        "id": "a", "line": 1, "file": "a.flac", "seconds": 1.5, "seed": 1, "status": "done", "error": None,
        "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "request": request.digest, "attempt": 0,
    }  # fmt: skip


@pytest.mark.parametrize("keep", [0, 1, 40])
def test_a_line_that_a_kill_cut_off_is_made_again(folder, requests_of, keep):
    requests = requests_of(a="One.", b="Two.")
    kept(folder, requests)
    path = folder / "manifest.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:keep])
    with Ledger(folder) as ledger:
        assert [ledger.is_done(request) for request in requests] == [True, False]
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "line",
    ["{}", "[1]", "nonsense", '{"id": "a", "file": "b"}', "WITH ../a.flac", "WITH manifest.jsonl", "WITH /etc/passwd"],
)
def test_a_manifest_of_somebody_else_is_left_alone(folder, requests_of, line):
    kept(folder, requests_of(a="One."))
    path = folder / "manifest.jsonl"
    if line.startswith("WITH"):
        line = json.dumps(json.loads(path.read_text("utf-8")) | {"file": line.split()[1]})
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    before = path.read_bytes()
    with pytest.raises(InvalidRequest, match=r"Line 2 of .*manifest\.jsonl. was not written by a batch"):
        Ledger(folder)
    assert path.read_bytes() == before


def test_one_run_at_a_time(folder):
    with Ledger(folder), pytest.raises(InvalidRequest, match="Another batch is writing"):
        Ledger(folder)
    Ledger(folder).__exit__(None, None, None)


def test_files_of_somebody_else_are_not_written_over(folder):
    folder.mkdir()
    refuse_strangers(folder, ["a"])
    (folder / "A.wav").write_bytes(b"mine")
    (folder / "notes.txt").write_bytes(b"mine")
    refuse_strangers(folder, ["b", "notes"])
    with pytest.raises(InvalidRequest, match=r"A\.wav. is there already and no batch made it"):
        refuse_strangers(folder, ["a"])
    Ledger(folder).__exit__(None, None, None)
    refuse_strangers(folder, ["a"])


def test_another_ending_replaces_the_file(folder, requests_of):
    (first,), (second,) = requests_of(a="One."), requests_of(a="Two.")
    kept(folder, [first])
    with Ledger(folder) as ledger:
        ledger.keep(second, ".mp3", b"x", None)
    assert {path.name for path in folder.iterdir()} == {"a.mp3", "manifest.jsonl", ".mizuoto-batch"}


def test_a_file_that_was_changed_by_hand_is_not_removed(folder, requests_of):
    (first,), (second,) = requests_of(a="One."), requests_of(a="Two.")
    kept(folder, [first])
    (folder / "a.flac").write_bytes(b"edited")
    with Ledger(folder) as ledger:
        ledger.keep(second, ".mp3", b"x", None)
    assert (folder / "a.flac").read_bytes() == b"edited"


def test_the_id_of_a_prompt_is_new_only_after_a_failure(folder, requests_of):
    one, other = requests_of(a="One.", b="One.")
    (changed,) = requests_of(a="Two.")
    with Ledger(folder) as ledger:
        first = ledger.prompt_id(one)
        assert len({first, ledger.prompt_id(other), ledger.prompt_id(changed)}) == 3
    with Ledger(folder) as ledger:
        assert ledger.prompt_id(one) == first
        ledger.fail(one, "on fire")
        again = ledger.prompt_id(one)
        assert again != first
        ledger.fail(one, "on fire")
        assert ledger.prompt_id(one) not in (first, again)
        assert ledger.attempt(one) == 2 and ledger.attempt(changed) == 0
