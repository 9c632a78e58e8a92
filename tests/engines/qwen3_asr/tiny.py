"""A tiny random checkpoint in the official layout of Qwen3-ASR, written without the upstream package.

Sizes are small, rates and structure are the official ones. Layers are large enough to stream one by one.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file

SPECIALS = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>"),
    "<asr_text>",
)
PLAIN_SPECIALS = ("<asr_text>",)  # stays in the text where special tokens are left out
ROLES = ("system", "user", "assistant", "language")
MERGES = (
    *dict.fromkeys((role[:end], role[end]) for role in ROLES for end in range(1, len(role))),
    *(("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "n")),
)
LANGUAGES = (
    *("Chinese", "English", "Cantonese", "Arabic", "German", "French", "Spanish", "Portuguese", "Indonesian"),
    *("Italian", "Korean", "Russian", "Thai", "Vietnamese", "Japanese", "Turkish", "Hindi", "Malay", "Dutch"),
    *("Swedish", "Danish", "Finnish", "Polish", "Czech", "Filipino", "Persian", "Greek", "Romanian", "Hungarian"),
    "Macedonian",
)
AUDIO = {
    **{"model_type": "qwen3_asr_audio_encoder", "num_mel_bins": 128, "d_model": 64, "encoder_layers": 2},
    **{"encoder_attention_heads": 4, "encoder_ffn_dim": 128, "downsample_hidden_size": 8, "output_dim": 64},
    **{"activation_function": "gelu", "activation_dropout": 0, "attention_dropout": 0, "dropout": 0},
    **{"max_source_positions": 1500, "n_window": 50, "n_window_infer": 800, "conv_chunksize": 500},
    **{"scale_embedding": False, "initializer_range": 0.02},
}
TEXT = {
    **{"model_type": "qwen3_asr_text", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "hidden_act": "silu"},
    **{"rms_norm_eps": 1e-6, "rope_theta": 1000000, "attention_bias": False, "attention_dropout": 0.0},
    **{"max_position_embeddings": 65536, "initializer_range": 0.02, "use_cache": True},
    "rope_scaling": {
        **{"interleaved": True, "mrope_interleaved": True, "mrope_section": [4, 2, 2]},
        **{"rope_type": "default", "type": "default"},
    },
}
PREPROCESSOR = {
    **{"feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "Qwen3ASRProcessor"},
    **{"feature_size": 128, "sampling_rate": 16000, "hop_length": 160, "n_fft": 400, "chunk_length": 30},
    **{"n_samples": 480000, "nb_max_frames": 3000, "padding_side": "right", "padding_value": 0.0},
    **{"return_attention_mask": True, "dither": 0.0},
}
CHAT_TEMPLATE = (
    "{%- set system = namespace(text='') -%}{%- set user = namespace(audio='') -%}{%- for m in messages -%}"
    "{%- if m.role == 'system' -%}{%- set system.text = system.text + m.content -%}{%- endif -%}"
    "{%- if m.content is not string -%}{%- for c in m.content -%}{%- if c.type == 'audio' -%}"
    "{%- set user.audio = user.audio + '<|audio_start|><|audio_pad|><|audio_end|>' -%}"
    "{%- endif -%}{%- endfor -%}{%- endif -%}{%- endfor -%}"
    "{{- '<|im_start|>system\\n' + system.text + '<|im_end|>\\n' -}}"
    "{{- '<|im_start|>user\\n' + user.audio + '<|im_end|>\\n' -}}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
"""What the official one gives for a text and one recording."""

OTHER_LAYOUT = {
    "thinker.audio_tower.proj1.": "model.multi_modal_projector.linear_1.",
    "thinker.audio_tower.proj2.": "model.multi_modal_projector.linear_2.",
    "thinker.audio_tower.": "model.audio_tower.",
    "thinker.model.": "model.language_model.",
    "thinker.lm_head.": "lm_head.",
}
"""Beginnings of keys -> those in the folders for the class of transformers 5."""

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(
    folder: Path, *, seed: int = 0, is_tied: bool = True, shards: int = 1, layout: str = "thinker"
) -> dict[str, int]:
    """Write a checkpoint into `folder`, which is made if need be; returns token -> id.

    Args:
        folder: Where to.
        seed: Of all weights.
        is_tied: Whether the decoder writes with the weights of its embedding; the files repeat them all the same.
        shards: Number of files of weights; more than one come with an index.
        layout: "thinker", or "hf" for that of transformers 5.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocab = write_tokenizer(folder)
    text = {**TEXT, "vocab_size": len(vocab) + 3, "tie_word_embeddings": is_tied}
    write_json(folder / "config.json", model_config(vocab, text, layout))
    write_json(folder / "generation_config.json", {"do_sample": False, "eos_token_id": list(eos_ids(vocab))})
    write_json(folder / "preprocessor_config.json", PREPROCESSOR)
    write_json(folder / "chat_template.json", {"chat_template": CHAT_TEMPLATE})
    generator = torch.Generator().manual_seed(seed)
    tensors = {name: weight(name, shape, generator) for name, shape in shapes(text)}
    if is_tied:
        tensors["thinker.lm_head.weight"] = tensors["thinker.model.embed_tokens.weight"].clone()
    if layout == "hf":
        tensors = {renamed(name): tensor for name, tensor in tensors.items()}
    write_weights(folder, tensors, shards)
    return vocab


