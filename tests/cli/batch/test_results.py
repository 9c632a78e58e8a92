"""Which file of a prompt is its result, and how long it is."""

import io
import wave

import pytest
from mizuoto.cli.batch.results import NoResult, audio_file, ending, seconds
from mizuoto.tests.cli.batch.fake import WORKFLOW


def entry(**outputs):
    files = {node: {"audio": [{"filename": name} for name in names]} for node, names in outputs.items()}
    return {"outputs": files | {"text": {"text": ["x"]}}, "status": {"status_str": "success"}}


PROMPT = {
    **WORKFLOW,
    "saved": {"class_type": "SaveAudioMP3", "inputs": {}},
    "heard": {"class_type": "PreviewAudio", "inputs": {}},
}


def test_saved_before_previewed_before_others():
    everything = {"2": ["speak.flac"], "heard": ["heard.flac"], "saved": ["saved.mp3"]}
    for expected in ("saved.mp3", "heard.flac", "speak.flac"):
        file = audio_file(entry(**everything), PROMPT)
        assert file["filename"] == expected
        del everything[{"saved.mp3": "saved", "heard.flac": "heard", "speak.flac": "2"}[expected]]
    with pytest.raises(NoResult, match="saved no audio; end it with a Save Audio"):
        audio_file(entry(**everything), PROMPT)


def test_several_files_are_no_result():
    with pytest.raises(NoResult, match="saved 2 audio files where one is taken"):
        audio_file(entry(saved=["a.mp3", "b.mp3"]), PROMPT)
    with pytest.raises(NoResult, match="saved 2 audio files"):
        audio_file(entry(saved=["a.mp3"], **{"3": ["b.flac"]}), PROMPT)


def test_a_status_without_a_message_is_told_as_it_is():
    with pytest.raises(NoResult, match="ended it with the status error"):
        audio_file({"outputs": {}, "status": {"status_str": "error", "messages": []}}, PROMPT)


@pytest.mark.parametrize(("name", "expected"), [("a.flac", ".flac"), ("a.b.MP3", ".mp3")])
def test_the_ending(name, expected):
    assert ending({"filename": name}) == expected


@pytest.mark.parametrize("name", ["a", "a.", "a.b c", ".flac", "a.é"])
def test_a_name_without_an_ending(name):
    with pytest.raises(NoResult, match="has no ending"):
        ending({"filename": name})


def test_seconds_of_flac_and_wav():
    import av
    import numpy as np

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="flac") as container:
        stream = container.add_stream("flac", rate=24000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 36000), np.int16), format="s16", layout="mono")
        frame.sample_rate = 24000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert seconds(buffer.getvalue()) == 1.5
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(4000))
    assert seconds(buffer.getvalue()) == 0.25


@pytest.mark.parametrize("data", [b"", b"fLaC", b"fLaC" + bytes(40), b"ID3 is no WAV", b"RIFF"])
def test_the_length_of_others_is_not_known(data):
    assert seconds(data) is None
