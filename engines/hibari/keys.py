"""Where each tensor of the checkpoint goes: its component by prefix, its name there by renaming."""

from __future__ import annotations

import re

PREFIXES = {"talker": "pn.", "decoder": "m."}
"""Component -> what its keys begin with in the checkpoint; the prefix is dropped."""

RENAMES = (
    (r"^text\.emb\.", "text.embedding."),
    (r"^text\.attn\.norm1\.", "text.layer.attention_norm."),
    (r"^text\.attn\.norm2\.", "text.layer.feed_forward_norm."),
    (r"^text\.attn\.self_attn\.in_proj_", "text.layer.attention.qkv."),
    (r"^text\.attn\.self_attn\.out_proj\.", "text.layer.attention.out."),
    (r"^text\.attn\.linear1\.", "text.layer.expand."),
    (r"^text\.attn\.linear2\.", "text.layer.project."),
    (r"^dur\.0\.", "duration.conv."),
    (r"^dur\.2\.", "duration.out."),
    (r"^pro_(in|out)\.", r"prosody_\1."),
    (r"^dec_in\.", "features_in."),
    (r"^dec_norm\.", "norm."),
    (r"^(pro|dec)\.", "blocks."),
    (r"\.dw\.", ".depthwise."),
    (r"\.pw1\.", ".expand."),
    (r"\.pw2\.", ".project."),
)
"""(pattern, replacement), all applied in this order to what the prefix leaves of a key."""


def rename(key: str) -> tuple[str, str] | None:
    """Component of a checkpoint key and the tensor's name in that component; None for a key of another model."""
    for component, prefix in PREFIXES.items():
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            for pattern, replacement in RENAMES:
                name = re.sub(pattern, replacement, name)
            return component, name
    return None
