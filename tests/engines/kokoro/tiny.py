"""A tiny random checkpoint in the official layout of Kokoro, written without the upstream package.

Sizes are small, rates and structure are the official ones. Layers are large enough to stream one by one.
"""

import json
import math
from pathlib import Path

import torch

VOCAB = json.loads(
    (Path(__file__).resolve().parents[3] / "engines" / "hibari" / "assets" / "vocab.json").read_text(encoding="utf-8")
)
CONFIG = {
    "hidden_dim": 64, "style_dim": 16, "n_layer": 1, "max_dur": 4, "n_token": 178, "text_encoder_kernel_size": 5,
    "dropout": 0.2, "n_mels": 80, "dim_in": 64, "max_conv_dim": 512, "multispeaker": True,
    "istftnet": {
        "upsample_rates": [10, 6], "upsample_kernel_sizes": [20, 12], "upsample_initial_channel": 64,
        "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[2]], "gen_istft_n_fft": 20,
        "gen_istft_hop_size": 5,
    },
    "plbert": {
        "hidden_size": 64, "num_attention_heads": 1, "intermediate_size": 128, "max_position_embeddings": 512,
        "num_hidden_layers": 2, "dropout": 0.1,
    },
    "vocab": VOCAB,
}  # fmt: skip
VOICES = ("af_heart", "am_michael")
REQUEST = {"max_text_size": 6, "options": {"language": "auto", "mix": ""}}
TEXT_CHANNELS, EMBEDDING, SINES = 64, 128, 9


