import json
import logging

import pytest
from mizuoto.mizuoto_runtime.errors import InvalidRequest, SettingIsFixed
from mizuoto.mizuoto_runtime.preferences import Preferences
from mizuoto.mizuoto_runtime.settings import COMPUTE, TABLE, Settings


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mizuoto" / "settings.json"


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def described(preferences, key):
    return next(row for row in preferences.describe() if row["key"] == key)


def test_environment_before_file_before_default(path):
    write(path, {"compute.oom_retries": 0, "compute.vram_mode": "low"})
    found = Preferences(TABLE, path, {"MIZUOTO_VRAM_MODE": "none"})
    assert Settings.of(found.values()) == Settings(oom_retries=0, vram_mode="none")
    sources = {row["key"]: row["source"] for row in found.describe()}
    assert (sources.pop("compute.oom_retries"), sources.pop("compute.vram_mode")) == ("saved", "environment")
    assert set(sources.values()) == {"default"}
    json.dumps(found.describe(), allow_nan=False)


def test_what_is_saved_is_there_at_the_next_start_beside_what_nobody_knows(path):
    write(path, {"of.another_version": [1]})
    Preferences(TABLE, path, {}).save({"compute.oom_fallback": True, "compute.segment_cache_mb": 0})
    again = Preferences(TABLE, path, {})
    assert again.saved("compute.") == {"oom_fallback": True, "segment_cache_mb": 0}
    again.save({"compute.oom_fallback": None})
    assert again.value("compute.oom_fallback") is False
    assert json.loads(path.read_text()) == {"of.another_version": [1], "compute.segment_cache_mb": 0}
    assert [file.name for file in path.parent.iterdir()] == [path.name], "something is left of the writing"


@pytest.mark.parametrize(
    ("changes", "kind", "sentence"),
    [
        ({"compute.oom_retry": 1}, InvalidRequest, 'Did you mean "compute.oom_retries"'),
        ({"x": 1}, InvalidRequest, "There are: compute.vram_mode, "),
        ({"compute.oom_retries": True}, InvalidRequest, "use a whole number"),
        ({"compute.oom_retries": 1.5}, InvalidRequest, "use a whole number"),
        ({"compute.oom_fallback": 1}, InvalidRequest, "use true or false"),
        ({"compute.pinned_models": ["a"]}, InvalidRequest, "use text"),
        ({"compute.pinned_models": "a" * 10_001}, InvalidRequest, "the limit is 10,000"),
        ({"compute.fast": "tf32, tf23"}, InvalidRequest, 'Did you mean "tf32"'),
        ({"compute.host_copies": "on", "compute.vram_mode": "auto"}, SettingIsFixed, "MIZUOTO_VRAM_MODE"),
        ({"voices.folder": None}, SettingIsFixed, "MIZUOTO_VOICE_FOLDER"),
    ],
)
def test_refusals_change_nothing(path, changes, kind, sentence):
    preferences = Preferences(TABLE, path, {"MIZUOTO_VRAM_MODE": "low"})
    with pytest.raises(kind, match=sentence):
        preferences.save(changes)
    assert preferences.saved() == {} and not path.exists()


@pytest.mark.parametrize("content", ['{"compute.oom_retries": ', "[]", "", "\x00", "[" * 100_000])
def test_a_damaged_file_is_set_aside(path, content, caplog):
    write(path, content)
    preferences = Preferences(TABLE, path, {})
    assert Settings.of(preferences.values()) == Settings()
    assert path.with_name("settings.damaged.json").read_text() == content and not path.exists()
    assert "are damaged" in caplog.text
    preferences.save({"compute.oom_retries": 1})
    assert json.loads(path.read_text()) == {"compute.oom_retries": 1}


def test_a_bad_value_is_passed_over_and_kept(path, caplog):
    content = {"compute.oom_retries": 7, "compute.async_offload": 1, "voices.folder": str(path)}
    write(path, content)
    preferences = Preferences(TABLE, path, {})
    assert preferences.saved() == {"compute.async_offload": 1}
    assert caplog.text.count("is passed over") == 2
    preferences.save({"compute.async_offload": 2})
    assert json.loads(path.read_text()) == content | {"compute.async_offload": 2}


def test_what_cannot_be_read_or_written_does_not_keep_from_starting(path, caplog):
    path.mkdir(parents=True)
    preferences = Preferences(TABLE, path, {})
    assert preferences.value("compute.oom_retries") == 2 and "cannot be read" in caplog.text
    with pytest.raises(OSError):
        preferences.save({"compute.oom_retries": 1})
    assert preferences.saved() == {}


def test_a_bad_variable_is_shown_and_counts_as_an_error(caplog):
    caplog.set_level(logging.WARNING)
    preferences = Preferences(COMPUTE, None, {"MIZUOTO_OOM_RETRIES": "many"})
    row = described(preferences, "compute.oom_retries")
    assert (row["value"], row["source"], row["read_only"]) == (2, "environment", True)
    assert "MIZUOTO_OOM_RETRIES" in row["problem"]
    with pytest.raises(InvalidRequest, match="MIZUOTO_OOM_RETRIES"):
        preferences.values()


def test_a_folder_is_a_folder(tmp_path):
    (tmp_path / "file").touch()
    for given in (str(tmp_path / "file"), "relative", str(tmp_path / "none")):
        with pytest.raises(InvalidRequest, match=r"MIZUOTO_VOICE_FOLDER.*which is no folder"):
            Preferences(TABLE, None, {"MIZUOTO_VOICE_FOLDER": given}).value("voices.folder")
    preferences = Preferences(TABLE, None, {"MIZUOTO_VOICE_FOLDER": "relative"})
    assert Settings.of(preferences.values("compute.")) == Settings(), "models load all the same"
    assert Preferences(TABLE, None, {"MIZUOTO_VOICE_FOLDER": str(tmp_path)}).value("voices.folder") == str(tmp_path)
