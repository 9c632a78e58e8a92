"""The upstream package as the judge: its model over the folder of a checkpoint."""

import functools
import sys
import types
import warnings
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch

FILLERS = ("kaiming_uniform_", "uniform_", "normal_", "xavier_uniform_", "trunc_normal_")


@functools.cache
def kokoro():
    """The package; of misaki, whose parsers phonemes do not need, it gets the names only."""
    stubs = {name: types.ModuleType(name) for name in ("misaki.en", "misaki.espeak")}
    stubs["misaki.en"].MToken = object
    sys.modules.update(stubs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import kokoro
    finally:
        for name in stubs:
            del sys.modules[name]
    return kokoro


@functools.cache
def load(folder):
    """`KModel` of the checkpoint in `folder`, built without drawing the weights that it then reads."""
    with ExitStack() as stack, torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for owner, names in ((torch.nn.init, FILLERS), (torch.Tensor, ("normal_", "uniform_"))):
            for name in names:
                stack.enter_context(mock.patch.object(owner, name, lambda tensor, *_, **__: tensor))
        files = (str(folder / "config.json"), str(folder / "kokoro-v1_0.pth"))
        return kokoro().KModel("hexgrad/Kokoro-82M", *files).eval()


def style(folder, voice, num_phonemes):
    """[1, 2 * style_dim] as the upstream's pipeline chooses it."""
    return torch.load(folder / "voices" / f"{voice}.pt", weights_only=True)[num_phonemes - 1]


def speak(model, phonemes, style, speed=1.0, seed=0):
    """(what the upstream makes of phonemes, what its decoder was given: text, f0, energy, style)."""
    with torch.random.fork_rng(devices=[]), seen(model.decoder) as inputs, torch.inference_mode():
        torch.manual_seed(seed)  # noqa: TID251 - the sequence to be equalled
        return model(phonemes, style, speed, return_output=True), inputs


def prosody(model, phonemes, style, speed=1.0):
    """The same without its decoder, whose sound is one sample."""
    with mock.patch.object(model.decoder, "forward", lambda *_: torch.zeros(1)):
        return speak(model, phonemes, style, speed)


@contextmanager
def seen(module):
    """Collects what `module` is called with."""
    inputs = []
    hook = module.register_forward_pre_hook(lambda _, given: inputs.extend(given))
    try:
        yield inputs
    finally:
        hook.remove()
