"""Where each tensor of the two weight files goes: its component by prefix, its name there by renaming."""

from __future__ import annotations

import re

from ...mizuoto_runtime.errors import ModelFileError

TALKER, VOICE, CODEC = "talker", "voice", "codec"
NOWHERE = "unused"

TEXT_EMBEDDING = "llm.embed_tokens.weight"
"""The one tensor that stays in its file."""

MODEL: tuple[tuple[str, str], ...] = (
    (r"^llm\.", "decoder."),
    (r"^(audio_embeddings|audio_heads)\.", r"\1."),
)
"""Pattern -> replacement of the model's keys."""

QUANTIZER: tuple[tuple[str, str], ...] = (
    (r"^quantizer\.quantizers\.(\d+)\.codebook\.embed$", r"quantizer.books.\1.codebook.weight"),
    (r"^quantizer\.quantizers\.(\d+)\.(project_in|project_out)\.", r"quantizer.books.\1.\2."),
)
_ENCODING: tuple[tuple[str, str], ...] = (
    (r"^semantic_model\.", "hubert."),
    (r"^encoder_semantic\.", "semantic."),
    (r"^acoustic_encoder\.", "acoustic."),
    (r"^fc\.", "projection."),
)
_DECODING: tuple[tuple[str, str], ...] = (
    (r"^fc2\.", "projection."),
    (r"^acoustic_decoder\.", "acoustic."),
)

UNUSED = (
    r"^codebook_layer_offsets$",  # computed
    r"^llm\.lm_head\.",
    r"^(decoder_semantic|fc1)\.",  # of training
    r"\.codebook\.(embed_avg|cluster_size|inited)$",
    r"^semantic_model\.masked_spec_embed$",
)
"""Keys that no component computes with."""


def rename_model(key: str) -> tuple[str, str]:
    """(component, name in it) of a key of the model's file; the component is `NOWHERE` if none needs it.

    Raises:
        ModelFileError: It is no key of this architecture.
    """
    if key == TEXT_EMBEDDING or _is_unused(key):
        return NOWHERE, key
    name = _renamed(key, MODEL)
    if name is None:
        raise _foreign(key)
    return TALKER, name


def rename_codec(key: str) -> list[tuple[str, str]]:
    """(component, name in it) pairs of a key of the codec's file: the quantizer is in both directions.

    Raises:
        ModelFileError: It is no key of this architecture.
    """
    if _is_unused(key):
        return []
    name = _renamed(key, QUANTIZER)
    if name is not None:
        both = [(VOICE, name), (CODEC, name)]
        return both[:1] if ".project_in." in name else both
    for component, table in ((VOICE, _ENCODING), (CODEC, _DECODING)):
        name = _renamed(key, table)
        if name is not None:
            return [(component, name)]
    raise _foreign(key)


def _is_unused(key: str) -> bool:
    return any(re.search(pattern, key) for pattern in UNUSED)


def _renamed(key: str, table: tuple[tuple[str, str], ...]) -> str | None:
    return next((re.sub(pattern, place, key) for pattern, place in table if re.search(pattern, key)), None)


def _foreign(key: str) -> ModelFileError:
    return ModelFileError(
        f'The checkpoint has a tensor "{key}", which OmniVoice has not; use the folder as its publisher offers it.'
    )
