"""API prompts for the tests, and the sound that comes out of them."""

import io
import json

import av
import numpy as np

MODEL = "hibari (built-in)"
TEXT = "Good morning. This is a test of the voice."


def node(name, kind, /, **inputs):
    """One node of the class `kind`, called `name`."""
    return {name: {"class_type": kind, "inputs": inputs}}


def load(model=MODEL, **inputs):
    return {"load": {"class_type": "MizuotoLoadModel", "inputs": {"model": model, **inputs}}}


def save(source, node="save"):
    return {node: {"class_type": "SaveAudio", "inputs": {"audio": source, "filename_prefix": node}}}


def show(source, node="show"):
    return {node: {"class_type": "PreviewAny", "inputs": {"source": source}}}


def speak(text=TEXT, seed=0, node="speak", **inputs):
    inputs = {"model": ["load", 0], "text": text, "seed": seed, **inputs}
    return {node: {"class_type": "MizuotoSpeak", "inputs": inputs}}


def spoken(text=TEXT, seed=0, **inputs):
    """Load, speak, save."""
    return load() | speak(text, seed, **inputs) | save(["speak", 0])


def phases(text=TEXT, seed=0, **inputs):
    """Load, talk, decode, save."""
    talker = {"model": ["load", 0], "text": text, "seed": seed, **inputs}
    return (
        load()
        | {"talk": {"class_type": "MizuotoTalker", "inputs": talker}}
        | {"decode": {"class_type": "MizuotoCodecDecoder", "inputs": {"model": ["load", 0], "codes": ["talk", 0]}}}
        | save(["decode", 0])
    )


def sound(comfy, run, node="save"):
    """Samples [T] int16 that a save node wrote."""
    (samples,) = sounds(comfy, run, node)
    return samples


def sounds(comfy, run, node="save"):
    """The same of every file of a save node that was given a list."""
    return [_samples(comfy, file) for file in run.outputs[node]["audio"]]


def _samples(comfy, file):
    with av.open(io.BytesIO(comfy.view(file))) as container:
        assert container.streams.audio[0].channels == 1
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    samples = np.concatenate(frames, axis=1)[0]
    return samples if samples.dtype == np.int16 else (samples >> 16).astype(np.int16)


def report(run, node="speak"):
    (text,) = run.outputs[node]["mizuoto_report"]
    return json.loads(text)