def eos_ids(vocab: dict[str, int]) -> tuple[int, int]:
    return vocab["<|im_end|>"], vocab["<|endoftext|>"]


def renamed(name: str) -> str:
    start = max((start for start in OTHER_LAYOUT if name.startswith(start)), key=len)
    return OTHER_LAYOUT[start] + name.removeprefix(start)


def model_config(vocab: dict[str, int], text: dict, layout: str) -> dict:
    """config.json."""
    tokens = {f"audio_{name}token_id": vocab[f"<|audio_{mark}|>"] for name, mark in (("", "pad"), ("start_", "start"))}
    named = {"model_type": "qwen3_asr", "architectures": ["Qwen3ASRForConditionalGeneration"]}
    if layout == "hf":
        audio = {**AUDIO, "model_type": "qwen3_asr_encoder"}
        plain = {**text, "model_type": "qwen3", "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}
        del plain["rope_scaling"], plain["rope_theta"]
        return {**named, **tokens, "audio_config": audio, "text_config": plain}
    thinker = {"model_type": "qwen3_asr_thinker", **tokens, "audio_config": AUDIO, "text_config": text}
    return {**named, "support_languages": list(LANGUAGES), "thinker_config": thinker}


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2), encoding="utf-8")


def write_weights(folder: Path, tensors: dict[str, torch.Tensor], shards: int) -> None:
    """One file, or `shards` files and their index."""
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    places = {tensor: names[index % shards] for index, tensor in enumerate(tensors)}
    for name in names:
        part = {tensor: tensors[tensor] for tensor, place in places.items() if place == name}
        save_file(part, folder / name, metadata={"format": "pt"})
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def byte_symbols() -> list[str]:
    """The characters that stand for the 256 bytes in a byte-level vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [symbols[byte] for byte in range(256)]


def write_tokenizer(folder: Path) -> dict[str, int]:
    """Write the tokenizer's files; returns token -> id, special tokens too."""
    tokens = list(dict.fromkeys([*byte_symbols(), *("".join(pair) for pair in MERGES)]))
    vocab = {token: index for index, token in enumerate(tokens)}
    write_json(folder / "vocab.json", vocab)
    lines = ["#version: 0.2", *(" ".join(pair) for pair in MERGES)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    specials = {token: len(vocab) + index for index, token in enumerate(SPECIALS)}
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    config = {
        "added_tokens_decoder": {
            str(index): {"content": token, **flags, "special": token not in PLAIN_SPECIALS}
            for token, index in specials.items()
        },
        "extra_special_tokens": {
            f"audio_{name}token": f"<|audio_{mark}|>"
            for name, mark in (("", "pad"), ("bos_", "start"), ("eos_", "end"))
        },
        **{"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None, "bos_token": None},
        **{"add_prefix_space": False, "clean_up_tokenization_spaces": False, "errors": "replace"},
        **{"model_max_length": 131072, "split_special_tokens": False},
        **{"tokenizer_class": "Qwen2Tokenizer", "processor_class": "Qwen3ASRProcessor"},
    }
    write_json(folder / "tokenizer_config.json", config)
    return vocab | specials


def layer_norm(name: str, width: int) -> Shapes:
    yield from ((f"{name}.{part}", (width,)) for part in ("weight", "bias"))


def linear(name: str, inputs: int, outputs: int, has_bias: bool = True) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    if has_bias:
        yield f"{name}.bias", (outputs,)


def audio_shapes(config: dict) -> Shapes:
    width, channels = config["d_model"], config["downsample_hidden_size"]
    for number, inputs in ((1, 1), (2, channels), (3, channels)):
        yield f"conv2d{number}.weight", (channels, inputs, 3, 3)
        yield f"conv2d{number}.bias", (channels,)
    yield from linear("conv_out", channels * config["num_mel_bins"] // 8, width, has_bias=False)
    for index in range(config["encoder_layers"]):
        layer = f"layers.{index}"
        for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
            yield from linear(f"{layer}.self_attn.{part}", width, width)
        yield from layer_norm(f"{layer}.self_attn_layer_norm", width)
        yield from linear(f"{layer}.fc1", width, config["encoder_ffn_dim"])
        yield from linear(f"{layer}.fc2", config["encoder_ffn_dim"], width)
        yield from layer_norm(f"{layer}.final_layer_norm", width)
    yield from layer_norm("ln_post", width)
    yield from linear("proj1", width, width)
    yield from linear("proj2", width, config["output_dim"])


def text_shapes(config: dict) -> Shapes:
    hidden, width, inner = config["hidden_size"], config["head_dim"], config["intermediate_size"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    yield "embed_tokens.weight", (config["vocab_size"], hidden)
    for index in range(config["num_hidden_layers"]):
        layer = f"layers.{index}"
        for part, count in (("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)):
            yield from linear(f"{layer}.self_attn.{part}", hidden, count * width, has_bias=False)
        yield from linear(f"{layer}.self_attn.o_proj", heads * width, hidden, has_bias=False)
        yield from ((f"{layer}.self_attn.{part}_norm.weight", (width,)) for part in "qk")
        yield from linear(f"{layer}.mlp.gate_proj", hidden, inner, has_bias=False)
        yield from linear(f"{layer}.mlp.up_proj", hidden, inner, has_bias=False)
        yield from linear(f"{layer}.mlp.down_proj", inner, hidden, has_bias=False)
        yield from ((f"{layer}.{part}_layernorm.weight", (hidden,)) for part in ("input", "post_attention"))
    yield "norm.weight", (hidden,)


def shapes(text: dict) -> Shapes:
    """Every tensor of model.safetensors."""
    yield from ((f"thinker.audio_tower.{name}", shape) for name, shape in audio_shapes(AUDIO))
    yield from ((f"thinker.model.{name}", shape) for name, shape in text_shapes(text))
    yield "thinker.lm_head.weight", (text["vocab_size"], text["hidden_size"])


def weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights under which the sound and every token make a difference to what follows."""
    noise = torch.randn(shape, generator=generator)
    if len(shape) == 1:
        is_norm = ("norm" in name or "ln_post" in name) and name.endswith("weight")
        # Queries and keys are large, so that attention of a long recording picks a few places.
        return 0.1 * noise + (is_norm * (2.5 if name.endswith(("q_norm.weight", "k_norm.weight")) else 1.0))
    if "embed_tokens" in name:
        return 0.2 * noise
    gain = 3.0 if name.endswith(("o_proj.weight", "down_proj.weight")) else 1.2
    return noise * (gain / math.sqrt(math.prod(shape[1:])))


REQUEST = {
    # Texts of noise never end by themselves: a few tokens, with a warning. And a tone has no pauses between speech.
    "options": {"max_new_tokens": 6, "split_at_pauses": False},
}
