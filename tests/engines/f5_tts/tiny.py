"""A tiny random checkpoint in the official layout of F5-TTS, written without the upstream package.

Sizes are small, rates and structure are the official ones. Layers are large enough to stream one by one.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file

REQUEST = {"options": {"steps": 2, "duration": 0.0, "edit_start": 0.0, "edit_end": 0.0}}
NUM_MELS = 100
SIZES = {"dim": 64, "depth": 2, "heads": 4, "dim_head": 16, "ff_mult": 2, "text_dim": 32, "conv_layers": 2}
SYMBOLS = (
    *(" ", "!", '"', "'", ",", "-", ".", ":", "?", *"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    *("。", "，", "ni3", "hao3", "shi4", "jie4", "yi1", "yi2", "bu4", "xu4", "ä", "é", "ñ", "Ж", "こ"),
)
VOCOS = {"dim": 64, "intermediate_dim": 192, "num_layers": 2}
VOCOS_CONFIG = """\
feature_extractor:
  class_path: vocos.feature_extractors.MelSpectrogramFeatures
  init_args:
    sample_rate: 24000
    n_fft: 1024
    hop_length: 256
    n_mels: 100
    padding: {padding}

backbone:
  class_path: vocos.models.VocosBackbone
  init_args:
    input_channels: 100
    dim: {dim}
    intermediate_dim: {intermediate_dim}
    num_layers: {num_layers}

head:
  class_path: vocos.heads.ISTFTHead
  init_args:
    dim: {dim}
    n_fft: 1024
    hop_length: 256
    padding: {padding}
"""
TRAINING = ("initted", "step")  # what the averaging of the training leaves in the file

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(
    folder: Path,
    *,
    seed: int = 0,
    file: str = "model_1250000.safetensors",
    sizes: dict | None = None,
    has_head_norm: bool = False,
    has_skip: bool = False,
    padding: str = "center",
) -> None:
    """Write a checkpoint with its vocoder into `folder`, which is made if need be.

    Args:
        folder: Where to.
        seed: Of all weights.
        file: Name of the file with the transformer; ".pt" is a training's.
        sizes: Instead of some of `SIZES`.
        has_head_norm, has_skip: Parts that no official model has.
        padding: Of the vocoder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    shapes = transformer_shapes({**SIZES, **(sizes or {})}, has_head_norm, has_skip)
    weights = {f"transformer.{name}": random_weight(name, shape, generator) for name, shape in shapes}
    averaged = {f"ema_model.{name}": tensor for name, tensor in weights.items()}
    averaged |= {name: torch.tensor(1) for name in TRAINING}
    averaged["ema_model.mel_spec.mel_stft.spectrogram.window"] = torch.hann_window(1024)
    if file.endswith(".pt"):
        last = {name: tensor + 1 for name, tensor in weights.items()}
        torch.save({"ema_model_state_dict": averaged, "model_state_dict": last, "update": 7}, folder / file)
    else:
        save_file(averaged, folder / file)
    (folder / "vocab.txt").write_text("".join(f"{symbol}\n" for symbol in SYMBOLS), encoding="utf-8")
    build_vocos(folder / "vocos-mel-24khz", generator, padding)


def build_vocos(folder: Path, generator: torch.Generator, padding: str = "center") -> None:
    """Write a vocoder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(VOCOS_CONFIG.format(**VOCOS, padding=padding), encoding="utf-8")
    weights = {name: random_weight(name, shape, generator) for name, shape in vocos_shapes()}
    weights["head.istft.window"] = torch.hann_window(1024)
    weights["feature_extractor.mel_spec.spectrogram.window"] = torch.hann_window(1024)
    weights["feature_extractor.mel_spec.mel_scale.fb"] = torch.zeros(513, NUM_MELS)
    torch.save(weights, folder / "pytorch_model.bin")


def random_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Noise everywhere, also where training starts from zero: there an error would not show."""
    if name.endswith("inv_freq"):
        return 1.0 / 10000 ** (torch.arange(0, 2 * shape[0], 2).float() / (2 * shape[0]))
    is_matrix = len(shape) > 1 and "grn" not in name
    scale = torch.Size(shape[1:]).numel() ** -0.5 if is_matrix else 0.2
    noise = torch.randn(shape, generator=generator) * scale
    return noise + 1.0 if name.endswith(("norm.weight", "gamma")) else noise