def build(folder, config=CONFIG, voices=VOICES, seed=0):
    """Write a checkpoint into `folder`."""
    generator = torch.Generator().manual_seed(seed)
    (folder / "config.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    torch.save(official(weights(config, generator)), folder / "kokoro-v1_0.pth")
    (folder / "voices").mkdir()
    for voice in voices:
        table = 0.5 * torch.randn(510, 1, 2 * config["style_dim"], generator=generator)
        torch.save(table, folder / "voices" / f"{voice}.pt")


def official(plain):
    """The published layout of plain weights: five parts, a wrapper's prefix, convolutions as gain and direction."""
    parts = {}
    for name, weight in plain.items():
        part, _, rest = name.partition(".")
        stored = parts.setdefault(part, {})
        if name.endswith(".weight") and weight.dim() == 3 and not has_plain_weight(name):
            gain = weight.flatten(1).norm(dim=1)[:, None, None]
            # A filter of zeros has no direction, and the quotient of zeros is no number.
            stored[f"module.{rest}_g"], stored[f"module.{rest}_v"] = gain, torch.where(gain > 0, weight, 1.0)
        else:
            stored[f"module.{rest}"] = weight
    return parts


def has_plain_weight(name):
    """Whether a convolution has no weight norm."""
    return "_proj." in name or "noise_convs." in name


def weights(config, generator):
    """Official name, without wrapper and weight norm -> random weight. Most phonemes last a frame or two."""
    found = {}
    for name, shape in shapes(config):
        if name.endswith(("gamma", "LayerNorm.weight", "layer_norm.weight")) or ".alpha" in name:
            found[name] = 1 + 0.1 * torch.randn(shape, generator=generator)
        elif len(shape) == 1:
            found[name] = 0.05 * torch.randn(shape, generator=generator)
        else:
            fan_in = math.prod(shape[1:])
            found[name] = torch.randn(shape, generator=generator) / math.sqrt(fan_in)
    found["predictor.duration_proj.linear_layer.bias"].fill_(-math.log(config["max_dur"] / 1.3 - 1))
    found["predictor.F0_proj.bias"].fill_(120.0)  # voiced
    found["decoder.generator.conv_post.bias"][: config["istftnet"]["gen_istft_n_fft"] // 2 + 1] = -3.0  # not too loud
    return found


def shapes(config):
    """(official name, shape) of every weight."""
    yield from albert(config["n_token"], **config["plbert"])
    size, style, inner = config["hidden_dim"], config["style_dim"], config["plbert"]["hidden_size"]
    yield from linear("bert_encoder", inner, size)
    yield from predictor(size, style, config["n_layer"], config["max_dur"])
    yield "text_encoder.embedding.weight", (config["n_token"], size)
    for layer in range(config["n_layer"]):
        yield from conv(f"text_encoder.cnn.{layer}.0", size, size, config["text_encoder_kernel_size"])
        yield f"text_encoder.cnn.{layer}.1.gamma", (size,)
        yield f"text_encoder.cnn.{layer}.1.beta", (size,)
    yield from lstm("text_encoder.lstm", size, size)
    yield from decoder(size, style, config["istftnet"])


def albert(vocab, hidden_size, intermediate_size, max_position_embeddings, **_):
    embeddings, layer = "bert.embeddings", "bert.encoder.albert_layer_groups.0.albert_layers.0"
    for name, rows in (("word", vocab), ("position", max_position_embeddings), ("token_type", 2)):
        yield f"{embeddings}.{name}_embeddings.weight", (rows, EMBEDDING)
    yield from norm(f"{embeddings}.LayerNorm", EMBEDDING)
    yield from linear("bert.encoder.embedding_hidden_mapping_in", EMBEDDING, hidden_size)
    for name in ("query", "key", "value", "dense"):
        yield from linear(f"{layer}.attention.{name}", hidden_size, hidden_size)
    yield from norm(f"{layer}.attention.LayerNorm", hidden_size)
    yield from linear(f"{layer}.ffn", hidden_size, intermediate_size)
    yield from linear(f"{layer}.ffn_output", intermediate_size, hidden_size)
    yield from norm(f"{layer}.full_layer_layer_norm", hidden_size)
    yield from linear("bert.pooler", hidden_size, hidden_size)


def predictor(size, style, layers, max_dur):
    for layer in range(layers):
        yield from lstm(f"predictor.text_encoder.lstms.{2 * layer}", size + style, size)
        yield from linear(f"predictor.text_encoder.lstms.{2 * layer + 1}.fc", style, 2 * size)
    for name in ("lstm", "shared"):
        yield from lstm(f"predictor.{name}", size + style, size)
    yield from linear("predictor.duration_proj.linear_layer", size, max_dur)
    for curve in ("F0", "N"):
        yield from block(f"predictor.{curve}.0", size, size, style)
        yield from block(f"predictor.{curve}.1", size, size // 2, style, is_upsampling=True)
        yield from block(f"predictor.{curve}.2", size // 2, size // 2, style)
        yield from conv(f"predictor.{curve}_proj", size // 2, 1, 1)


def decoder(size, style, net):
    wide, channels, inner = 2 * size, net["upsample_initial_channel"], "decoder.generator"
    yield from conv("decoder.F0_conv", 1, 1, 3)
    yield from conv("decoder.N_conv", 1, 1, 3)
    yield from conv("decoder.asr_res.0", size, TEXT_CHANNELS, 1)
    yield from block("decoder.encode", size + 2, wide, style)
    for index in range(4):
        is_last = index == 3
        yield from block(
            f"decoder.decode.{index}", wide + TEXT_CHANNELS + 2, channels if is_last else wide, style, is_last
        )
    yield from linear(f"{inner}.m_source.l_linear", SINES, 1)
    bins = net["gen_istft_n_fft"] + 2
    blocks = list(zip(net["resblock_kernel_sizes"], map(len, net["resblock_dilation_sizes"]), strict=True))
    for stage, kernel in enumerate(net["upsample_kernel_sizes"]):
        step = math.prod(net["upsample_rates"][stage + 1 :])
        is_last, channels = stage + 1 == len(net["upsample_rates"]), channels // 2
        yield f"{inner}.ups.{stage}.weight", (2 * channels, channels, kernel)
        yield f"{inner}.ups.{stage}.bias", (channels,)
        yield from conv(f"{inner}.noise_convs.{stage}", bins, channels, 1 if is_last else 2 * step)
        yield from snake_block(f"{inner}.noise_res.{stage}", channels, style, 11 if is_last else 7, 3)
        for index, given in enumerate(blocks, stage * len(blocks)):
            yield from snake_block(f"{inner}.resblocks.{index}", channels, style, *given)
    yield from conv(f"{inner}.conv_post", channels, bins, 7)


def block(name, before, after, style, is_upsampling=False):
    yield from conv(f"{name}.conv1", before, after, 3)
    yield from conv(f"{name}.conv2", after, after, 3)
    yield from linear(f"{name}.norm1.fc", style, 2 * before)
    yield from linear(f"{name}.norm2.fc", style, 2 * after)
    if before != after:
        yield f"{name}.conv1x1.weight", (after, before, 1)
    if is_upsampling:
        yield f"{name}.pool.weight", (before, 1, 3)
        yield f"{name}.pool.bias", (before,)


def snake_block(name, channels, style, kernel, pairs):
    for index in range(pairs):
        for half in (1, 2):
            yield from conv(f"{name}.convs{half}.{index}", channels, channels, kernel)
            yield from linear(f"{name}.adain{half}.{index}.fc", style, 2 * channels)
            yield f"{name}.alpha{half}.{index}", (1, channels, 1)


def linear(name, before, after):
    yield f"{name}.weight", (after, before)
    yield f"{name}.bias", (after,)


def conv(name, before, after, kernel):
    yield f"{name}.weight", (after, before, kernel)
    yield f"{name}.bias", (after,)


def norm(name, size):
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def lstm(name, before, after):
    hidden = after // 2
    for direction in ("", "_reverse"):
        yield f"{name}.weight_ih_l0{direction}", (4 * hidden, before)
        yield f"{name}.weight_hh_l0{direction}", (4 * hidden, hidden)
        yield f"{name}.bias_ih_l0{direction}", (4 * hidden,)
        yield f"{name}.bias_hh_l0{direction}", (4 * hidden,)
