import json
import logging
import os
import threading
import time

import pytest
from mizuoto.mizuoto_runtime.memory import calibrate
from mizuoto.mizuoto_runtime.memory.calibrate import Calibration, phase_bytes

KEY = "hibari:talker"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory" / "calibration.json"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def warnings(caplog):
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_nothing_is_known_at_first(path, caplog):
    assert Calibration(path).factor(KEY) == 1.0
    assert Calibration().factor(KEY) == 1.0
    assert not path.exists() and not warnings(caplog)


def test_remembers_what_was_missed_with_a_margin(path):  # S166
    calibration = Calibration(path)
    calibration.observe(KEY, 100, 200)
    assert calibration.factor(KEY) == 2.2
    assert calibration.factor("hibari:codec") == 1.0
    assert json.loads(path.read_text()) == {"version": 2, "factors": {KEY: 2.2}}  # S167
    assert Calibration(path).factor(KEY) == 2.2


@pytest.mark.parametrize("peak", [0, 50, 100])
def test_estimates_that_held_teach_nothing(path, peak):
    calibration = Calibration(path)
    calibration.observe(KEY, 100, peak)
    assert calibration.factor(KEY) == 1.0 and not path.exists()


def test_without_an_estimate_there_is_no_ratio(path):
    calibration = Calibration(path)
    calibration.observe(KEY, 0, 100)
    assert calibration.factor(KEY) == 1.0


def test_never_more_than_sixteen(path):
    calibration = Calibration(path)
    calibration.observe(KEY, 1, 1000)
    assert calibration.factor(KEY) == 16.0
    assert Calibration(path).factor(KEY) == 16.0


def test_writes_only_what_is_new(path):
    calibration = Calibration(path)
    calibration.observe(KEY, 100, 200)
    path.unlink()
    for peak in (1, 200, 219):  # within what is reserved by now
        calibration.observe(KEY, 100, peak)
    assert not path.exists()
    calibration.observe(KEY, 100, 300)
    assert calibration.factor(KEY) == 3.3 and path.exists()
    calibration.observe(KEY, 1, 1000)
    path.unlink()
    calibration.observe(KEY, 1, 2000)  # over the maximum, which is reserved already
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        '{"factors": {}}',
        '{"version": 2}',
        '{"version": 1, "factors": {"a:b": 2.0}}',
        '{"version": 3, "factors": {"a:b": 2.0}}',
        '{"version": 2, "factors": ["a:b"]}',
        '{"version": 2, "factors": {"a:b": "2"}}',
        '{"version": 2, "factors": {"a:b": null}}',
        '{"version": 2, "factors": {"a:b": true}}',
        '{"version": 2, "factors": {"a:b": NaN}}',
        '{"version": 2, "factors": {"a:b": 0.5}}',
        '{"version": 2, "factors": {"a:b": 17}}',
        '{"version": 2, "factors": {"a:b": 1e999}}',
        '{"version": 2, "factors": {"a:b": %s}}' % ("9" * 400),
        "[" * 100_000,
    ],
)
def test_damaged_and_other_files_are_ignored_with_one_line(path, caplog, text):  # S167
    write(path, text)
    calibration = Calibration(path)
    assert calibration.factor("a:b") == 1.0
    assert len(warnings(caplog)) == 1 and "\n" not in warnings(caplog)[0].getMessage()
    calibration.observe(KEY, 1, 2)  # and replaced when there is something to remember
    assert Calibration(path).factor(KEY) == 2.2


def test_a_file_that_is_no_text_is_ignored(path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    assert Calibration(path).factor(KEY) == 1.0
    assert len(warnings(caplog)) == 1


def test_a_place_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    calibration = Calibration(tmp_path / "file" / "calibration.json")
    caplog.clear()
    calibration.observe(KEY, 1, 2)
    calibration.observe(KEY, 1, 3)
    assert calibration.factor(KEY) == 3.3
    assert len(warnings(caplog)) == 1


def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch):
    calibration = Calibration(path)
    calibration.observe(KEY, 1, 2)

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    calibration.observe(KEY, 1, 5)
    assert json.loads(path.read_text())["factors"] == {KEY: 2.2}
    assert os.listdir(path.parent) == [path.name]


def test_threads_lose_nothing(path, monkeypatch):
    calibration, replace, writing = Calibration(path), calibrate._replace, []

    def slowly(*args):
        writing.append(1)
        time.sleep(0.0005)
        assert len(writing) == 1
        replace(*args)
        writing.pop()

    monkeypatch.setattr(calibrate, "_replace", slowly)

    def work(index):
        for step in range(1, 11):
            calibration.observe(f"engine:{index}", 10, 10 + step)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = Calibration(path)
    for index in range(8):
        assert again.factor(f"engine:{index}") == calibration.factor(f"engine:{index}") >= 2.0
    assert os.listdir(path.parent) == [path.name]


def test_factors_never_shrink():
    calibration, last = Calibration(), 1.0
    for peak in (110, 120, 90, 300, 301, 299, 2000):
        calibration.observe(KEY, 100, peak)
        assert calibration.factor(KEY) >= max(last, min(16, peak / 100))
        last = calibration.factor(KEY)
    assert last == calibrate.MAX_FACTOR


def test_only_the_phase_itself_is_counted():  # S165
    assert phase_bytes(1000, 400, 0, 0) == 600
    assert phase_bytes(1000, 400, 250, 50) == 300
    assert phase_bytes(1000, 400, 0, -100) == 600  # it freed what others had left behind
    assert phase_bytes(1000, 900, 200, 0) == 0
