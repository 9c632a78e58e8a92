"""The built-in voice, for tests that need real speech."""

from functools import cache

import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.hibari.engine import ENGINE
from mizuoto.engines.speech import speak
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.runtime import Runtime


@cache
def spoken(text, seed=0):
    """What it makes of `text`: (waveform [1, T], sample rate)."""
    engine, runtime = _loaded()
    audio = speak(engine, text, None, None, runtime.context(seed))
    return audio.waveform, audio.sample_rate


@cache
def _loaded():
    runtime = Runtime()
    manifest = ENGINE.manifest
    return ENGINE.load(LoadSpec(manifest.id, manifest.built_in, CPU, torch.float32), runtime), runtime
