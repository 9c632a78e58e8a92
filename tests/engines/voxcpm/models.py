"""Our side of the tests: loaded models, recordings for them, and what they say."""

import soundfile
import torch
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.voices import clone_voice
from mizuoto.engines.voxcpm.engine import ENGINE
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime

CPU = torch.device("cpu")
RUNTIME = Runtime()
TEXT = "Hello there, this is a test of speech."
WORDS = "a prompt."


def load(folder, dtype=torch.float32):
    """The checkpoint in `folder` as an engine."""
    return ENGINE.load(LoadSpec(folder.name, folder, CPU, dtype), RUNTIME)


def recording(seconds=1.5, rate=16000, channels=1):
    """Something voiced and noisy to clone."""
    time = torch.arange(int(seconds * rate)) / rate
    noise = torch.randn(channels, len(time), generator=torch.Generator().manual_seed(3))
    return Audio(0.2 * torch.sin(900 * time * (1 - time / 60))[None] + 0.03 * noise, rate)


def write(audio, path):
    """A file of a recording that reads back to the bit."""
    soundfile.write(path, audio.waveform.T.numpy(), audio.sample_rate, subtype="FLOAT")
    return str(path)


def clone(model, audio=None, transcript=WORDS):
    """A voice of a recording."""
    return clone_voice(model, audio or recording(), transcript, "", RUNTIME.context())


def options(**values):
    """Options of a short take of which every draw is the upstream's."""
    return Options("voxcpm", {"attempts": 1, "steps": 4, **values})


def seconds(model, patches):
    """The option `max_seconds` for so many patches."""
    return patches / model._config.patches_per_second + 1e-6


def talk(model, text=TEXT, voice=None, *, seed=0, ctx=None, **values):
    """The codes of a text of one segment."""
    return speech.talk(model, text, voice, options(**values), ctx or RUNTIME.context(seed))


def decode(model, codes, ctx=None):
    """[samples] of codes."""
    return speech.decode(model, codes, ctx or RUNTIME.context()).waveform[0]


def talker_of(model):
    """The talker's module."""
    return next(handle.module for handle in model.handles if handle.name.endswith(":talker"))


def watch(model, note):
    """As the oracle's `watch`."""
    talker = talker_of(model)
    stages = {
        "encoder": (talker.feat_encoder, lambda out: out),
        "base": (talker.base_lm, lambda out: out),
        "residual": (talker.residual_lm, lambda out: out),
        "quantizer": (talker.fsq_layer, lambda out: out),
        "velocity": (talker.feat_decoder.estimator, lambda out: out),
        "patch": (talker.feat_decoder, lambda out: out),
        "stop": (talker.stop_head, lambda out: out),
    }

    def hook(stage, pick):
        return lambda module, inputs, out: note(stage, pick(out).detach().clone())

    handles = [part.register_forward_hook(hook(stage, pick)) for stage, (part, pick) in stages.items()]
    return lambda: [handle.remove() for handle in handles]
