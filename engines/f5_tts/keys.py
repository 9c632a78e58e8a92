"""Where the tensors of the two weight files go: their names there by renaming."""

from __future__ import annotations

import re

Table = tuple[tuple[str, str], ...]

TALKER: Table = (
    (r"^text_embed\.text_embed\.", "text.embedding."),
    (r"^text_embed\.text_blocks\.", "text.blocks."),
    (r"^time_embed\.time_mlp\.0\.", "time.expand."),
    (r"^time_embed\.time_mlp\.2\.", "time.project."),
    (r"^input_embed\.proj\.", "enter."),
    (r"^input_embed\.conv_pos_embed\.conv1d\.0\.", "positions.first."),
    (r"^input_embed\.conv_pos_embed\.conv1d\.2\.", "positions.second."),
    (r"^rotary_embed\.inv_freq$", "frequencies"),
    (r"^transformer_blocks\.(\d+)\.attn_norm\.", r"modulations.\1."),
    (r"^transformer_blocks\.", "blocks."),
    (r"\.attn\.to_out\.0\.", ".attention.o_proj."),
    (r"\.attn\.to_([qkv])\.", r".attention.\1_proj."),
    (r"\.attn\.([qk]_norm)\.", r".attention.\1."),
    (r"\.ff\.ff\.0\.0\.", ".feed_forward.expand."),
    (r"\.ff\.ff\.2\.", ".feed_forward.project."),
    (r"^norm_out\.", "final_modulation."),
    (r"^proj_out\.", "out."),
    (r"^long_skip_connection\.", "skip."),
    (r"\.grn\.", ".response."),
    (r"\.dwconv\.", ".depthwise."),
    (r"\.pwconv1\.", ".expand."),
    (r"\.pwconv2\.", ".project."),
)
"""Of the transformer, without what all of its names begin with; all applied in this order."""

CODEC: Table = (
    (r"^backbone\.embed\.", "enter."),
    (r"^backbone\.convnext\.", "blocks."),
    (r"^backbone\.final_layer_norm\.", "final_norm."),
    (r"^backbone\.", ""),
    (r"^head\.istft\.", ""),
    (r"^head\.", ""),
    (r"\.dwconv\.", ".depthwise."),
    (r"\.pwconv1\.", ".expand."),
    (r"\.pwconv2\.", ".project."),
)
"""Of Vocos."""

UNUSED = "feature_extractor."
"""Names in Vocos's file that begin so are of its encoder."""


def rename(key: str, table: Table) -> str:
    """The name that a tensor has here."""
    for pattern, replacement in table:
        key = re.sub(pattern, replacement, key)
    return key
