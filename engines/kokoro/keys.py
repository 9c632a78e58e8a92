"""Where each tensor of the checkpoint goes: its component, and its name there."""

from __future__ import annotations

import re
from collections.abc import Callable

TALKER, DECODER = "talker", "decoder"
_COMPONENTS = {"bert": TALKER, "bert_encoder": TALKER, "predictor": TALKER, "text_encoder": TALKER, "decoder": DECODER}
"""Part of the checkpoint -> the component that it belongs to."""

_UNUSED = re.compile(r"bert\.(pooler\.|embeddings\.(position|token_type)_ids$)")
_IDENTITY = re.compile(r"\.(norm\d|adain\d\.\d+)\.norm\.(weight|bias)$")

_RENAMES: tuple[tuple[str, str], ...] = (
    (r"^bert\.embeddings\.word_embeddings\.", "bert.embeddings.words."),
    (r"^bert\.embeddings\.position_embeddings\.", "bert.embeddings.positions."),
    (r"^bert\.embeddings\.token_type_embeddings\.", "bert.embeddings.kinds."),
    (r"^bert\.embeddings\.LayerNorm\.", "bert.embeddings.norm."),
    (r"^bert\.encoder\.embedding_hidden_mapping_in\.", "bert.widen."),
    (r"^bert\.encoder\.albert_layer_groups\.0\.albert_layers\.0\.", "bert.layer."),
    (r"^bert\.layer\.attention\.dense\.", "bert.layer.out."),
    (r"^bert\.layer\.attention\.LayerNorm\.", "bert.layer.attention_norm."),
    (r"^bert\.layer\.attention\.", "bert.layer."),
    (r"^bert\.layer\.ffn\.", "bert.layer.expand."),
    (r"^bert\.layer\.ffn_output\.", "bert.layer.project."),
    (r"^bert\.layer\.full_layer_layer_norm\.", "bert.layer.norm."),
    (r"^predictor\.lstm\.", "duration_lstm."),
    (r"^predictor\.duration_proj\.linear_layer\.", "duration_out."),
    (r"^predictor\.shared\.", "curve_lstm."),
    (r"^predictor\.F0\.", "f0.blocks."),
    (r"^predictor\.N\.", "energy.blocks."),
    (r"^predictor\.F0_proj\.", "f0.out."),
    (r"^predictor\.N_proj\.", "energy.out."),
    (r"^text_encoder\.cnn\.(\d+)\.0\.", r"text_encoder.convs.\1.conv."),
    (r"^text_encoder\.cnn\.(\d+)\.1\.gamma$", r"text_encoder.convs.\1.norm.weight"),
    (r"^text_encoder\.cnn\.(\d+)\.1\.beta$", r"text_encoder.convs.\1.norm.bias"),
    (r"^decoder\.F0_conv\.", "f0_conv."),
    (r"^decoder\.N_conv\.", "energy_conv."),
    (r"^decoder\.asr_res\.0\.", "text_conv."),
    (r"^decoder\.generator\.m_source\.l_linear\.", "vocoder.source.linear."),
    (r"^decoder\.generator\.ups\.(\d+)\.", r"vocoder.stages.\1.up."),
    (r"^decoder\.generator\.noise_convs\.(\d+)\.", r"vocoder.stages.\1.source_conv."),
    (r"^decoder\.generator\.noise_res\.(\d+)\.", r"vocoder.stages.\1.source_block."),
    (r"^decoder\.generator\.", "vocoder."),
    (r"^decoder\.(encode|decode)\.", r"\1."),
    (r"\.conv1x1\.", ".shortcut."),
    (r"\.adain(\d)\.", r".norms\1."),
    (r"\.alpha(\d)\.", r".alphas\1."),
)
"""(pattern, replacement), all applied in this order."""

_LSTMS = re.compile(r"^predictor\.text_encoder\.lstms\.(\d+)\.")
_BLOCKS = re.compile(r"^decoder\.generator\.resblocks\.(\d+)\.")


def plain(key: str) -> str:
    """A key as it is without the wrapper of data-parallel training: `bert.module.x` is `bert.x`."""
    return re.sub(r"^(\w+)\.module\.", r"\1.", key)


def is_unused(key: str) -> bool:
    """Whether a plain key is of a part that nothing is computed with."""
    return _UNUSED.match(key) is not None


def is_identity(key: str) -> bool:
    """Whether a plain key is of a norm's affine that must do nothing: published files do not even have it."""
    return _IDENTITY.search(key) is not None


def rename(key: str, num_blocks: int) -> tuple[str, str] | None:
    """Component of a plain key and the tensor's name in it; None for a key of another model.

    Args:
        key: Of a weight, weight norm folded.
        num_blocks: Residual blocks in a stage of the vocoder.
    """
    component = _COMPONENTS.get(key.partition(".")[0])
    if component is None:
        return None
    # Two lists in one, and a list of lists in one.
    name = _LSTMS.sub(_renumbered(lambda n: f"duration_encoder.{('lstms', 'norms')[n % 2]}.{n // 2}."), key)
    name = _BLOCKS.sub(_renumbered(lambda n: f"vocoder.stages.{n // num_blocks}.blocks.{n % num_blocks}."), name)
    for pattern, replacement in _RENAMES:
        name = re.sub(pattern, replacement, name)
    return component, name


def _renumbered(place: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
    return lambda match: place(int(match[1]))
