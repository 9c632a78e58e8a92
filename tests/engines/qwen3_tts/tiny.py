"""A tiny random checkpoint in the official layout of Qwen3-TTS, written without the upstream package.

Sizes are small, rates and structure are the official ones. Layers are large enough to stream one by one.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file

NUM_CODEBOOKS = 16
CODEBOOK_SIZE = 32
CONTROL_IDS = CODEBOOK_SIZE  # ids from here on are no codes: control tokens, languages, speakers
SUPPRESSED = 1024  # the upstream never speaks the last 1024 ids, end of speech excepted
KINDS = ("base", "custom_voice", "voice_design")
TALKER_SIZES = {"0b6": 64, "1b7": 96}
PREDICTOR_SIZE = 64  # as in the official checkpoints, only the larger talker differs from its predictor
LANGUAGES = (
    *("chinese", "english", "german", "italian", "portuguese", "spanish", "japanese", "korean", "french", "russian"),
    *("beijing_dialect", "sichuan_dialect"),
)
SPEAKERS = ("serena", "vivian", "uncle_fu", "ryan", "aiden", "ono_anna", "sohee", "eric", "dylan")
DIALECTS = {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>")
ROLES = ("assistant", "user")  # single tokens as in the real vocabulary: the upstream counts on it
MERGES = (
    *((role[:end], role[end]) for role in ROLES for end in range(1, len(role))),
    *(("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "n")),
)
GENERATION = {
    **{"do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50},
    **{"subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0, "subtalker_top_k": 50},
    "max_new_tokens": 8192,
}
SPEAKER_ENCODER = {
    **{"mel_dim": 128, "enc_channels": [32, 32, 32, 32, 96], "enc_kernel_sizes": [5, 3, 3, 3, 1]},
    **{"enc_dilations": [1, 2, 3, 4, 1], "enc_attention_channels": 16, "enc_res2net_scale": 8, "enc_se_channels": 16},
    "sample_rate": 24000,
}
CODEC_DECODER = {
    **{"codebook_size": CODEBOOK_SIZE, "codebook_dim": 32, "num_quantizers": NUM_CODEBOOKS, "latent_dim": 64},
    **{"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16},
    **{"intermediate_size": 96, "sliding_window": 72, "rms_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "silu"},
    **{"attention_bias": False, "attention_dropout": 0.0, "layer_scale_initial_scale": 0.01},
    **{"max_position_embeddings": 8000, "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2], "decoder_dim": 64},
}
CODEC_ENCODER = {
    **{"model_type": "mimi", "sampling_rate": 24000, "_frame_rate": 12.5, "audio_channels": 1, "hidden_size": 64},
    **{"num_filters": 8, "num_residual_layers": 1, "upsampling_ratios": [8, 6, 5, 4], "kernel_size": 7},
    **{"last_kernel_size": 3, "residual_kernel_size": 3, "dilation_growth_rate": 2, "compress": 2},
    **{"use_causal_conv": True, "use_conv_shortcut": False, "pad_mode": "constant", "trim_right_ratio": 1.0},
    **{"codebook_size": CODEBOOK_SIZE, "codebook_dim": 16, "vector_quantization_hidden_dimension": 16},
    **{"num_quantizers": 32, "num_semantic_quantizers": 1, "num_hidden_layers": 2, "intermediate_size": 128},
    **{"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "hidden_act": "gelu", "norm_eps": 1e-5},
    **{"rope_theta": 10000.0, "sliding_window": 250, "max_position_embeddings": 8000, "upsample_groups": 64},
    **{"attention_bias": False, "attention_dropout": 0.0, "layer_scale_initial_scale": 0.01, "use_cache": False},
    "use_streaming": False,
}
CODEC = {
    **{"architectures": ["Qwen3TTSTokenizerV2Model"], "model_type": "qwen3_tts_tokenizer_12hz"},
    **{"encoder_config": CODEC_ENCODER, "decoder_config": CODEC_DECODER, "encoder_valid_num_quantizers": 16},
    **{"input_sample_rate": 24000, "output_sample_rate": 24000, "dtype": "float32"},
    **{"decode_upsample_rate": 1920, "encode_downsample_rate": 1920},
}
CODEC_PREPROCESSOR = {
    **{"feature_extractor_type": "EncodecFeatureExtractor", "feature_size": 1, "sampling_rate": 24000},
    **{"padding_side": "right", "padding_value": 0.0, "return_attention_mask": True},
    **{"chunk_length_s": None, "overlap": None},
}
PREPROCESSOR = {
    **{"padding_side": "left", "padding_value": 0.0, "processor_class": "Qwen3TTSProcessor"},
    "return_attention_mask": True,
}

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(
    folder: Path,
    kind: str = "base",
    *,
    seed: int = 0,
    size: str = "0b6",
    dtype: torch.dtype = torch.float32,
    shards: int = 1,
) -> None:
    """Write a checkpoint into `folder`, which is made if need be.

    Args:
        folder: Where to.
        kind: One of `KINDS`.
        seed: Of all weights.
        size: "0b6", or "1b7" whose talker is wider than its code predictor.
        dtype: Of the model's weights; the codec's are float32 as in the official files.
        shards: Number of files of the model's weights; more than one come with an index.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    codec_folder = folder / "speech_tokenizer"
    codec_folder.mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(folder)
    config = model_config(kind, size, vocab, dtype)
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", GENERATION)
    write_json(folder / "preprocessor_config.json", PREPROCESSOR)
    generator = torch.Generator().manual_seed(seed)
    model = {name: model_weight(name, shape, generator).to(dtype) for name, shape in model_shapes(config)}
    write_weights(folder, model, shards)
    write_json(codec_folder / "config.json", CODEC)
    write_json(codec_folder / "configuration.json", {"framework": "pytorch", "task": "feature-extraction"})
    write_json(codec_folder / "preprocessor_config.json", CODEC_PREPROCESSOR)
    codec = {name: codec_weight(name, shape, generator) for name, shape in codec_shapes()}
    write_weights(codec_folder, codec)


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")


