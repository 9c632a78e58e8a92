"""Greedy decoding of a Qwen3 body on our decoder against transformers' `generate` (MEMORY C7).

Both have the same random weights and must say the same tokens. The floor is the body's matrix products alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.lm.cache import GrowingCache
from mizuoto.mizuoto_runtime.lm.qwen import QwenConfig, QwenDecoder
from mizuoto.tests.bench.body import best_s, row
from torch import nn

ROUNDS = 15
VOCABULARY, HEAD_DIM, LAYERS = 3072, 64, 12
PROMPT, TOKENS = 16, 64
MIN_SPEEDUP = {512: 1.15, 128: 1.5}
MAX_FLOOR_RATIO, FLOOR_WIDTH = 1.20, 512


def settings(width: int) -> dict[str, Any]:
    """A configuration as it is published."""
    heads = width // HEAD_DIM
    return {
        "vocab_size": VOCABULARY, "hidden_size": width, "intermediate_size": 3 * width, "num_hidden_layers": LAYERS,
        "num_attention_heads": heads, "num_key_value_heads": max(1, heads // 2), "head_dim": HEAD_DIM,
        "rope_theta": 1e6, "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False,
    }  # fmt: skip


def models(width: int) -> tuple[nn.Module, QwenDecoder]:
    """transformers' model with heads and embeddings, and our decoder over the same weights."""
    config = transformers.Qwen3Config(**settings(width), attn_implementation="sdpa")
    theirs = transformers.Qwen3ForCausalLM(config).eval().requires_grad_(False)
    ops.init_random(theirs, torch.Generator().manual_seed(0))
    with torch.device("meta"):
        ours = QwenDecoder(QwenConfig.from_json(settings(width), "bench:decode"))
    state = theirs.model.state_dict()
    del state["embed_tokens.weight"]
    ours.load_state_dict(state, assign=True)
    return theirs, ours.eval()


def generated(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """What `generate` says, [1, TOKENS]."""
    length = {"max_new_tokens": TOKENS, "min_new_tokens": TOKENS}
    done = model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0, eos_token_id=None, **length
    )
    return done[:, ids.shape[1] :]


def decoded(decoder: QwenDecoder, embed: nn.Module, head: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """What our loop says, [1, TOKENS]."""
    cache, tokens = GrowingCache(), []
    for _ in range(TOKENS):
        ids = head(decoder(embed(ids), cache)[:, -1]).argmax(-1, keepdim=True)
        tokens.append(ids)
    return torch.cat(tokens, 1)


def products(decoder: QwenDecoder, head: nn.Module) -> Callable[[], None]:
    """The matrix products of TOKENS steps, and nothing else."""
    linears = [module for module in (*decoder.modules(), head) if isinstance(module, nn.Linear)]
    steps = [(torch.randn(1, 1, linear.in_features), linear.weight) for linear in linears]

    def run_all() -> None:
        for _ in range(TOKENS):
            for hidden, weight in steps:
                F.linear(hidden, weight)

    return run_all


@torch.inference_mode()
def rows_of(width: int, min_speedup: float) -> Iterable[dict]:
    """The rows of one body."""
    theirs, ours = models(width)
    ids = torch.randint(VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    parts = theirs.model.embed_tokens, theirs.lm_head
    if not torch.equal(decoded(ours, *parts, ids), generated(theirs, ids)):
        raise AssertionError("our decoder and generate say different tokens")
    best = best_s(
        {
            "ours": lambda: decoded(ours, *parts, ids),
            "theirs": lambda: generated(theirs, ids),
            "floor": products(ours, theirs.lm_head),
        },
        ROUNDS,
    )
    ms = {name: seconds * 1e3 / TOKENS for name, seconds in best.items()}
    shape = f"Qwen3 {width} x {LAYERS}, {PROMPT} + {TOKENS} tokens"
    yield row(f"C7-{width}", f"ms a token, {shape}, against generate", ms["ours"], ms["theirs"], 1 / min_speedup)
    if width == FLOOR_WIDTH:
        yield row(f"C7-{width}-floor", f"ms a token, {shape}, against its matrix products alone", ms["ours"],
                  ms["floor"], MAX_FLOOR_RATIO)  # fmt: skip


def run() -> Iterable[dict]:
    """All rows."""
    torch.set_num_threads(1)
    for width, min_speedup in MIN_SPEEDUP.items():
        yield from rows_of(width, min_speedup)
