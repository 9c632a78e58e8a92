"""Tiny random checkpoints in the official layouts of VoxCPM 0.5B, 1.5 and 2, written without the upstream package.

Sizes are small, rates and structure are the official ones. Layers are large enough to stream one by one.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

KINDS = ("0.5B", "1.5", "2")
HEAD_DIM = 16
ADAPTER = "adapter"  # in every checkpoint; "auto" passes it over
REQUEST = {
    "options": {"steps": 2, "max_seconds": 0.33, "attempts": 2, "at_limit": "warn"},  # two patches
    "further": ({"lora": ADAPTER},),
}
CONTROLS = ("<unk>", "<s>", "</s>", "<|audio_start|>")
# Chinese words of several characters, of one of which a character is no token of its own.
WORDS = (("你", "好"), ("世", "界"), ("▁", "你好"), ("早", "上"), ("，", "世界"))
RARE_WORD = "好吗"
MODEL_FILES = {"0.5B": "pytorch_model.bin", "1.5": "model.safetensors", "2": "model.safetensors"}
_MATRIX_SCALE = 0.15
_CODEC_SCALE = 0.6  # no wave of the decoder is cut

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(folder: Path, kind: str = "2", *, seed: int = 0, changes: Mapping[str, object] | None = None) -> None:
    """Write a checkpoint into `folder`, which is made if need be.

    Args:
        folder: Where to.
        kind: One of `KINDS`.
        seed: Of all weights.
        changes: Dotted key of config.json -> another value; None leaves the key out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocab_size = write_tokenizer(folder)
    config = model_config(kind, vocab_size)
    for key, value in (changes or {}).items():
        _set(config, key.split("."), value)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    generator = torch.Generator().manual_seed(seed)
    talker = {name: _weight(name, shape, generator) for name, shape in talker_shapes(config)}
    if MODEL_FILES[kind].endswith(".bin"):
        torch.save({"state_dict": talker}, folder / MODEL_FILES[kind])
    else:
        save_file(talker, folder / MODEL_FILES[kind], metadata={"format": "pt"})
    codec = dict(_codec_weights(codec_shapes(config["audio_vae_config"], kind), generator))
    if kind == "2":
        codec["decoder.sr_bin_boundaries"] = torch.tensor([20000, 30000, 40000], dtype=torch.int32)
    torch.save({"state_dict": codec}, folder / "audiovae.pth")
    write_lora(folder / ADAPTER, config)


