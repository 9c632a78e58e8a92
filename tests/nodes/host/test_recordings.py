"""Recordings of voices and the words in them, as files."""

import math
from importlib import import_module

import numpy as np
import pytest
import soundfile
from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError


@pytest.fixture
def recordings(packages_without_comfyui):
    return import_module("mizuoto.nodes.host.recordings")


@pytest.mark.parametrize(("longest", "limit"), [(math.inf, 60), (100.0, 60), (3.0, 3)])
def test_no_engine_hears_more_than_there_is_room_for(recordings, tmp_path, monkeypatch, longest, limit):  # P09
    monkeypatch.setattr(recordings, "MAX_SECONDS", 60.0)
    soundfile.write(tmp_path / "a.wav", np.zeros(8000 * 61, dtype=np.int16), 8000)
    with pytest.raises(InvalidRequest, match=f"longer than {limit} s"):
        recordings.read_recording(tmp_path / "a.wav", longest)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Größe 声 🎙".encode(), "Größe 声 🎙"),
        ("Größe 声".encode("utf-8-sig"), "Größe 声"),
        ("Größe 声 🎙".encode("utf-16"), "Größe 声 🎙"),
        (b"\xfe\xff" + "Größe 声".encode("utf-16-be"), "Größe 声"),
        ("你好，世界。".encode("gbk"), "你好，世界。"),
        ("你好，㐀。".encode("gb18030"), "你好，㐀。"),
        ("我用Python写代码".encode("gbk"), "我用Python写代码"),
        ("He said “hi” 了".encode("gbk"), "He said “hi” 了"),
        (b"  Two\r\nlines.\n", "Two\r\nlines."),
        (b"", ""),
        (b" \n", ""),
    ],
)
def test_words_in_every_encoding(recordings, tmp_path, content, text):
    (tmp_path / "a.txt").write_bytes(content)
    assert recordings.read_words(tmp_path / "a.txt") == text


LATIN_1 = [
    text.encode("latin-1")
    for text in (
        "Größe",
        "Mädchen für",
        "Ça va déjà",
        "Ärger im Büro.",
        "Übung macht den Meister.",
        "Étude",
        "Åsa äter",
    )
]
NO_MARK = [
    "你好，世界".encode("big5"),
    "你好世界".encode("utf-16-be"),
    "Hi.".encode("utf-16-le"),
    "Hi.".encode("utf-32"),
    b"\0\1\2",
]


@pytest.mark.parametrize("content", [*LATIN_1, *NO_MARK])
def test_words_in_an_unknown_encoding_say_so(recordings, tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InvalidRequest, match=r'The encoding of "a\.txt" is unknown; save it as UTF-8\.$'):
        recordings.read_words(tmp_path / "a.txt")


def test_a_book_is_no_transcript(recordings, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"word " * 20000)
    with pytest.raises(InvalidRequest, match="too long for the words"):
        recordings.read_words(tmp_path / "a.txt")


def test_words_that_cannot_be_read_say_so(recordings, tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read") as caught:
        recordings.read_words(tmp_path)
    assert str(tmp_path.parent) not in str(caught.value)
