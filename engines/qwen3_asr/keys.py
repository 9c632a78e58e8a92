"""Where each tensor of a checkpoint goes: modules are named as in the files, so only beginnings change."""

from __future__ import annotations

from collections.abc import Mapping

AUDIO, DECODER = "audio_encoder.", "decoder."

PREFIXES: Mapping[str, str] = {
    # The publisher's own layout.
    "thinker.audio_tower.": AUDIO,
    "thinker.model.embed_tokens.": f"{DECODER}embedding.",
    "thinker.model.": f"{DECODER}body.",
    "thinker.lm_head.": f"{DECODER}head.",
    # That of the folders for transformers' class, whose names end in "-hf".
    "model.audio_tower.": AUDIO,
    "model.multi_modal_projector.linear_1.": f"{AUDIO}proj1.",
    "model.multi_modal_projector.linear_2.": f"{AUDIO}proj2.",
    "model.language_model.embed_tokens.": f"{DECODER}embedding.",
    "model.language_model.": f"{DECODER}body.",
    "lm_head.": f"{DECODER}head.",
}
"""Beginning of a key -> what replaces it; the longest that fits counts."""

HEADS = ("thinker.lm_head.weight", "lm_head.weight")
"""Not read where the decoder writes with the weights of its embedding, as in the official files, which repeat them."""
