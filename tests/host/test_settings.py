"""What a user sets for the server, in a real ComfyUI: over the routes, in the file, by the environment, in a run."""

import json

import pytest
from mizuoto.tests.host.comfy import HostError
from mizuoto.tests.host.graphs import load, node, report, speak

ROUTE = "/mizuoto/settings"


@pytest.fixture
def server(start_comfy, tmp_path):
    """Starts a ComfyUI whose user folder outlives it: `server(VARIABLE="value")`."""
    (tmp_path / "user").mkdir()
    return lambda **env: start_comfy("--cpu", links={"user": tmp_path / "user"}, env=env)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "user" / "mizuoto" / "settings.json"


def row(answer, key):
    return next(row for row in answer["settings"] if row["key"] == key)


def state(answer, key):
    return row(answer, key)["value"], row(answer, key)["source"]


def test_saved_values_are_used_and_survive_a_restart_and_the_environment_wins(server, file):
    graph = load() | speak("One.") | node("show", "PreviewAny", source=["speak", 1])
    first = server()
    assert state(first.get(ROUTE), "hibari.speed") == (1.0, "default")
    slow = report(first.run(graph))
    told = first.put(ROUTE, {"hibari.speed": 2, "compute.vram_mode": "low", "compute.segment_cache_mb": 0})
    assert state(told, "hibari.speed") == (2.0, "saved")
    fast = first.run(graph)
    assert "speak" in fast.executed and "load" in fast.cached
    assert (report(fast)["params"]["speed"], slow["params"]["speed"]) == (2.0, 1.0)
    assert report(fast)["audio_seconds"] < slow["audio_seconds"]
    assert "speak" in first.run(graph).cached
    assert first.get("/mizuoto/runtime")["vram_mode"] == "low"
    chosen = node("options", "MizuotoHibariOptions", speed=1.0) | graph | speak("One.", options=["options", 0])
    assert report(first.run(chosen))["params"]["speed"] == 1.0, "options that are connected win"
    first.stop()

    second = server(MIZUOTO_VRAM_MODE="none", MIZUOTO_OOM_RETRIES="many")
    found = second.get(ROUTE)
    assert state(found, "hibari.speed") == (2.0, "saved")
    assert state(found, "compute.vram_mode") == ("none", "environment")
    assert "many" in row(found, "compute.oom_retries")["problem"]
    with pytest.raises(HostError, match=r"409.*fixed by the environment variable MIZUOTO_VRAM_MODE"):
        second.put(ROUTE, {"compute.vram_mode": "auto"})
    assert json.loads(file.read_text())["compute.vram_mode"] == "low"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"compute.oom_retry": 1}, "400.*no setting.*Did you mean .*compute.oom_retries"),
        ({"compute.oom_retries": 9}, "400.*its range is 0 to 2"),
        ({"compute.oom_retries": "2"}, "400.*use a whole number"),
        ({"hibari.speed": True}, "400.*takes a float"),
        ({"compute.fast": "tf23"}, "400.*Did you mean .*tf32"),
        ({"voices.folder": "/"}, "409.*set where ComfyUI runs"),
        ({"compute.host_copies": "on", "hibari.speed": 99}, "400.*its range is 0.5 to 2"),
        ([], "400.*send"),
        ({"compute.fast": "x" * 70_000}, "413.*longer than 64 KB"),
    ],
)
def test_what_is_no_good_is_refused_with_a_sentence_and_changes_nothing(comfy, body, sentence):
    before = comfy.get(ROUTE)
    with pytest.raises(HostError, match=sentence):
        comfy.put(ROUTE, body)
    assert comfy.get(ROUTE) == before


def test_a_damaged_file_is_set_aside_and_a_folder_of_voices_is_listed(server, file, tmp_path):
    file.parent.mkdir()
    file.write_text('{"compute.oom_retries": 1')
    voices = tmp_path / "my voices"
    voices.mkdir()
    (voices / "anna.wav").write_bytes(b"")
    comfy = server(MIZUOTO_VOICE_FOLDER=str(voices))
    assert "anna.wav" in str(comfy.get("/object_info/MizuotoLoadVoice"))
    folder = row(comfy.get(ROUTE), "voices.folder")
    assert (folder["value"], folder["read_only"]) == (str(voices), True)
    assert state(comfy.get(ROUTE), "compute.oom_retries") == (2, "default")
    assert file.with_name("settings.damaged.json").is_file()
    assert "settings.json are damaged" in comfy.log()
    comfy.put(ROUTE, {"compute.oom_retries": 0})
    comfy.put(ROUTE, {"compute.oom_retries": None})
    assert json.loads(file.read_text()) == {}
