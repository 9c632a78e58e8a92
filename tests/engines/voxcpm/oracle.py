"""The upstream package as the judge, loaded once a folder: on the CPU, quiet, uncompiled."""

import contextlib
import functools
import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

voxcpm = pytest.importorskip("voxcpm")
import torchaudio  # noqa: E402
from voxcpm.model import voxcpm as first  # noqa: E402
from voxcpm.model import voxcpm2 as second  # noqa: E402


def _read(path, *_args, **_options):
    """(samples [C, T], Hz): torchaudio's own reader needs a decoder that is not there."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(np.ascontiguousarray(samples.T)), rate


@functools.cache
def load(folder: Path, lora: Path | None = None):
    """`VoxCPM` of the checkpoint in `folder`, with an adapter if there is one."""
    options = {}
    if lora is not None:
        config = second.LoRAConfig(enable_lm=True, enable_dit=True, enable_proj=True, r=4, alpha=6)
        options = {"lora_config": config, "lora_weights_path": str(lora)}
    with _quiet():
        return voxcpm.VoxCPM.from_pretrained(str(folder), load_denoiser=False, optimize=False, device="cpu", **options)


def say(model, text, seed, *, stream=False, **arguments):
    """What `generate` gives, [samples]; streamed, the pieces."""
    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng(devices=[]), _quiet():
        patch.setattr(torchaudio, "load", _read)
        torch.manual_seed(seed)  # noqa: TID251 - the upstream draws from the global generator
        if stream:
            return [torch.from_numpy(piece) for piece in model.generate_streaming(text=text, **arguments)]
        return torch.from_numpy(model.generate(text=text, **arguments))


def say_on(model, lines, **arguments):
    """[samples] of each (text, seed), the first without a voice and the others going on from it."""
    inner, cache, found = model.tts_model, None, []
    with torch.random.fork_rng(devices=[]), _quiet():
        for text, seed in lines:
            torch.manual_seed(seed)  # noqa: TID251 - as above
            waveform, _, patches = inner.generate_with_prompt_cache(text, cache, **arguments)
            found.append(waveform.flatten())
            cache = cache or inner.merge_prompt_cache(None, text, patches)
    return found


@contextlib.contextmanager
def _quiet():
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()):
        for module in (first, second):
            patch.setattr(module, "tqdm", lambda steps: steps)
        yield


def watch(model, note):
    """Call `note(stage, tensor)` with what every tensor stage gives; returns a function that stops it."""
    inner = model.tts_model
    stages = {
        "encoder": (inner.feat_encoder, lambda out: out),
        "base": (inner.base_lm, lambda out: out[0]),
        "residual": (inner.residual_lm, lambda out: out[0]),
        "quantizer": (inner.fsq_layer, lambda out: out),
        "velocity": (inner.feat_decoder.estimator, lambda out: out),
        "patch": (inner.feat_decoder, lambda out: out.transpose(1, 2)),
        "stop": (inner.stop_head, lambda out: out),
    }

    def hook(stage, pick):
        return lambda module, inputs, out: note(stage, pick(out).detach().clone())

    handles = [part.register_forward_hook(hook(stage, pick)) for stage, (part, pick) in stages.items()]
    steps = [(part, part.forward_step) for part in (inner.base_lm, inner.residual_lm)]
    for (part, step), stage in zip(steps, ("base", "residual"), strict=True):
        part.forward_step = functools.partial(_noted, step, stage, note)

    def stop():
        for handle in handles:
            handle.remove()
        for part, _ in steps:
            del part.forward_step

    return stop


def _noted(step, stage, note, *inputs):
    found = step(*inputs)
    note(stage, found.detach().clone()[:, None])
    return found
