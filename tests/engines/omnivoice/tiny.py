"""A tiny random checkpoint in the official layout of OmniVoice, written without the upstream package.

Rates and structure are the official ones. Layers are large enough to stream one by one.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file

NUM_CODEBOOKS = 8
CODEBOOK_SIZE = 32  # the mask is one more
TAGS = ("denoise", "lang_start", "lang_end", "instruct_start", "instruct_end", "text_start", "text_end")
RATIOS = [8, 5, 4, 2, 3]
MERGES = (("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "n"), ("Ġ", "["), ("]", "."))
DECODER = {
    **{"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "hidden_act": "silu", "rms_norm_eps": 1e-6},
    **{"attention_bias": False, "use_sliding_window": False, "max_position_embeddings": 4096},
    **{"tie_word_embeddings": True, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}},
}
ACOUSTIC = {
    **{"model_type": "dac", "encoder_hidden_size": 4, "decoder_hidden_size": 96, "hidden_size": 32},
    **{"downsampling_ratios": RATIOS, "upsampling_ratios": RATIOS, "hop_length": 960, "sampling_rate": 24000},
    **{"n_codebooks": 9, "codebook_size": CODEBOOK_SIZE, "codebook_dim": 8},
}
SEMANTIC = {
    **{"model_type": "hubert", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "conv_dim": [16] * 7, "conv_kernel": [10, 3, 3, 3, 3, 2, 2]},
    **{"conv_stride": [5, 2, 2, 2, 2, 2, 2], "conv_bias": False, "num_feat_extract_layers": 7},
    **{"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "layer_norm_eps": 1e-5},
    **{"feat_extract_norm": "group", "feat_extract_activation": "gelu", "hidden_act": "gelu"},
    **{"do_stable_layer_norm": False, "feat_proj_layer_norm": True, "conv_pos_batch_norm": False},
    "mask_time_prob": 0.0,
}
CODEC = {
    **{"architectures": ["HiggsAudioV2TokenizerModel"], "model_type": "higgs_audio_v2_tokenizer"},
    **{"acoustic_model_config": ACOUSTIC, "semantic_model_config": SEMANTIC, "codebook_size": CODEBOOK_SIZE},
    **{"codebook_dim": 16, "target_bandwidths": [0.25, 0.5, 1.0], "sample_rate": 24000, "semantic_sample_rate": 16000},
    **{"downsample_factor": 320, "kernel_size": 3, "unit_kernel_size": 3, "block_dilations": [1, 1]},
    **{"strides": [1, 1], "channel_ratios": [1, 1]},
}

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(folder: Path, *, seed: int = 0, num_codes: int = CODEBOOK_SIZE, **decoder: int) -> None:
    """Write a checkpoint into `folder`, which is made if need be.

    With other numbers of codes or sizes of the decoder, only its talker is of use.
    """
    codec = folder / "audio_tokenizer"
    codec.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_json()
    vocab_size = len(tokenizer["model"]["vocab"]) + len(TAGS) + 5  # official tables are padded, too
    config = model_config(
        max(vocab_size, num_codes + 1), num_codes, decoder
    )  # the upstream looks codes up as text, too
    generator = torch.Generator().manual_seed(seed)
    model = {name: model_weight(name, shape, generator) for name, shape in model_shapes(config)}
    model["codebook_layer_offsets"] = torch.arange(NUM_CODEBOOKS) * (num_codes + 1)
    save_file(model, folder / "model.safetensors", {"format": "pt"})
    weights = {name: codec_weight(name, shape, generator) for name, shape in codec_shapes()}
    save_file(weights, codec / "model.safetensors", {"format": "pt"})
    write(folder / "config.json", config)
    write(folder / "tokenizer.json", tokenizer)
    specials = [f"<|{tag}|>" for tag in TAGS]
    write(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "additional_special_tokens": specials},
    )
    write(codec / "config.json", CODEC)
    features = {"feature_extractor_type": "DacFeatureExtractor", "feature_size": 1, "hop_length": 960}
    write(codec / "preprocessor_config.json", {**features, "sampling_rate": 24000, "padding_value": 0.0})


def write(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def model_config(vocab_size: int, num_codes: int, decoder: dict) -> dict:
    """`config.json`."""
    return {
        **{"architectures": ["OmniVoice"], "model_type": "omnivoice", "num_audio_codebook": NUM_CODEBOOKS},
        **{"audio_vocab_size": num_codes + 1, "audio_mask_id": num_codes},
        "audio_codebook_weights": [8, 8, 6, 6, 4, 4, 2, 2],
        "llm_config": {**DECODER, **decoder, "vocab_size": vocab_size},
    }


def tokenizer_json() -> dict:
    """A byte-level vocabulary with a few merges."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    words = [*letters, *(left + right for left, right in MERGES)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None},
        "added_tokens": [{"id": len(words) + n, "content": f"<|{tag}|>", **flags} for n, tag in enumerate(TAGS)],
        **{"pre_tokenizer": byte_level, "decoder": byte_level},
        "model": {
            **{"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None},
            **{"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False},
            **{"vocab": {word: n for n, word in enumerate(words)}, "merges": [" ".join(pair) for pair in MERGES]},
        },
    }


def layer(name: str, *shape: int, has_bias: bool = True) -> Shapes:
    """A linear layer or a convolution."""
    yield f"{name}.weight", shape
    if has_bias:
        yield f"{name}.bias", (shape[0],)


def model_shapes(config: dict) -> Shapes:
    """Every tensor of model.safetensors but the offsets."""
    decoder = config["llm_config"]
    size, inner, width = decoder["hidden_size"], decoder["intermediate_size"], decoder["head_dim"]
    heads, kv_heads = decoder["num_attention_heads"] * width, decoder["num_key_value_heads"] * width
    codes = NUM_CODEBOOKS * config["audio_vocab_size"]
    yield "llm.embed_tokens.weight", (decoder["vocab_size"], size)
    for index in range(decoder["num_hidden_layers"]):
        name = f"llm.layers.{index}"
        for part, shape in (("q", (heads, size)), ("k", (kv_heads, size)), ("v", (kv_heads, size))):
            yield f"{name}.self_attn.{part}_proj.weight", shape
        yield f"{name}.self_attn.o_proj.weight", (size, heads)
        yield from ((f"{name}.self_attn.{part}_norm.weight", (width,)) for part in "qk")
        yield from ((f"{name}.mlp.{part}_proj.weight", (inner, size)) for part in ("gate", "up"))
        yield f"{name}.mlp.down_proj.weight", (size, inner)
        yield from ((f"{name}.{part}.weight", (size,)) for part in ("input_layernorm", "post_attention_layernorm"))
    yield "llm.norm.weight", (size,)
    yield "audio_embeddings.weight", (codes, size)
    yield "audio_heads.weight", (codes, size)


def codec_shapes() -> Shapes:
    """Every tensor of audio_tokenizer/model.safetensors."""
    latent, speech = ACOUSTIC["hidden_size"], SEMANTIC["hidden_size"]
    both, width = latent + speech, CODEC["codebook_dim"]
    yield from dac_shapes()
    yield from hubert_shapes()
    yield from semantic_shapes("encoder_semantic", ("conv",))
    yield from semantic_shapes("decoder_semantic", ("conv1", "conv2"))
    yield from layer("fc", both, both)
    yield from layer("fc1", speech, both)
    yield from layer("fc2", latent, both)
    for index in range(NUM_CODEBOOKS):
        name = f"quantizer.quantizers.{index}"
        yield from layer(f"{name}.project_in", width, both)
        yield from layer(f"{name}.project_out", both, width)
        yield from ((f"{name}.codebook.{part}", (CODEBOOK_SIZE, width)) for part in ("embed", "embed_avg"))
        yield from ((f"{name}.codebook.{part}", (n,)) for part, n in (("cluster_size", CODEBOOK_SIZE), ("inited", 1)))


def dac_shapes() -> Shapes:
    """Encoder and decoder of sound."""
    width, latent = ACOUSTIC["encoder_hidden_size"], ACOUSTIC["hidden_size"]
    yield from layer("acoustic_encoder.conv1", width, 1, 7)
    for index, ratio in enumerate(RATIOS):
        name = f"acoustic_encoder.block.{index}"
        yield from residual_shapes(name, width)
        yield f"{name}.snake1.alpha", (1, width, 1)
        yield from layer(f"{name}.conv1", 2 * width, width, 2 * ratio)
        width *= 2
    yield "acoustic_encoder.snake1.alpha", (1, width, 1)
    yield from layer("acoustic_encoder.conv2", latent, width, 3)
    width = ACOUSTIC["decoder_hidden_size"]
    yield from layer("acoustic_decoder.conv1", width, latent, 7)
    for index, ratio in enumerate(RATIOS):
        name = f"acoustic_decoder.block.{index}"
        yield f"{name}.snake1.alpha", (1, width, 1)
        yield f"{name}.conv_t1.weight", (width, width // 2, 2 * ratio)
        yield f"{name}.conv_t1.bias", (width // 2,)
        width //= 2
        yield from residual_shapes(name, width)
    yield "acoustic_decoder.snake1.alpha", (1, width, 1)
    yield from layer("acoustic_decoder.conv2", 1, width, 7)


def residual_shapes(name: str, width: int) -> Shapes:
    for unit in (1, 2, 3):
        yield from ((f"{name}.res_unit{unit}.snake{n}.alpha", (1, width, 1)) for n in (1, 2))
        yield from layer(f"{name}.res_unit{unit}.conv1", width, width, 7)
        yield from layer(f"{name}.res_unit{unit}.conv2", width, width, 1)


def hubert_shapes() -> Shapes:
    """The semantic model."""
    size, inner, channels = SEMANTIC["hidden_size"], SEMANTIC["intermediate_size"], SEMANTIC["conv_dim"]
    taps, groups = SEMANTIC["num_conv_pos_embeddings"], SEMANTIC["num_conv_pos_embedding_groups"]
    for index, kernel in enumerate(SEMANTIC["conv_kernel"]):
        before = channels[index - 1] if index else 1
        name = f"semantic_model.feature_extractor.conv_layers.{index}"
        yield f"{name}.conv.weight", (channels[index], before, kernel)
        if not index:
            yield from layer(f"{name}.layer_norm", channels[0])
    yield from layer("semantic_model.feature_projection.layer_norm", channels[-1])
    yield from layer("semantic_model.feature_projection.projection", size, channels[-1])
    conv = "semantic_model.encoder.pos_conv_embed.conv"
    yield f"{conv}.bias", (size,)
    yield f"{conv}.parametrizations.weight.original0", (1, 1, taps)
    yield f"{conv}.parametrizations.weight.original1", (size, size // groups, taps)
    yield from layer("semantic_model.encoder.layer_norm", size)
    for index in range(SEMANTIC["num_hidden_layers"]):
        name = f"semantic_model.encoder.layers.{index}"
        for part in ("q", "k", "v", "out"):
            yield from layer(f"{name}.attention.{part}_proj", size, size)
        yield from layer(f"{name}.layer_norm", size)
        yield from layer(f"{name}.feed_forward.intermediate_dense", inner, size)
        yield from layer(f"{name}.feed_forward.output_dense", size, inner)
        yield from layer(f"{name}.final_layer_norm", size)


def semantic_shapes(name: str, convs: tuple[str, ...]) -> Shapes:
    size = SEMANTIC["hidden_size"]
    yield from ((f"{name}.{conv}.weight", (size, size, 3)) for conv in convs)
    for block in range(2):
        yield from layer(f"{name}.conv_blocks.{block}.conv", size, size, 3)
        for unit in range(2):
            yield f"{name}.conv_blocks.{block}.res_units.{unit}.conv1.weight", (size, size, 3)
            yield f"{name}.conv_blocks.{block}.res_units.{unit}.conv2.weight", (size, size, 1)


def scaled_noise(shape: tuple[int, ...], gain: float, generator: torch.Generator) -> torch.Tensor:
    """Normal noise that multiplies the size of what passes through it by `gain`."""
    return torch.randn(shape, generator=generator) * (gain / math.sqrt(math.prod(shape[1:])))


def vector(name: str, shape: tuple[int, ...], generator: torch.Generator, std: float = 0.1) -> torch.Tensor:
    noise = std * torch.randn(shape, generator=generator)
    is_factor = name.endswith(("alpha", "original0")) or ("norm" in name and name.endswith("weight"))
    return noise + 1.0 if is_factor else noise


def model_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights under which the text and every code make a difference to every other."""
    if len(shape) == 1:
        return vector(name, shape, generator)
    if "embed" in name:
        return torch.randn(shape, generator=generator)
    return scaled_noise(shape, 2.0 if name.endswith(("o_proj.weight", "audio_heads.weight")) else 1.2, generator)


def codec_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights that leave the waveform within its limits, and codebooks of well separated entries."""
    if name.endswith(("inited", "cluster_size")):
        return torch.ones(shape)
    if name.endswith(("embed", "embed_avg")):
        return torch.randn(shape, generator=generator)
    if name.endswith(("alpha", "original0")) or len(shape) == 1:
        return vector(name, shape, generator, 0.02 if name.endswith("bias") else 0.1)
    if "conv_t1" in name:  # two taps of a stride meet in every sample
        return torch.randn(shape, generator=generator) * math.sqrt(shape[2] / 2 / math.prod(shape[::2]))
    return scaled_noise(shape, 0.006 if name == "acoustic_decoder.conv2.weight" else 0.8, generator)


REQUEST = {
    **{"text": "Hi. Ho.", "max_text_size": 4},
    # A few frames and steps of each; the ends of the other options' ranges are tried all the same.
    "options": {"seconds": 0.3, "steps": 3},
}
