"""`python -m mizuoto transcribe`: a sound file to text, with a made-up engine."""

import sys
import wave
from pathlib import Path

import pytest
from mizuoto import engines
from mizuoto.__main__ import main
from mizuoto.engines.transcript import Transcript
from mizuoto.tests.engines.dummy_listener import MANIFEST, DummyListenerEngine

CLIP = Path(__file__).resolve().parents[1] / "data" / "speech" / "austen-0870.wav"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A folder that only the made-up engine knows."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "listener.txt").touch()
    monkeypatch.setattr(engines, "recognise", lambda folder: MANIFEST if MANIFEST.recognise(folder) else None)
    monkeypatch.setattr(engines, "engine", {"dummy_listener": DummyListenerEngine()}.get)
    return str(tmp_path / "model")


def refused(capsys, *arguments):
    assert main(["transcribe", *map(str, arguments)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mizuoto: ")
    return line


def test_a_file_is_written_down(model, capsys):
    assert main(["transcribe", str(CLIP), "--model", model]) == 0
    words = capsys.readouterr().out.split()
    with wave.open(str(CLIP)) as file:
        assert len(words) == -(-file.getnframes() // file.getframerate())


@pytest.mark.parametrize(
    ("format", "start"), [("srt", "1\n00:00:00,000 --> "), ("vtt", "WEBVTT\n\n1\n"), ("json", "{")]
)
def test_formats_and_a_file_for_them(model, tmp_path, capsys, format, start):
    target = tmp_path / "out.txt"
    assert main(["transcribe", str(CLIP), "--model", model, "--format", format, "--output", str(target)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    assert target.read_text(encoding="utf-8").startswith(start)


@pytest.mark.parametrize(("language", "tag"), [("auto", "en"), ("German", "de"), ("DE-at", "de"), ("Javanese", "jw")])
def test_the_language_reaches_the_engine_as_it_spells_it(model, capsys, language, tag):
    assert main(["transcribe", str(CLIP), "--model", model, "--language", language, "--format", "json"]) == 0
    assert Transcript.from_json(capsys.readouterr().out).language == tag


def test_languages_that_nobody_or_not_this_model_knows(model, capsys):
    told = refused(capsys, CLIP, "--model", model, "--language", "Germam")
    assert told.endswith('Did you mean "German"?')
    assert 'does not know the language "fr"' in refused(capsys, CLIP, "--model", model, "--language", "French")


def test_what_is_no_recording_or_no_model_is_one_line(model, tmp_path, capsys):
    text = tmp_path / "text.wav"
    text.write_text("no sound", encoding="utf-8")
    assert "is damaged or no recording" in refused(capsys, text, "--model", model)
    assert "cannot be decoded (No such file" in refused(capsys, tmp_path / "gone.wav", "--model", model)
    assert "No engine knows the model" in refused(capsys, CLIP, "--model", tmp_path)
    empty = tmp_path / "empty.wav"
    with wave.open(str(empty), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
    assert "no sound in it" in refused(capsys, empty, "--model", model)


def test_a_failure_leaves_no_file(model, tmp_path, capsys):
    target = tmp_path / "out.srt"
    refused(capsys, CLIP, "--model", model, "--language", "fr", "--output", target)
    assert not target.exists()


def test_a_speaking_model_cannot_listen(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(engines, "recognise", lambda folder: engines.manifests()["hibari"])
    assert "cannot transcribe" in refused(capsys, CLIP, "--model", tmp_path)


def test_without_pyav_it_says_so(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "av", None)
    assert "needs the package av, which is not installed" in refused(capsys, CLIP, "--model", model)
