"""Our side of the tests: loaded models, voices for them, and what they say."""

from contextlib import contextmanager

import torch
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.qwen3_tts.codec import SAMPLES_PER_FRAME, windows
from mizuoto.engines.qwen3_tts.engine import ENGINE
from mizuoto.engines.voices import clone_voice, design_voice, preset_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime

CPU = torch.device("cpu")
RUNTIME = Runtime()
FRAME_RATE_HZ = 12.5


def load(folder, dtype=torch.float32):
    """The checkpoint in `folder` as an engine."""
    return ENGINE.load(LoadSpec(folder.name, folder, CPU, dtype), RUNTIME)


def reference(seconds=1.5):
    """A recording of noise to clone."""
    samples = torch.randn(1, int(seconds * 24000), generator=torch.Generator().manual_seed(3))
    return Audio(0.1 * samples, 24000)


def voice_for(model, kind, transcript="the hello"):
    """The plainest voice of a kind of checkpoint."""
    if kind == "base":
        return clone_voice(model, reference(), transcript, "", RUNTIME.context())
    return preset_voice(model.manifest, "Ryan") if kind == "custom_voice" else None


def design(model, description):
    """A voice of `description`."""
    return design_voice(model, description, RUNTIME.context())


def options(frames=None, **values):
    """Options of the exact loop, with a limit of `frames`."""
    limit = {} if frames is None else {"max_seconds": frames / FRAME_RATE_HZ}
    return Options("qwen3_tts", {"stop_loops": False, "decoding": "exact", **limit, **values})


def say(model, text, voice=None, *, seed=0, frames=4, ctx=None, **values):
    """Codes [T, codebooks] of a text of one segment."""
    ctx = ctx or RUNTIME.context(seed)
    (segment,) = speech.talk(model, text, voice, options(frames, **values), ctx).segments
    return segment.tensors["codes"]


def talker_of(model):
    """The talker's module."""
    return next(handle.module for handle in model.handles if handle.name.endswith(":talker"))


@contextmanager
def hooked(module, hook):
    """`hook` is called after every forward of `module`."""
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def endless(model):
    """A context in which the model never comes to an end."""
    talker = talker_of(model)
    return hooked(talker.codec_head, lambda *inputs: without(inputs[-1], talker.config.tokens.eos))


def without(logits, token):
    """`logits`, which no longer offer `token`."""
    logits[..., token] = -torch.inf
    return logits


def decode_chunks(module, codes, *window):
    """The waveform of [B, K, T] codes in pieces, as the engine decodes them; `window` as in `windows`."""
    for start, stop, context in windows(codes.shape[-1], *window):
        yield module(codes[..., start:stop])[..., context * SAMPLES_PER_FRAME :]