def write_lora(folder: Path, config: Mapping, *, rank: int = 4, alpha: float = 6.0, seed: int = 1) -> dict:
    """Write an adapter of queries, values and one projection as a fine-tuning does; returns its tensors."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for name, (outputs, inputs) in _adaptable(config):
        found[f"{name}.lora_A"] = _MATRIX_SCALE * torch.randn(rank, inputs, generator=generator)
        found[f"{name}.lora_B"] = _MATRIX_SCALE * torch.randn(outputs, rank, generator=generator)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(found, folder / "lora_weights.safetensors")
    lora_config = {"base_model": "tiny", "lora_config": {"r": rank, "alpha": alpha, "enable_lm": True}}
    (folder / "lora_config.json").write_text(json.dumps(lora_config), encoding="utf-8")
    return found


def write_tokenizer(folder: Path) -> int:
    """Llama's tokenizer: pieces with a mark for a space, bytes for what is unknown; returns the number of tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

    pieces = [*CONTROLS, *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *(chr(code) for code in range(33, 127))]
    pieces += [piece for pair in WORDS for piece in pair] + ["".join(pair) for pair in WORDS] + [RARE_WORD]
    vocab = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=list(WORDS), byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CONTROLS])
    tokenizer.save(str(folder / "tokenizer.json"))
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    config = {
        "added_tokens_decoder": {str(vocab[token]): {"content": token, **plain, "special": True} for token in CONTROLS},
        **{"add_bos_token": True, "add_eos_token": False, "legacy": True, "tokenizer_class": "LlamaTokenizerFast"},
        **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return len(vocab)


def model_config(kind: str, vocab_size: int) -> dict:
    """config.json."""
    is_second = kind == "2"
    half = HEAD_DIM // 2
    lm = {
        **{"bos_token_id": 1, "eos_token_id": 2, "hidden_size": 64, "intermediate_size": 96, "vocab_size": vocab_size},
        **{"num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-5},
        **{"max_position_embeddings": 2048, "rope_theta": 10000.0, "use_mup": False, "scale_emb": 12},
        **{"dim_model_base": 256, "scale_depth": 1.4},
        "rope_scaling": {
            "type": "longrope",
            "long_factor": [1.0 + 0.1 * index for index in range(half)],
            "short_factor": [1.0 + 0.03 * index for index in range(half)],
            "original_max_position_embeddings": 2048,
        },
    }
    local = {"hidden_dim": 48, "ffn_dim": 64, "num_heads": 4, "num_layers": 2, "kv_channels": HEAD_DIM}
    vae = {"encoder_dim": 8, "encoder_rates": [2, 5, 8, 8], "latent_dim": 16, "decoder_dim": 128, "sample_rate": 16000}
    vae["decoder_rates"] = [8, 8, 5, 2]
    if kind == "1.5":
        vae |= {"encoder_rates": [2, 3, 6, 7, 7], "decoder_rates": [7, 7, 6, 3, 2], "sample_rate": 44100}
    config = {
        **{"architecture": "voxcpm2" if is_second else "voxcpm", "lm_config": lm, "feat_dim": 16},
        **{"patch_size": 2 if kind == "0.5B" else 4, "residual_lm_num_layers": 1, "max_length": 512},
        **{"scalar_quantization_latent_dim": 32, "scalar_quantization_scale": 9, "encoder_config": dict(local)},
        **{"dit_config": {**local, "cfm_config": {}}, "audio_vae_config": vae, "dtype": "float32", "device": "cpu"},
    }
    if is_second:
        lm["kv_channels"] = HEAD_DIM
        vae |= {"decoder_rates": [8, 6, 5, 2, 2, 2], "out_sample_rate": 48000, "cond_type": "scale_bias"}
        vae |= {"sr_bin_boundaries": [20000, 30000, 40000], "cond_dim": 8}
        config["residual_lm_no_rope"] = True
    return config


def _set(config: dict, path: list[str], value: object) -> None:
    for key in path[:-1]:
        config = config[key]
    if value is None:
        config.pop(path[-1], None)
    else:
        config[path[-1]] = value


def linear(name: str, inputs: int, outputs: int, has_bias: bool = True) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    if has_bias:
        yield f"{name}.bias", (outputs,)


def stack_shapes(name: str, lm: Mapping, hidden: int, inner: int, heads: int, layers: int) -> Shapes:
    width, kv_heads = HEAD_DIM, lm["num_key_value_heads"]
    for index in range(layers):
        layer = f"{name}.layers.{index}"
        for part, count in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)):
            yield from linear(f"{layer}.self_attn.{part}", hidden, count * width, has_bias=False)
        yield from linear(f"{layer}.self_attn.o_proj", heads * width, hidden, has_bias=False)
        for part in ("gate_proj", "up_proj"):
            yield from linear(f"{layer}.mlp.{part}", hidden, inner, has_bias=False)
        yield from linear(f"{layer}.mlp.down_proj", inner, hidden, has_bias=False)
        yield from ((f"{layer}.{norm}.weight", (hidden,)) for norm in ("input_layernorm", "post_attention_layernorm"))
    yield f"{name}.norm.weight", (hidden,)


def talker_shapes(config: Mapping) -> Shapes:
    """Every tensor of the model's file."""
    lm, feat = config["lm_config"], config["feat_dim"]
    hidden, inner, heads = lm["hidden_size"], lm["intermediate_size"], lm["num_attention_heads"]
    yield "base_lm.embed_tokens.weight", (lm["vocab_size"], hidden)
    yield from stack_shapes("base_lm", lm, hidden, inner, heads, lm["num_hidden_layers"])
    yield from stack_shapes("residual_lm", lm, hidden, inner, heads, config["residual_lm_num_layers"])
    for name, section in (("feat_encoder.encoder", "encoder_config"), ("feat_decoder.estimator.decoder", "dit_config")):
        local = config[section]
        sizes = (local["hidden_dim"], local["ffn_dim"], local["num_heads"], local["num_layers"])
        yield from stack_shapes(name, lm, *sizes)
    local, made = config["encoder_config"]["hidden_dim"], config["dit_config"]["hidden_dim"]
    yield "feat_encoder.special_token", (1, 1, 1, local)
    yield from linear("feat_encoder.in_proj", feat, local)
    yield from linear("enc_to_lm_proj", local, hidden)
    estimator = "feat_decoder.estimator"
    yield from linear(f"{estimator}.in_proj", feat, made)
    yield from linear(f"{estimator}.cond_proj", feat, made)
    yield from linear(f"{estimator}.out_proj", made, feat)
    for name in ("time_mlp", "delta_time_mlp"):
        for part in ("linear_1", "linear_2"):
            yield from linear(f"{estimator}.{name}.{part}", made, made)
    yield from linear("lm_to_dit_proj", hidden, made)
    yield from linear("res_to_dit_proj", hidden, made)
    if config["architecture"] == "voxcpm2":
        yield from linear("fusion_concat_proj", 2 * hidden, hidden)
    yield from linear("fsq_layer.in_proj", hidden, config["scalar_quantization_latent_dim"])
    yield from linear("fsq_layer.out_proj", config["scalar_quantization_latent_dim"], hidden)
    yield from linear("stop_proj", hidden, hidden)
    yield from linear("stop_head", hidden, 2, has_bias=False)


