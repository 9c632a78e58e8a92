"""Where each tensor of a checkpoint goes, in the two layouts: its component by prefix, its name there by renaming."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch

from ...mizuoto_runtime.errors import ModelFileError

Table = tuple[tuple[str, str], ...]

ENCODER, DECODER = "encoder", "decoder"
COMPONENTS = (ENCODER, DECODER)

HUGGING_FACE: Table = (
    (r"^embed_tokens\.", "token_embedding."),
    (r"^embed_positions\.", "positions."),
    (r"^layer_norm\.", "norm."),
    (r"\.self_attn\.(q|k|v)_proj\.", r".attention.\1."),
    (r"\.self_attn\.out_proj\.", ".attention.out."),
    (r"\.self_attn_layer_norm\.", ".attention_norm."),
    (r"\.encoder_attn\.q_proj\.", ".cross.query."),
    (r"\.encoder_attn\.(k|v)_proj\.", r".cross.\1."),
    (r"\.encoder_attn\.out_proj\.", ".cross.out."),
    (r"\.encoder_attn_layer_norm\.", ".cross_norm."),
    (r"\.final_layer_norm\.", ".feed_forward_norm."),
    (r"\.fc1\.", ".expand."),
    (r"\.fc2\.", ".project."),
)
"""(pattern, replacement), all applied in this order to what `model.<component>.` leaves of a key."""

CTRANSLATE2: Table = (
    (r"/", "."),
    (r"\blayer_(\d+)\.", r"layers.\1."),
    (r"^embeddings\.", "token_embedding."),
    (r"^position_encodings\.encodings$", "positions.weight"),
    (r"^layer_norm\.", "norm."),
    (r"\.self_attention\.layer_norm\.", ".attention_norm."),
    (r"\.self_attention\.linear_0\.", ".attention.qkv."),
    (r"\.self_attention\.linear_1\.", ".attention.out."),
    (r"\.attention\.layer_norm\.", ".cross_norm."),
    (r"\.attention\.linear_0\.", ".cross.query."),
    (r"\.attention\.linear_1\.", ".cross.key_value."),
    (r"\.attention\.linear_2\.", ".cross.out."),
    (r"\.ffn\.layer_norm\.", ".feed_forward_norm."),
    (r"\.ffn\.linear_0\.", ".expand."),
    (r"\.ffn\.linear_1\.", ".project."),
    (r"\.gamma$", ".weight"),
    (r"\.beta$", ".bias"),
)
"""The same for what `<component>/` leaves of a name in a CTranslate2 file."""

PACKED = {
    "attention": ("attention.qkv", ("attention.q", "attention.k", "attention.v")),
    "cross": ("cross.key_value", ("cross.k", "cross.v")),
}
"""Attention -> a linear layer here, and those that a Hugging Face checkpoint has for it."""

UNUSED = frozenset({"proj_out.weight", "decoder/projection/weight"})
"""The last layer, which is the embedding."""


def rename(key: str, table: Table) -> tuple[str, str]:
    """Component of a key and the tensor's name in it.

    Raises:
        ModelFileError: It is no key of this architecture.
    """
    parts = re.fullmatch(r"(?:model\.)?(encoder|decoder)[./](.+)", key)
    if parts is None:
        raise ModelFileError(
            f'The checkpoint has a tensor "{key}", which Whisper has not; use the folder as its publisher offers it.'
        )
    component, name = parts.groups()
    for pattern, replacement in table:
        name = re.sub(pattern, replacement, name)
    return component, name


def packed(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors with queries, keys and values joined as the modules have them, as far as all of them are there."""
    joined = dict(tensors)
    for name in tensors:
        found = re.fullmatch(r"(.+\.)(attention|cross)\.v\.weight", name)
        if found:
            module, pieces = PACKED[found[2]]
            _join(joined, found[1] + module, [found[1] + piece for piece in pieces])
    return joined


def _join(tensors: dict[str, torch.Tensor], name: str, pieces: list[str]) -> None:
    weights = [tensors.get(f"{piece}.weight") for piece in pieces]
    shapes = {() if weight is None else tuple(weight.shape[1:]) for weight in weights}
    if len(shapes) > 1 or () in shapes:
        return  # what is missing or misshapen is named when the module is filled
    biases = [tensors.pop(f"{piece}.bias", None) for piece in pieces]
    tensors[f"{name}.weight"] = torch.cat([tensors.pop(f"{piece}.weight") for piece in pieces])
    tensors[f"{name}.bias"] = torch.cat(
        [  # keys have no bias
            weight.new_zeros(len(weight)) if bias is None else bias.flatten()
            for weight, bias in zip(weights, biases, strict=True)
            if weight is not None
        ]
    )
