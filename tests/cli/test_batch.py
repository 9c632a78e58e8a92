"""`mizuoto batch` from its arguments to its exit code, against a fake ComfyUI."""

import json

import pytest
from mizuoto.__main__ import main
from mizuoto.cli.batch.runner import Runner
from mizuoto.tests.cli.batch.fake import WORKFLOW, FakeComfy, serving, sound
from mizuoto.tests.host.local import free_port


@pytest.fixture
def comfy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    fake = FakeComfy()
    fake.pace = 9
    with serving(fake) as fake.url:
        yield fake


@pytest.fixture
def run(comfy, tmp_path):
    """Runs the command on `content`; gives back its exit code."""

    def start(content, *options, url=comfy.url):
        path = tmp_path / "lines.csv"
        path.write_text(content, "utf-8")
        return main(["batch", str(path), "--output", str(tmp_path / "out"), "--url", url, *options])

    return start


def names(tmp_path):
    return {path.name for path in (tmp_path / "out").iterdir()} - {"manifest.jsonl", ".mizuoto-batch"}


def test_lines_become_files(run, comfy, tmp_path, capsys):
    assert run("id,text,seed\na,One.,5\nb,Two.,6\n") == 0
    assert names(tmp_path) == {"a.flac", "b.flac"}
    told = capsys.readouterr()
    assert told.out == f"{tmp_path / 'out'}: 2 of 2 files (2 made now).\n"
    assert told.err.splitlines() == ["[1/2] line 2: a.flac", "[2/2] line 3: b.flac"]
    assert run("id,text,seed\na,One.,5\nb,Two.,6\n") == 0
    assert capsys.readouterr().out.endswith("2 of 2 files (0 made now).\n") and len(comfy.posted) == 2


def test_a_workflow_and_a_mapping_of_ones_own(run, tmp_path, capsys):
    path = tmp_path / "api.json"
    path.write_text(json.dumps(WORKFLOW), "utf-8")
    assert run("text,take,note\nOne.,5,x\n", "--workflow", str(path), "--map", "take=Say.seed") == 0
    expected = json.loads(json.dumps(WORKFLOW))
    expected["2"]["inputs"].update(text="One.", seed=5)
    assert (tmp_path / "out" / "2.flac").read_bytes() == sound(expected)
    assert capsys.readouterr().err.splitlines()[0] == "Columns that go nowhere (see --map): note."


def test_failures_are_told_and_counted(run, tmp_path, capsys):
    assert run("text\nOne.\ninvalid\n") == 1
    told = capsys.readouterr()
    assert "1 of 2 files (1 made now). 1 failed, see manifest.jsonl; the same command tries them again" in told.out
    assert "line 3: failed: " in told.err
    assert run("text\nOne.\ninvalid\n", "--no-retry-failed") == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("text\n", []),
        ("text,seed\nOne.,1\nTwo.,many\n", []),
        ("id,text\na,One.\na,Two.\n", []),
        ("text\nOne.\n", ["--map", "nonsense"]),
        ("text\nOne.\n", ["--workflow", "none.json"]),
        ("text\nOne.\n", ["--encoding", "klingon"]),
    ],
)
def test_what_is_wrong_with_the_input_is_told_before_anything_is_sent(run, comfy, tmp_path, capsys, content, options):
    assert run(content, *options) == 1
    assert capsys.readouterr().err.startswith("mizuoto: ")
    assert comfy.posted == [] and not (tmp_path / "out").exists()


def test_nobody_at_the_address_is_one_line(run, capsys):
    assert run("text\nOne.\n", url=f"http://127.0.0.1:{free_port()}") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mizuoto: No ComfyUI answers at http://127.0.0.1:")


@pytest.mark.parametrize("window", ["0", "-1", "x"])
def test_a_window_of_none_is_refused(run, window):
    with pytest.raises(SystemExit):
        run("text\nOne.\n", "--window", window)


@pytest.mark.parametrize(("options", "left"), [((), 2), (("--cancel-on-exit",), 0)])
def test_ctrl_c_tells_how_to_go_on(run, comfy, tmp_path, monkeypatch, capsys, options, left):
    comfy.pace = 0
    collect = Runner._collect

    def interrupted(runner):
        if len(comfy.executions) == 2:
            raise KeyboardInterrupt
        comfy.execute()
        return collect(runner)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_collect", interrupted)
        assert run("text\nOne.\nTwo.\nThree.\nFour.\n", "--window", "2", *options) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("Stopped: 2 of 4 are finished; start the same command again for the rest.")
    assert said.endswith("2 of them are in ComfyUI's queue.") == bool(left)
    assert len(comfy.queue) == left
    comfy.pace = 9
    assert run("text\nOne.\nTwo.\nThree.\nFour.\n") == 0
    assert names(tmp_path) == {"2.flac", "3.flac", "4.flac", "5.flac"} and len(comfy.executions) == 4
