"""Our side of the tests: a loaded model, its parts, what it says."""

from contextlib import ExitStack, contextmanager
from pathlib import Path

import mizuoto
import torch
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.omnivoice.engine import ENGINE
from mizuoto.engines.voices import clone_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime

CPU = torch.device("cpu")
RUNTIME = Runtime()
ROOT = Path(mizuoto.__path__[0])


def load(folder, dtype=torch.float32):
    """The checkpoint in `folder` as an engine."""
    return ENGINE.load(LoadSpec(folder.name, folder, CPU, dtype), RUNTIME)


def part(model, name):
    """The module of the handle `name`."""
    return next(handle.module for handle in model.handles if handle.name.endswith(f":{name}"))


def options(**values):
    return Options("omnivoice", values)


def clone(model, waveform, words, rate=24000):
    """A voice of [T]."""
    return clone_voice(model, Audio(waveform[None], rate), words, "", RUNTIME.context())


def say(model, text, voice=None, *, seed=0, ctx=None, **values):
    """(the one segment of a text, its sound)."""
    codes = speech.talk(model, text, voice, options(**values), ctx or RUNTIME.context(seed))
    return codes.segments[0], speech.decode(model, codes, RUNTIME.context()).waveform[0]


@contextmanager
def noted(**modules):
    """{name: [outputs]} of modules while the block runs."""
    found = {name: [] for name in modules}
    with ExitStack() as stack:
        for name, module in modules.items():
            hook = module.register_forward_hook(lambda m, a, out, name=name: found[name].append(out))
            stack.callback(hook.remove)
        yield found