def transformer_shapes(sizes: dict, has_head_norm: bool, has_skip: bool) -> Shapes:
    """Names without `transformer.`, and shapes."""
    dim, text = sizes["dim"], sizes["text_dim"]
    yield "text_embed.text_embed.weight", (len(SYMBOLS) + 1, text)
    for number in range(sizes["conv_layers"]):
        yield from convnext_shapes(f"text_embed.text_blocks.{number}.", text, 2 * text)
        yield f"text_embed.text_blocks.{number}.grn.gamma", (1, 1, 2 * text)
        yield f"text_embed.text_blocks.{number}.grn.beta", (1, 1, 2 * text)
    yield from linear("time_embed.time_mlp.0", 256, dim)
    yield from linear("time_embed.time_mlp.2", dim, dim)
    yield from linear("input_embed.proj", 2 * NUM_MELS + text, dim)
    for number in (0, 2):
        yield f"input_embed.conv_pos_embed.conv1d.{number}.weight", (dim, dim // 16, 31)
        yield f"input_embed.conv_pos_embed.conv1d.{number}.bias", (dim,)
    yield "rotary_embed.inv_freq", (sizes["dim_head"] // 2,)
    inner = sizes["heads"] * sizes["dim_head"]
    for number in range(sizes["depth"]):
        block = f"transformer_blocks.{number}."
        yield from linear(f"{block}attn_norm.linear", dim, 6 * dim)
        for name in ("to_q", "to_k", "to_v"):
            yield from linear(f"{block}attn.{name}", dim, inner)
        yield from linear(f"{block}attn.to_out.0", inner, dim)
        if has_head_norm:
            yield f"{block}attn.q_norm.weight", (sizes["dim_head"],)
            yield f"{block}attn.k_norm.weight", (sizes["dim_head"],)
        yield from linear(f"{block}ff.ff.0.0", dim, sizes["ff_mult"] * dim)
        yield from linear(f"{block}ff.ff.2", sizes["ff_mult"] * dim, dim)
    if has_skip:
        yield "long_skip_connection.weight", (dim, 2 * dim)
    yield from linear("norm_out.linear", dim, 2 * dim)
    yield from linear("proj_out", dim, NUM_MELS)


def vocos_shapes() -> Shapes:
    """Names and shapes of the vocoder."""
    dim = VOCOS["dim"]
    yield "backbone.embed.weight", (dim, NUM_MELS, 7)
    yield "backbone.embed.bias", (dim,)
    for name in ("norm", "final_layer_norm"):
        yield f"backbone.{name}.weight", (dim,)
        yield f"backbone.{name}.bias", (dim,)
    for number in range(VOCOS["num_layers"]):
        yield from convnext_shapes(f"backbone.convnext.{number}.", dim, VOCOS["intermediate_dim"])
        yield f"backbone.convnext.{number}.gamma", (dim,)
    yield from linear("head.out", dim, 1026)


def convnext_shapes(prefix: str, dim: int, inner: int) -> Shapes:
    yield f"{prefix}dwconv.weight", (dim, 1, 7)
    yield f"{prefix}dwconv.bias", (dim,)
    yield f"{prefix}norm.weight", (dim,)
    yield f"{prefix}norm.bias", (dim,)
    yield from linear(f"{prefix}pwconv1", dim, inner)
    yield from linear(f"{prefix}pwconv2", inner, dim)


def linear(name: str, inputs: int, outputs: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)
