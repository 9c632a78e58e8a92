"""Our side of the tests: loaded models, and what they write about recordings."""

from contextlib import contextmanager

import numpy as np
import torch
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.qwen3_asr.engine import ENGINE
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime

CPU = torch.device("cpu")
RUNTIME = Runtime()


def load(folder, dtype=torch.float32):
    """The checkpoint in `folder` as an engine."""
    return ENGINE.load(LoadSpec(folder.name, folder, CPU, dtype), RUNTIME)


def module(model, part):
    """The module of a handle, "audio_encoder" or "decoder"."""
    return next(handle.module for handle in model.handles if handle.name.endswith(f":{part}"))


def audio(waveform):
    """A recording of samples [T]."""
    return Audio(torch.from_numpy(np.asarray(waveform, np.float32))[None], 16000)


def transcribe(model, waveform, language=None, *, ctx=None, **values):
    """The transcript of samples [T]."""
    options = model.manifest.resolve(Options("qwen3_asr", values))
    with torch.inference_mode():
        return model.transcribe(audio(waveform), language, options, ctx or RUNTIME.context())


@contextmanager
def hooked(part, hook):
    """`hook` is called after every forward of `part`."""
    handle = part.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def writing(model, ids):
    """The model writes these ids, and the last one for ever."""
    left = list(ids)

    def only(*call):
        scores = torch.full_like(call[-1], -100.0)
        scores[..., left.pop(0) if len(left) > 1 else left[0]] = 100.0
        return scores

    with hooked(module(model, "decoder").head, only):
        yield


def ids_of(model, text):
    """Ids of a text, and of the end."""
    return [*model._prompt._bpe.encode(text), model._prompt.eos_ids[0]]
