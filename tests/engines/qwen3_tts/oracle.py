"""The upstream package as the judge, loaded once a folder: float32 on the CPU, quiet, in memory of its own."""

import functools
import logging
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from mizuoto.engines.qwen3_tts import keys
from mizuoto.mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from mizuoto.mizuoto_runtime.nn.rvq import fold_codebooks

qwen_tts = pytest.importorskip("qwen_tts")
from transformers import logging as transformers_logging  # noqa: E402


@functools.cache
def load(folder: Path):
    """`Qwen3TTSModel` of the checkpoint in `folder`."""
    transformers_logging.set_verbosity_error()
    logging.getLogger("qwen_tts").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = qwen_tts.Qwen3TTSModel.from_pretrained(
            str(folder), device_map="cpu", dtype=torch.float32, attn_implementation="sdpa"
        )
    for module in (found.model, found.model.speech_tokenizer.model):
        own_memory(module)
    return found


def own_memory(module: torch.nn.Module) -> None:
    """Move weights out of the mapped file: where a file puts a tensor decides some last bits of small products."""
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.data = tensor.data.clone()


def codec_decoder(folder: Path) -> torch.nn.Module:
    """The codec's decoder: codes [B, K, T] -> waveform [B, 1, T * 1920]."""
    return load(folder).model.speech_tokenizer.model.decoder


def codec_encoder(folder: Path) -> torch.nn.Module:
    """The codec's encoder, transformers' Mimi without its decoder."""
    return load(folder).model.speech_tokenizer.model.encoder


def speaker_encoder(folder: Path) -> torch.nn.Module:
    """The speaker encoder of a base checkpoint: mel [B, T, n_mels] -> [B, size]."""
    return load(folder).model.speaker_encoder


def noise(seconds: float, seed: int = 0, sample_rate: int = 24000) -> np.ndarray:
    """A recording of noise, float32 [T]."""
    samples = np.random.default_rng(seed).standard_normal(int(seconds * sample_rate))
    return (0.1 * samples).astype(np.float32)


def weights_of(folder: Path, component: str) -> dict[str, torch.Tensor]:
    """Our names and tensors of one component, read from both files of a checkpoint."""
    found = {}
    for source in (folder, folder / "speech_tokenizer"):
        for key, tensor in read_checkpoint_folder(source):
            place, name = keys.rename(key)
            if place == component:
                found[name] = tensor
    return fold_codebooks(found)
