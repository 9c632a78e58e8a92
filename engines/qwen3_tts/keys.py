"""Where each tensor of the two weight files goes: its component by prefix, its name there by renaming."""

from __future__ import annotations

import re

from ...mizuoto_runtime.errors import ModelFileError

Table = tuple[tuple[str, str], ...]

PREFIXES: dict[str, tuple[str, str]] = {
    "talker.": ("talker", ""),
    "speaker_encoder.": ("voice", "speaker."),
    "decoder.": ("codec", ""),
    "encoder.": ("voice", "codec."),
}
"""Prefix of a key -> component, and what replaces the prefix there. The last two are the speech tokenizer's."""

TEXT_EMBEDDING = "talker.model.text_embedding.weight"
"""The one tensor that stays in its file."""

TALKER: Table = (
    (r"^code_predictor\.model\.codec_embedding\.", "predictor.embeddings."),
    (r"^code_predictor\.model\.", "predictor.decoder."),
    (r"^code_predictor\.lm_head\.", "predictor.heads."),
    (r"^code_predictor\.small_to_mtp_projection\.", "predictor.projection."),
    (r"^model\.codec_embedding\.", "codec_embedding."),
    (r"^model\.", "decoder."),
)

_LAYER: Table = (
    (r"\.self_attn\.", ".attention."),
    (r"\.self_attn_layer_scale\.scale$", ".attention_scale"),
    (r"\.mlp_layer_scale\.scale$", ".feed_forward_scale"),
    (r"\.input_layernorm\.", ".attention_norm."),
    (r"\.post_attention_layernorm\.", ".feed_forward_norm."),
    (r"\.mlp\.fc1\.", ".feed_forward.expand."),
    (r"\.mlp\.fc2\.", ".feed_forward.project."),
    (r"\.mlp\.", ".feed_forward."),
)

VOICE: Table = (
    (r"^speaker\.blocks\.0\.conv\.", "speaker.enter."),
    (r"^speaker\.blocks\.1\.", "speaker.blocks.0."),
    (r"^speaker\.blocks\.2\.", "speaker.blocks.1."),
    (r"^speaker\.blocks\.3\.", "speaker.blocks.2."),
    (r"\.tdnn1\.conv\.", ".enter."),
    (r"\.res2net_block\.blocks\.(\d+)\.conv\.", r".res2net.layers.\1."),
    (r"\.tdnn2\.conv\.", ".leave."),
    (r"\.se_block\.conv1\.", ".excitation.squeeze."),
    (r"\.se_block\.conv2\.", ".excitation.excite."),
    (r"^speaker\.mfa\.conv\.", "speaker.merge."),
    (r"^speaker\.asp\.tdnn\.conv\.", "speaker.pooling.layer."),
    (r"^speaker\.asp\.conv\.", "speaker.pooling.score."),
    (r"^speaker\.fc\.", "speaker.out."),
    (r"^codec\.encoder\.layers\.", "codec.convs."),
    (r"^codec\.encoder_transformer\.layers\.", "codec.layers."),
    (r"^(codec\..*)\.conv\.", r"\1."),
    (r"^codec\.quantizer\.(\w+)_residual_vector_quantizer\.", r"codec.quantizer.\1."),
    (r"\.layers\.(\d+)\.codebook\.", r".codebooks.\1."),
    (r"\.embed_sum$", ".embedding_sum"),
    *_LAYER,
)

CODEC: Table = (
    (r"^quantizer\.rvq_first\.", "quantizer.semantic."),
    (r"^quantizer\.rvq_rest\.", "quantizer.acoustic."),
    (r"\.vq\.layers\.(\d+)\._codebook\.", r".codebooks.\1."),
    (r"^pre_conv\.conv\.", "latent_conv."),
    (r"^pre_transformer\.", "transformer."),
    (r"^upsample\.(\d+)\.0\.conv\.", r"upsample.\1.conv."),
    (r"^upsample\.(\d+)\.1\.dwconv\.conv\.", r"upsample.\1.depthwise."),
    (r"^upsample\.(\d+)\.1\.pwconv1\.", r"upsample.\1.expand."),
    (r"^upsample\.(\d+)\.1\.pwconv2\.", r"upsample.\1.project."),
    (r"^upsample\.(\d+)\.1\.", r"upsample.\1."),
    (r"^decoder\.(\d+)\.block\.", r"wave.\1."),
    (r"^decoder\.(\d+)\.", r"wave.\1."),
    (r"\.act([12])\.", r".snake\1."),
    (r"^(wave\..*)\.conv\.", r"\1."),
    *_LAYER,
)

RENAMES: dict[str, Table] = {"talker": TALKER, "voice": VOICE, "codec": CODEC}
"""Component -> (pattern, replacement), all applied in this order."""

UNUSED = (
    r"^decoder\.quantizer\..*\.input_proj\.",  # decoding only
    r"^encoder\.quantizer\..*\.output_proj\.",  # encoding only
    r"^encoder\.quantizer\.acoustic_.*\.layers\.(1[5-9]|[2-9]\d)\.",  # the talker speaks 16 of the 32 codebooks
    r"\.codebook\.initialized$",  # a mark of training
)
"""Keys that no component computes with."""

NOWHERE = "unused"


def rename(key: str) -> tuple[str, str]:
    """Component of a checkpoint's key and the tensor's name in it; the component is `NOWHERE` if none needs it.

    Raises:
        ModelFileError: It is no key of this architecture.
    """
    if any(re.search(pattern, key) for pattern in UNUSED):
        return NOWHERE, key
    for prefix, (component, start) in PREFIXES.items():
        if key.startswith(prefix):
            name = start + key.removeprefix(prefix)
            for pattern, replacement in RENAMES[component]:
                name = re.sub(pattern, replacement, name)
            return component, name
    raise ModelFileError(
        f'The checkpoint has a tensor "{key}", which Qwen3-TTS has not; use the folder as its publisher offers it.'
    )