def write_weights(folder: Path, tensors: dict[str, torch.Tensor], shards: int = 1) -> None:
    """One file, or `shards` files and their index."""
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    places = {tensor: names[index % shards] for index, tensor in enumerate(tensors)}
    for name in names:
        part = {tensor: tensors[tensor] for tensor, place in places.items() if place == name}
        save_file(part, folder / name, metadata={"format": "pt"})
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": places}
    write_json(folder / "model.safetensors.index.json", index)


def byte_symbols() -> list[str]:
    """The characters that stand for the 256 bytes in a byte-level vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [symbols[byte] for byte in range(256)]


def write_tokenizer(folder: Path) -> dict[str, int]:
    """Write the tokenizer's files; returns token -> id, special tokens too."""
    tokens = [*byte_symbols(), *("".join(pair) for pair in MERGES)]
    vocab = {token: index for index, token in enumerate(tokens)}
    write_json(folder / "vocab.json", vocab)
    lines = ["#version: 0.2", *(" ".join(pair) for pair in MERGES)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    specials = {token: len(vocab) + index for index, token in enumerate(SPECIALS)}
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    config = {
        "added_tokens_decoder": {
            str(index): {"content": token, **plain, "special": True} for token, index in specials.items()
        },
        "additional_special_tokens": list(SPECIALS),
        **{"eos_token": SPECIALS[2], "pad_token": SPECIALS[0], "unk_token": None, "bos_token": None},
        **{"add_prefix_space": False, "clean_up_tokenization_spaces": False, "errors": "replace"},
        **{"model_max_length": 131072, "split_special_tokens": False},
        **{"tokenizer_class": "Qwen2Tokenizer", "processor_class": "Qwen3TTSProcessor"},
    }
    write_json(folder / "tokenizer_config.json", config)
    return vocab | specials


def model_config(kind: str, size: str, vocab: dict[str, int], dtype: torch.dtype) -> dict:
    """config.json of the model."""
    config = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        **{"model_type": "qwen3_tts", "tokenizer_type": "qwen3_tts_tokenizer_12hz"},
        **{"tts_model_size": size, "tts_model_type": kind, "dtype": str(dtype).removeprefix("torch.")},
        **{"im_start_token_id": vocab["<|im_start|>"], "im_end_token_id": vocab["<|im_end|>"]},
        **{"tts_pad_token_id": vocab["<tts_pad>"], "tts_bos_token_id": vocab["<tts_text_bos>"]},
        "tts_eos_token_id": vocab["<tts_text_eod>"],
        "talker_config": talker_config(kind, size, len(vocab) + 2),
    }
    if kind == "base":
        config["speaker_encoder_config"] = {**SPEAKER_ENCODER, "enc_dim": TALKER_SIZES[size]}
    return config


