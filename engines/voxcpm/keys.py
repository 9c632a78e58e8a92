"""Where each tensor of the two weight files goes. The modules have the checkpoint's own names but for one."""

from __future__ import annotations

import re

TALKER, CODEC, VOICE = "talker", "codec", "voice"
TEXT_EMBEDDING = "base_lm.embed_tokens.weight"
"""The one tensor that stays in its file where that can be read in parts."""

_UNUSED = (
    r"^encoder\.fc_logvar\.",  # training only
    r"^decoder\.sr_bin_boundaries$",  # in config.json, too
)
_WRAPPER = "state_dict."  # of files that hold more than weights
_CODEC_PREFIX = "audio_vae."  # where the codec was saved inside the model


def talker_name(key: str) -> str:
    """The talker's name of a key of the model's file."""
    name = key.removeprefix(_WRAPPER)
    return "text_embedding.weight" if name == TEXT_EMBEDDING else name


def codec_place(key: str) -> tuple[str, str] | None:
    """Component and name there of a key of the codec's file; None for what nobody computes with."""
    name = key.removeprefix(_WRAPPER).removeprefix(_CODEC_PREFIX)
    if any(re.search(pattern, name) for pattern in _UNUSED):
        return None
    half, _, rest = name.partition(".")
    component = {"encoder": VOICE, "decoder": CODEC}.get(half)
    return None if component is None else (component, rest)


def is_codec(key: str) -> bool:
    """Whether a key of the model's file is the codec's, which is read from its own file."""
    return key.removeprefix(_WRAPPER).startswith(_CODEC_PREFIX)
