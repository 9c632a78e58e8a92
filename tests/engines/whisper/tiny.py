"""A tiny random checkpoint in the official Hugging Face layout of Whisper, written without an upstream package.

Rates and structure are the official ones, but for a vocabulary of bytes and few tokens a window. Layers are large
enough to stream one by one.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file

from ....engines.whisper.languages import CODES

HIDDEN_SIZE = 64
NUM_HEADS = 4
NUM_LAYERS = 2
MAX_POSITIONS = 24
NUM_TIMES = 1501
MERGES = (("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "n"), ("Ġ", "-"), ("Ġ", "'"))
SPECIALS = (
    *("<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in CODES[:99])),
    *("<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"),
)
ALIGNMENT_HEADS = [[0, 3], [1, 0], [1, 2]]

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def build(
    folder: Path,
    *,
    is_multilingual: bool = True,
    num_mels: int = 80,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    shards: int = 1,
) -> None:
    """Write a checkpoint into `folder`, which is made if need be; more than one shard come with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    vocab_size = write_tokenizer(folder) + NUM_TIMES
    config = model_config(num_mels, vocab_size)
    write_json(folder / "config.json", config)
    write_json(
        folder / "generation_config.json", {"is_multilingual": is_multilingual, "alignment_heads": ALIGNMENT_HEADS}
    )
    write_json(folder / "preprocessor_config.json", {"feature_size": num_mels, "sampling_rate": 16000})
    generator = torch.Generator().manual_seed(seed)
    write_weights(folder, {name: weight(name, shape, generator).to(dtype) for name, shape in shapes(config)}, shards)


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
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": places})


def byte_symbols() -> list[str]:
    """The characters that stand for the 256 bytes in a byte-level vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [symbols[byte] for byte in range(256)]


def write_tokenizer(folder: Path) -> int:
    """Write the tokenizer's files; returns the number of its tokens, which do not include the times."""
    tokens = [*byte_symbols(), *("".join(pair) for pair in MERGES)]
    vocab = {token: index for index, token in enumerate(tokens)}
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        **{"version": "1.0", "truncation": None, "padding": None, "normalizer": None},
        "added_tokens": [
            {"id": len(vocab) + index, "content": token, **plain, "special": True}
            for index, token in enumerate(SPECIALS)
        ],
        **{"pre_tokenizer": to_bytes, "post_processor": None, "decoder": to_bytes},
        "model": {"type": "BPE", "vocab": vocab, "merges": [" ".join(pair) for pair in MERGES]},
    }
    write_json(folder / "tokenizer.json", tokenizer)
    write_json(folder / "vocab.json", vocab)
    lines = ["#version: 0.2", *(" ".join(pair) for pair in MERGES)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(vocab) + len(SPECIALS)


def model_config(num_mels: int, vocab_size: int) -> dict:
    """`config.json`, which transformers reads, too."""
    sizes = {
        f"{part}_{name}": value
        for part in ("encoder", "decoder")
        for name, value in (
            *(("layers", NUM_LAYERS), ("attention_heads", NUM_HEADS), ("ffn_dim", 4 * HIDDEN_SIZE)),
            ("layerdrop", 0.0),
        )
    }
    begin = vocab_size - NUM_TIMES - len(SPECIALS)
    return {
        **{"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "torch_dtype": "float32"},
        **{"d_model": HIDDEN_SIZE, "num_mel_bins": num_mels, "vocab_size": vocab_size, **sizes},
        **{"max_source_positions": 1500, "max_target_positions": MAX_POSITIONS, "activation_function": "gelu"},
        **{"scale_embedding": False, "is_encoder_decoder": True, "num_hidden_layers": NUM_LAYERS},
        **{"bos_token_id": begin, "eos_token_id": begin, "pad_token_id": begin, "decoder_start_token_id": begin + 1},
        **{"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0},
    }


def linear(name: str, inputs: int, outputs: int, has_bias: bool = True) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    if has_bias:
        yield f"{name}.bias", (outputs,)


def norm(name: str, size: int) -> Shapes:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def attention(name: str, size: int) -> Shapes:
    for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
        yield from linear(f"{name}.{part}", size, size, has_bias=part != "k_proj")
    yield from norm(f"{name}_layer_norm", size)


def shapes(config: dict) -> Shapes:
    """Every tensor of model.safetensors."""
    size = config["d_model"]
    for number, inputs in ((1, config["num_mel_bins"]), (2, size)):
        yield f"model.encoder.conv{number}.weight", (size, inputs, 3)
        yield f"model.encoder.conv{number}.bias", (size,)
    yield "model.decoder.embed_tokens.weight", (config["vocab_size"], size)
    for part, positions in (("encoder", 1500), ("decoder", config["max_target_positions"])):
        yield f"model.{part}.embed_positions.weight", (positions, size)
        for index in range(config[f"{part}_layers"]):
            layer = f"model.{part}.layers.{index}"
            yield from attention(f"{layer}.self_attn", size)
            if part == "decoder":
                yield from attention(f"{layer}.encoder_attn", size)
            yield from linear(f"{layer}.fc1", size, config[f"{part}_ffn_dim"])
            yield from linear(f"{layer}.fc2", config[f"{part}_ffn_dim"], size)
            yield from norm(f"{layer}.final_layer_norm", size)
        yield from norm(f"model.{part}.layer_norm", size)


def weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Weights under which the audio and every token make a difference to what follows."""
    noise = torch.randn(shape, generator=generator)
    if len(shape) == 1:
        return 0.1 * noise + ("norm" in name and name.endswith("weight"))
    if ".embed_" in name:
        return 0.5 * noise
    return noise * ((3.0 if name.endswith("out_proj.weight") else 1.2) / math.sqrt(math.prod(shape[1:])))