def _adaptable(config: Mapping) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, shape in talker_shapes(config):
        layer = name.removesuffix(".weight")
        is_attention = layer.endswith((".q_proj", ".v_proj")) and not layer.startswith("feat_encoder")
        if is_attention or layer == "lm_to_dit_proj":
            yield layer, shape


def conv(name: str, shape: tuple[int, int, int], has_bias: bool = True) -> Shapes:
    """A convolution with weight norm; the direction tells the shape, gain and bias follow."""
    yield f"{name}.weight_v", shape
    if has_bias:
        yield f"{name}.bias", (shape[0],)


def codec_shapes(vae: Mapping, kind: str) -> Shapes:
    """Every tensor of audiovae.pth but the gains."""
    width = vae["encoder_dim"]
    yield from conv("encoder.block.0", (width, 1, 7))
    for index, rate in enumerate(vae["encoder_rates"], start=1):
        block = f"encoder.block.{index}.block"
        for unit in range(3):
            yield from unit_shapes(f"{block}.{unit}", width)
        yield f"{block}.3.alpha", (1, width, 1)
        yield from conv(f"{block}.4", (2 * width, width, 2 * rate))
        width *= 2
    for name in ("fc_mu", "fc_logvar"):
        yield from conv(f"encoder.{name}", (vae["latent_dim"], width, 3))
    latent, width = vae["latent_dim"], vae["decoder_dim"]
    yield from conv("decoder.model.0", (latent, 1, 7))
    yield from conv("decoder.model.1", (width, latent, 1))
    for index, rate in enumerate(vae["decoder_rates"], start=2):
        block, half = f"decoder.model.{index}.block", width // 2
        yield f"{block}.0.alpha", (1, width, 1)
        yield f"{block}.1.weight_v", (width, half, 2 * rate)
        yield f"{block}.1.bias", (half,)
        for unit in range(2, 5):
            yield from unit_shapes(f"{block}.{unit}", half)
        if kind == "2":
            yield from (
                (f"decoder.sr_cond_model.{index}.{part}_embed.weight", (4, width)) for part in ("scale", "bias")
            )
        width = half
    last = len(vae["decoder_rates"]) + 2
    yield f"decoder.model.{last}.alpha", (1, width, 1)
    yield from conv(f"decoder.model.{last + 1}", (1, width, 7))


def unit_shapes(name: str, width: int) -> Shapes:
    for index, kernel, inputs in ((1, 7, 1), (3, 1, width)):
        yield f"{name}.block.{index - 1}.alpha", (1, width, 1)
        yield from conv(f"{name}.block.{index}", (width, inputs, kernel))


def _weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Everything is random, gains of norms included, so that a stage that ignores one of them shows up."""
    noise = torch.randn(shape, generator=generator)
    if name.endswith("norm.weight"):
        return 1 + 0.2 * noise
    return (0.02 if len(shape) == 1 else _MATRIX_SCALE) * noise


def _codec_weights(shapes: Shapes, generator: torch.Generator) -> Iterator[tuple[str, torch.Tensor]]:
    for name, shape in shapes:
        noise = torch.randn(shape, generator=generator)
        if name.endswith(".weight_v"):
            fan_in = math.prod(shape[1:])
            direction = _CODEC_SCALE * noise / math.sqrt(fan_in)
            yield name, direction
            gains = 1 + 0.2 * torch.randn(shape[0], 1, 1, generator=generator)
            yield name[:-1] + "g", gains * direction.norm(dim=(1, 2), keepdim=True)
        elif name.endswith((".alpha", "scale_embed.weight")):
            yield name, 1 + 0.2 * noise
        else:
            yield name, 0.05 * noise
