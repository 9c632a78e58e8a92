"""Our side of the tests: loaded models, references for them, and what they say."""

import torch
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.f5_tts.engine import ENGINE
from mizuoto.engines.voices import clone_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime

CPU = torch.device("cpu")
RUNTIME = Runtime()
STEPS = 7


def load(folder, dtype=torch.float32):
    """The checkpoint in `folder` as an engine."""
    return ENGINE.load(LoadSpec(folder.name, folder, CPU, dtype), RUNTIME)


def reference(seconds=0.7, level=0.2, sample_rate=24000, seed=3):
    """A recording of noise to clone."""
    samples = torch.randn(1, int(seconds * sample_rate), generator=torch.Generator().manual_seed(seed))
    return Audio(level * samples, sample_rate)


def voice(model, words="This is the reference.", **values):
    """A voice of that recording."""
    return clone_voice(model, reference(**values), words, "", RUNTIME.context())


def options(**values):
    """Options, few steps by default."""
    return Options("f5_tts", {"steps": STEPS, **values})


def talk(model, text, speaker, *, seed=0, ctx=None, **values):
    """Codes of a text."""
    return speech.talk(model, text, speaker, options(**values), ctx or RUNTIME.context(seed))


def waveform(model, codes):
    """Samples [T] of each segment, as the engine gives them."""
    with torch.inference_mode():
        return [chunk.waveform[0] for chunk in model.decode(codes, RUNTIME.context())]
