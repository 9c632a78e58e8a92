import json

import pytest
from mizuoto.mizuoto_runtime.report import SCHEMA_VERSION, RunReport


def test_json_has_every_field():
    report = RunReport("id", task="speak", seed=2**64 - 1, versions={"torch": "2"})
    data = json.loads(report.to_json())
    assert data["schema_version"] == SCHEMA_VERSION
    assert (data["run_id"], data["task"], data["seed"]) == ("id", "speak", 2**64 - 1)
    assert set(data) == set(RunReport.__dataclass_fields__)


def test_real_time_factor_needs_a_total_and_audio():
    report = RunReport("id", audio_seconds=4.0)
    assert "rtf" not in json.loads(report.to_json())
    report.timings_ms["total"] = 1000.0
    assert json.loads(report.to_json())["rtf"] == 0.25
    report.audio_seconds = 0.0
    assert "rtf" not in json.loads(report.to_json())


def test_times_add_up_even_when_the_block_fails(monkeypatch):
    clock = iter([0.0, 1.0, 10.0, 12.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    report = RunReport("id")
    with report.timed("talker"):
        pass
    with pytest.raises(KeyError), report.timed("talker"):
        raise KeyError
    assert report.timings_ms == {"talker": 3000.0}


def test_a_warning_is_said_once():
    report = RunReport("id")
    for text in ("a", "b", "a"):
        report.warn("code", text)
    assert report.warnings == [{"code": "code", "text": "a"}, {"code": "code", "text": "b"}]


def test_memory_is_in_megabytes():
    report = RunReport("id")
    report.note_memory("hibari:talker", 3 << 20, 1 << 20, 0)
    assert report.memory == {"hibari:talker": {"size_mb": 3.0, "loaded_mb": 1.0, "streamed_mb": 0.0}}


def test_memory_is_what_was_noted_last():
    report = RunReport("id")
    report.note_memory("hibari:talker", 8 << 20, 2 << 20, 5 << 20)
    report.note_memory("hibari:talker", 8 << 20, 4 << 20, 11 << 20)
    report.note_memory("hibari:decoder", 1 << 20, 1 << 20, 0)
    assert report.memory["hibari:talker"] == {"size_mb": 8.0, "loaded_mb": 4.0, "streamed_mb": 11.0}
    assert report.memory["hibari:decoder"]["streamed_mb"] == 0.0


def test_text_is_readable():
    assert "schön" in RunReport("id", params={"text": "schön"}).to_json()


def test_reports_share_nothing():
    RunReport("a").applied["x"] = 1
    assert RunReport("b").applied == {}