def talker_config(kind: str, size: str, text_vocab_size: int) -> dict:
    """`talker_config`; presets are in the checkpoints of preset voices only."""
    shared = {
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
        **{"hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1000000, "num_code_groups": NUM_CODEBOOKS},
        **{"attention_bias": False, "attention_dropout": 0, "use_sliding_window": False, "sliding_window": None},
    }
    predictor = {
        **{"model_type": "qwen3_tts_talker_code_predictor", "vocab_size": CODEBOOK_SIZE, **shared},
        **{"hidden_size": PREDICTOR_SIZE, "intermediate_size": 96, "max_position_embeddings": 4096},
        "rope_scaling": None,
    }
    controls = ("pad_id", "bos_id", "eos_token_id", "think_id", "nothink_id", "think_bos_id", "think_eos_id")
    speakers = SPEAKERS if kind == "custom_voice" else ()
    return {
        **{"model_type": "qwen3_tts_talker", "vocab_size": CODEBOOK_SIZE + SUPPRESSED, **shared},
        **{"hidden_size": TALKER_SIZES[size], "intermediate_size": 128, "max_position_embeddings": 32768},
        **{"text_hidden_size": 80, "text_vocab_size": text_vocab_size, "code_predictor_config": predictor},
        "rope_scaling": {"interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default", "type": "default"},
        **{f"codec_{name}": CONTROL_IDS + index for index, name in enumerate(controls)},
        "codec_language_id": {name: CONTROL_IDS + 20 + index for index, name in enumerate(LANGUAGES)},
        "spk_id": {name: CONTROL_IDS + 40 + index for index, name in enumerate(speakers)},
        "spk_is_dialect": {name: DIALECTS.get(name, False) for name in speakers},
    }


def linear(name: str, inputs: int, outputs: int, has_bias: bool = True) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    if has_bias:
        yield f"{name}.bias", (outputs,)


def conv(name: str, inputs: int, outputs: int, kernel: int, has_bias: bool = True) -> Shapes:
    yield f"{name}.weight", (outputs, inputs, kernel)
    if has_bias:
        yield f"{name}.bias", (outputs,)


def attention(name: str, config: dict) -> Shapes:
    hidden, width = config["hidden_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    for part, count in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)):
        yield from linear(f"{name}.{part}", hidden, count * width, has_bias=False)
    yield from linear(f"{name}.o_proj", heads * width, hidden, has_bias=False)


def gated_mlp(name: str, hidden: int, intermediate: int) -> Shapes:
    yield from linear(f"{name}.gate_proj", hidden, intermediate, has_bias=False)
    yield from linear(f"{name}.up_proj", hidden, intermediate, has_bias=False)
    yield from linear(f"{name}.down_proj", intermediate, hidden, has_bias=False)


def decoder_layers(name: str, config: dict, has_qk_norm: bool) -> Shapes:
    """Qwen-like layers and the norm behind them; the codec's have layer scales instead of norms of query and key."""
    hidden = config["hidden_size"]
    for index in range(config["num_hidden_layers"]):
        layer = f"{name}.layers.{index}"
        yield from attention(f"{layer}.self_attn", config)
        yield from gated_mlp(f"{layer}.mlp", hidden, config["intermediate_size"])
        yield f"{layer}.input_layernorm.weight", (hidden,)
        yield f"{layer}.post_attention_layernorm.weight", (hidden,)
        if has_qk_norm:
            yield f"{layer}.self_attn.q_norm.weight", (config["head_dim"],)
            yield f"{layer}.self_attn.k_norm.weight", (config["head_dim"],)
        else:
            yield f"{layer}.self_attn_layer_scale.scale", (hidden,)
            yield f"{layer}.mlp_layer_scale.scale", (hidden,)
    yield f"{name}.norm.weight", (hidden,)


def model_shapes(config: dict) -> Shapes:
    """Every tensor of model.safetensors."""
    talker = config["talker_config"]
    predictor, hidden, text = talker["code_predictor_config"], talker["hidden_size"], talker["text_hidden_size"]
    yield "talker.model.text_embedding.weight", (talker["text_vocab_size"], text)
    yield "talker.model.codec_embedding.weight", (talker["vocab_size"], hidden)
    yield from decoder_layers("talker.model", talker, has_qk_norm=True)
    yield from linear("talker.text_projection.linear_fc1", text, text)
    yield from linear("talker.text_projection.linear_fc2", text, hidden)
    yield from linear("talker.codec_head", hidden, talker["vocab_size"], has_bias=False)
    name = "talker.code_predictor"
    yield from decoder_layers(f"{name}.model", predictor, has_qk_norm=True)
    for index in range(talker["num_code_groups"] - 1):
        yield f"{name}.model.codec_embedding.{index}.weight", (predictor["vocab_size"], hidden)
        yield f"{name}.lm_head.{index}.weight", (predictor["vocab_size"], predictor["hidden_size"])
    if predictor["hidden_size"] != hidden:
        yield from linear(f"{name}.small_to_mtp_projection", hidden, predictor["hidden_size"])
    if "speaker_encoder_config" in config:
        yield from speaker_encoder_shapes("speaker_encoder", config["speaker_encoder_config"])


def speaker_encoder_shapes(name: str, config: dict) -> Shapes:
    channels, kernels = config["enc_channels"], config["enc_kernel_sizes"]
    scale, squeezed, attended = config["enc_res2net_scale"], config["enc_se_channels"], config["enc_attention_channels"]
    yield from conv(f"{name}.blocks.0.conv", config["mel_dim"], channels[0], kernels[0])
    for index in range(1, len(channels) - 1):
        block, width = f"{name}.blocks.{index}", channels[index]
        yield from conv(f"{block}.tdnn1.conv", channels[index - 1], width, 1)
        for part in range(scale - 1):
            yield from conv(f"{block}.res2net_block.blocks.{part}.conv", width // scale, width // scale, kernels[index])
        yield from conv(f"{block}.tdnn2.conv", width, width, 1)
        yield from conv(f"{block}.se_block.conv1", width, squeezed, 1)
        yield from conv(f"{block}.se_block.conv2", squeezed, width, 1)
    last = channels[-1]
    yield from conv(f"{name}.mfa.conv", last, last, kernels[-1])
    yield from conv(f"{name}.asp.tdnn.conv", 3 * last, attended, 1)
    yield from conv(f"{name}.asp.conv", attended, last, 1)
    yield from conv(f"{name}.fc", 2 * last, config["enc_dim"], 1)


def codec_shapes() -> Shapes:
    """Every tensor of speech_tokenizer/model.safetensors."""
    yield from codec_decoder_shapes(CODEC_DECODER)
    yield from codec_encoder_shapes(CODEC_ENCODER)


def codec_decoder_shapes(config: dict) -> Shapes:
    outer, latent, hidden = config["codebook_dim"], config["latent_dim"], config["hidden_size"]
    inner = outer // 2
    for part, count in (("rvq_first", 1), ("rvq_rest", config["num_quantizers"] - 1)):
        name = f"decoder.quantizer.{part}"
        yield from conv(f"{name}.input_proj", outer, inner, 1, has_bias=False)
        yield from conv(f"{name}.output_proj", inner, outer, 1, has_bias=False)
        for index in range(count):
            yield f"{name}.vq.layers.{index}._codebook.embedding_sum", (config["codebook_size"], inner)
            yield f"{name}.vq.layers.{index}._codebook.cluster_usage", (config["codebook_size"],)
    yield from conv("decoder.pre_conv.conv", outer, latent, 3)
    yield from linear("decoder.pre_transformer.input_proj", latent, hidden)
    yield from decoder_layers("decoder.pre_transformer", config, has_qk_norm=False)
    yield from linear("decoder.pre_transformer.output_proj", hidden, latent)
    for index, factor in enumerate(config["upsampling_ratios"]):
        name = f"decoder.upsample.{index}"
        yield f"{name}.0.conv.weight", (latent, latent, factor)
        yield f"{name}.0.conv.bias", (latent,)
        yield from conv(f"{name}.1.dwconv.conv", 1, latent, 7)
        yield from ((f"{name}.1.norm.{part}", (latent,)) for part in ("weight", "bias"))
        yield from linear(f"{name}.1.pwconv1", latent, 4 * latent)
        yield from linear(f"{name}.1.pwconv2", 4 * latent, latent)
        yield f"{name}.1.gamma", (latent,)
    yield from conv("decoder.decoder.0.conv", latent, config["decoder_dim"], 7)
    width = config["decoder_dim"]
    for index, rate in enumerate(config["upsample_rates"], start=1):
        yield from codec_block_shapes(f"decoder.decoder.{index}.block", width, rate)
        width //= 2
    last = len(config["upsample_rates"]) + 1
    yield from snake(f"decoder.decoder.{last}", width)
    yield from conv(f"decoder.decoder.{last + 1}.conv", width, 1, 7)


def snake(name: str, channels: int) -> Shapes:
    yield from ((f"{name}.{part}", (channels,)) for part in ("alpha", "beta"))


def codec_block_shapes(name: str, width: int, rate: int) -> Shapes:
    half = width // 2
    yield from snake(f"{name}.0", width)
    yield f"{name}.1.conv.weight", (width, half, 2 * rate)
    yield f"{name}.1.conv.bias", (half,)
    for unit in range(2, 5):
        for number, kernel in ((1, 7), (2, 1)):
            yield from snake(f"{name}.{unit}.act{number}", half)
            yield from conv(f"{name}.{unit}.conv{number}.conv", half, half, kernel)


def codec_encoder_shapes(config: dict) -> Shapes:
    width, hidden, layers = config["num_filters"], config["hidden_size"], "encoder.encoder.layers"
    yield from conv(f"{layers}.0.conv", config["audio_channels"], width, config["kernel_size"])
    index = 1
    for ratio in reversed(config["upsampling_ratios"]):
        for _ in range(config["num_residual_layers"]):
            inner, block = width // config["compress"], f"{layers}.{index}.block"
            yield from conv(f"{block}.1.conv", width, inner, config["residual_kernel_size"])
            yield from conv(f"{block}.3.conv", inner, width, 1)
            index += 1
        yield from conv(f"{layers}.{index + 1}.conv", width, 2 * width, 2 * ratio)
        width, index = 2 * width, index + 2
    yield from conv(f"{layers}.{index + 1}.conv", width, hidden, config["last_kernel_size"])
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.encoder_transformer.layers.{number}"
        yield from attention(f"{layer}.self_attn", config)
        yield from linear(f"{layer}.mlp.fc1", hidden, config["intermediate_size"], has_bias=False)
        yield from linear(f"{layer}.mlp.fc2", config["intermediate_size"], hidden, has_bias=False)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield from ((f"{layer}.{norm}.{part}", (hidden,)) for part in ("weight", "bias"))
        yield f"{layer}.self_attn_layer_scale.scale", (hidden,)
        yield f"{layer}.mlp_layer_scale.scale", (hidden,)
    yield from conv("encoder.downsample.conv", hidden, hidden, 4, has_bias=False)
    inner, semantic = config["vector_quantization_hidden_dimension"], config["num_semantic_quantizers"]
    for part, count in (("semantic", semantic), ("acoustic", config["num_quantizers"] - semantic)):
        name = f"encoder.quantizer.{part}_residual_vector_quantizer"
        yield from conv(f"{name}.input_proj", hidden, inner, 1, has_bias=False)
        yield from conv(f"{name}.output_proj", inner, hidden, 1, has_bias=False)
        for number in range(count):
            book = f"{name}.layers.{number}.codebook"
            yield f"{book}.embed_sum", (config["codebook_size"], config["codebook_dim"])
            yield f"{book}.cluster_usage", (config["codebook_size"],)
            yield f"{book}.initialized", (1,)


def scaled_noise(shape: tuple[int, ...], gain: float, generator: torch.Generator) -> torch.Tensor:
    """Normal noise that multiplies the size of what passes through it by `gain`."""
    return torch.randn(shape, generator=generator) * (gain / math.sqrt(math.prod(shape[1:])))


def vector(name: str, shape: tuple[int, ...], generator: torch.Generator, std: float = 0.1) -> torch.Tensor:
    noise = std * torch.randn(shape, generator=generator)
    return noise + 1.0 if "norm" in name and name.endswith("weight") else noise


def model_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights under which the text and every code make a difference to what follows."""
    if len(shape) == 1:
        return vector(name, shape, generator)
    if "_embedding" in name:
        return 0.5 * torch.randn(shape, generator=generator)
    return scaled_noise(shape, 3.0 if name.endswith("o_proj.weight") else 1.2, generator)


def codec_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights that leave the waveform within its limits, and codebooks of well separated entries."""
    if name.endswith("initialized"):
        return torch.ones(shape)
    if name.endswith("cluster_usage"):
        # One entry that training never used: the upstream divides by its floor.
        usage = 0.5 + torch.rand(shape, generator=generator)
        usage[-1] = 0.0
        return usage
    if name.endswith(("embed_sum", "embedding_sum")):
        sums = torch.randn(shape, generator=generator)
        sums[-1] *= 1e-5
        return sums
    if len(shape) == 1:
        return vector(name, shape, generator, 0.02 if name.endswith("bias") else 0.1)
    return scaled_noise(shape, 0.75 if name.startswith("decoder.") else 1.0, generator)


REQUEST = {
    **{"text": "Hi. Ho.", "max_text_size": 4},
    # Takes of noise never end by themselves: a few frames of each, with a warning.
    "options": {"max_seconds": 0.16, "at_limit": "warn"},
}
