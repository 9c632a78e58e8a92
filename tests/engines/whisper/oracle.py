"""The upstream packages as judges: openai-whisper and transformers with a checkpoint's weights, float32 on the CPU."""

import functools
import json
import warnings
from pathlib import Path

import numpy as np
import torch
import whisper
from mizuoto.engines.whisper import ctranslate2
from transformers import WhisperForConditionalGeneration
from transformers import logging as transformers_logging
from whisper.model import ModelDimensions, Whisper

NAMES = (
    ("encoder/conv", "encoder.conv"),
    ("position_encodings/encodings", "positional_embedding"),
    ("decoder/embeddings/", "decoder.token_embedding."),
    ("/layer_norm/gamma", ".ln.weight"),
    ("/layer_norm/beta", ".ln.bias"),
    ("/layer_", ".blocks."),
    ("/self_attention", ".attn"),
    ("/attention", ".cross_attn"),
    ("/ffn.ln", ".mlp_ln"),
    ("attn.ln.", "attn_ln."),
    ("/ffn/linear_0", ".mlp.0"),
    ("/ffn/linear_1", ".mlp.2"),
    ("encoder.ln.", "encoder.ln_post."),
    ("/", "."),
)
PACKED = {
    ".attn.linear_0": ("query", "key", "value"),
    ".attn.linear_1": ("out",),
    ".cross_attn.linear_0": ("query",),
    ".cross_attn.linear_1": ("key", "value"),
    ".cross_attn.linear_2": ("out",),
}


@functools.cache
def openai(folder: Path) -> Whisper:
    """openai-whisper with the weights of a CTranslate2 folder."""
    file = ctranslate2.read_file(folder / "model.bin")
    model = Whisper(ModelDimensions(80, 1500, 384, 6, 4, file.shapes["decoder/embeddings/weight"][0], 448, 384, 6, 4))
    state = {}
    for name, tensor in raw_tensors(folder / "model.bin"):
        state |= dict(pieces(renamed(name), tensor))
    missing, unexpected = model.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise AssertionError(f"missing {missing}, unexpected {unexpected}")
    heads = torch.zeros(4, 6, dtype=torch.bool)
    for layer, head in json.loads((folder / "config.json").read_text())["alignment_heads"]:
        heads[layer, head] = True
    model.register_buffer("alignment_heads", heads.to_sparse(), persistent=False)
    return model.eval()


def raw_tensors(path: Path):
    """(name, tensor) of a file, read at once and on a way of its own."""
    for tensor in ctranslate2.read_file(path).tensors:
        if tensor.name != "decoder/projection/weight":
            flat = np.fromfile(path, np.float16, np.prod(tensor.shape, dtype=int), offset=tensor.offset)
            yield tensor.name, torch.from_numpy(flat.reshape(tensor.shape)).float()


def renamed(name: str) -> str:
    for old, new in NAMES:
        name = name.replace(old, new)
    return name


def pieces(name: str, tensor: torch.Tensor):
    stem, _, kind = name.rpartition(".")
    for packed, parts in PACKED.items():
        if stem.endswith(packed):
            for part, piece in zip(parts, tensor.chunk(len(parts)), strict=True):
                if (part, kind) != ("key", "bias"):
                    yield f"{stem.rpartition('.')[0]}.{part}.{kind}", piece.clone()
            return
    yield name, tensor


@functools.cache
def transformers(folder: Path) -> WhisperForConditionalGeneration:
    """transformers with the weights of a Hugging Face folder, in memory of its own."""
    transformers_logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WhisperForConditionalGeneration.from_pretrained(folder, attn_implementation="sdpa")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = tensor.data.clone()
    return model.eval()


log_mel = whisper.log_mel_spectrogram
