"""Decoding on a real card, steps of `gpu.py`: a Qwen3 body (G3), frames of Qwen3-TTS (G4), and recorded == eager (G5).

Weights are random ones, made in place, and everything is resident.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from ...engines.qwen3_tts.config import CodecTokens, TalkerConfig, TextTokens
from ...engines.qwen3_tts.fast import FrameLoop
from ...engines.qwen3_tts.generation import MIN_FRAMES, Choices, batched, generate
from ...engines.qwen3_tts.prompt import Prompt
from ...engines.qwen3_tts.talker import Talker
from ...mizuoto_runtime import ops
from ...mizuoto_runtime.attention.select import rounded_freely
from ...mizuoto_runtime.lm.cache import GrowingCache, KvCache, StaticCache
from ...mizuoto_runtime.lm.qwen import QwenConfig, QwenDecoder
from ...mizuoto_runtime.lm.sampling import Sampling
from .card import CARD, WARM_UP, Bench, eager_only, exact_row

PROMPT = 16
VOCABULARY, CODEBOOK_SIZE, CODEBOOKS, TEXT_WIDTH, TEXT_IDS = 3072, 2048, 16, 2048, 64
FRAME_S = 0.08  # of sound
GREEDY = Sampling(do_sample=False)
FIRST = Sampling(temperature=0.9, top_k=50, repetition_penalty=1.05)
LATER = Sampling(temperature=0.9, top_k=50)
_PREDICTOR_HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8}  # of 128, twice the predictor's width
NEVER = -1  # no id, so that no take ends before its budget


def settings(width: int, num_layers: int, head_dim: int) -> dict[str, Any]:
    """A Qwen3 configuration as it is published."""
    heads = width // head_dim
    return {
        "vocab_size": VOCABULARY, "hidden_size": width, "intermediate_size": 3 * width, "num_hidden_layers": num_layers,
        "num_attention_heads": heads, "num_key_value_heads": max(1, heads // 2), "head_dim": head_dim,
        "rope_theta": 1e6, "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False,
    }  # fmt: skip


def num_tokens(bench: Bench) -> int:
    """Tokens or frames of a run."""
    return 8 if bench.is_tiny else 32


class Speaker(nn.Module):
    """A decoder with embeddings and a head, greedy; named as transformers names them."""

    def __init__(self, config: QwenConfig) -> None:
        super().__init__()
        self.embed_tokens = ops.Embedding(VOCABULARY, config.hidden_size)
        self.model = QwenDecoder(config)
        self.lm_head = ops.Linear(config.hidden_size, VOCABULARY, bias=False)

    def next(self, ids: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """The token after `ids` [1, T], [1, 1]."""
        return self.lm_head(self.model(self.embed_tokens(ids), cache)[:, -1]).argmax(-1, keepdim=True)


class TokenLoop:
    """Tokens of one prompt on a cache of fixed addresses; `step` says the next one, in place."""

    def __init__(self, speaker: Speaker, prompt: torch.Tensor, count: int, dtype: torch.dtype) -> None:
        config, device = speaker.model.config, prompt.device
        shape = (config.num_layers, 1, config.num_kv_heads, PROMPT + count, config.head_dim)
        self.said = torch.zeros(1, count, dtype=torch.int64, device=device)
        self._speaker, self._prompt = speaker, prompt
        self._cache = StaticCache(shape, device, dtype)
        self._ids = torch.zeros(1, 1, dtype=torch.int64, device=device)
        self._at = torch.zeros(1, dtype=torch.int64, device=device)

    def start(self) -> None:
        """Forget everything and say the first token."""
        self._cache.reset()
        self._at.zero_()
        self._say(self._speaker.next(self._prompt, self._cache))

    def step(self) -> None:
        """Say the next token."""
        self._say(self._speaker.next(self._ids, self._cache))

    def whole(self, step: Callable[[], None]) -> torch.Tensor:
        """All tokens [1, count], those after the first by `step`."""
        self.start()
        for _ in range(self.said.shape[1] - 1):
            step()
        return self.said

    def _say(self, ids: torch.Tensor) -> None:
        self._ids.copy_(ids)
        self.said.index_copy_(1, self._at, ids)
        self._at += 1


def spoken(speaker: Speaker, prompt: torch.Tensor, count: int) -> torch.Tensor:
    """All tokens [1, count], on a cache that grows."""
    ids, said, cache = prompt, [], GrowingCache()
    for _ in range(count):
        ids = speaker.next(ids, cache)
        said.append(ids)
    return torch.cat(said, 1)


def speaker_of(bench: Bench) -> tuple[Speaker, dict[str, Any], torch.Tensor]:
    """A speaker, its configuration, and a prompt [1, PROMPT]."""
    config = settings(bench.shape.width, bench.shape.num_layers, bench.shape.head_dim)
    speaker = bench.random(lambda: Speaker(QwenConfig.from_json(config, "bench:decode")))
    prompt = torch.randint(VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    return speaker, config, prompt.to(bench.device)


def generating(
    speaker: Speaker, config: dict[str, Any], prompt: torch.Tensor, count: int
) -> Callable[[], torch.Tensor] | None:
    """transformers' `generate` over the same weights, or None where it is not installed."""
    try:
        import transformers
    except ImportError:
        return None
    with torch.inference_mode(False), torch.device(prompt.device):
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**config, attn_implementation="sdpa"))
    state = {f"model.{name}": weight for name, weight in speaker.model.state_dict().items()}
    state |= {"model.embed_tokens.weight": speaker.embed_tokens.weight, "lm_head.weight": speaker.lm_head.weight}
    model.load_state_dict(state, assign=True)
    model = model.eval().requires_grad_(False)
    length = {"max_new_tokens": count, "min_new_tokens": count}

    def run() -> torch.Tensor:
        done = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, pad_token_id=0, eos_token_id=None, **length
        )
        return done[:, prompt.shape[1] :]

    return run


def num_bytes(module: nn.Module) -> int:
    """Of its parameters."""
    return sum(parameter.nbytes for parameter in module.parameters())


def timed(function: Callable[[], Any], bench: Bench) -> tuple[Any, float]:
    """What it gives, and its seconds until the device is idle."""
    start = time.perf_counter()
    done = function()
    bench.devices.synchronize(CARD)
    return done, time.perf_counter() - start


@torch.inference_mode()
def g3_decode(bench: Bench) -> Iterator[dict]:
    """Greedy decoding, resident: caches that grow and that do not, and recorded, against `generate` and the floor."""
    count = num_tokens(bench)
    speaker, config, prompt = speaker_of(bench)
    loop = TokenLoop(speaker, prompt, count, bench.dtype)
    floor_s = (num_bytes(speaker.model) + num_bytes(speaker.lm_head)) / bench.memory_rate
    what = f"s a token, {PROMPT} + {count} tokens"
    run = generating(speaker, config, prompt, count)
    generate_s = None
    if run is None:
        yield {"id": "G3-generate", "skipped": "transformers"}
    else:
        equal = int((spoken(speaker, prompt, count) == run()).sum())
        same = exact_row("G3-tokens", "tokens that generate says, too", equal, count)
        yield same if bench.is_tiny else same | {"bar": None, "holds": None}  # bfloat16 has ties
        generate_s = bench.best_s(run) / count

    def rows_of(name: str, way: Callable[[], Any], bar: float | None, floor_bar: float | None) -> Iterator[dict]:
        seconds = bench.best_s(way) / count
        if generate_s is not None:
            yield bench.row(f"G3-{name}", f"{what}, {name}, against generate", seconds, generate_s, bar)
        about = f"{what}, {name}, against reading the weights"
        yield bench.row(f"G3-{name}-floor", about, seconds, floor_s, floor_bar)

    yield from rows_of("eager", lambda: spoken(speaker, prompt, count), 1 / 1.2, None)
    with rounded_freely(speaker):
        yield from rows_of("static", lambda: loop.whole(loop.step), None, None)
        if bench.can_capture:
            replay, seconds = timed(lambda: bench.captured(loop.step), bench)
            yield bench.row("G3-record", "s to record a token", seconds, None, None)
            yield from rows_of("graph", lambda: loop.whole(replay), 1 / 4, 3.0)
        else:
            yield eager_only("G3-graph")


def talker_config(bench: Bench) -> TalkerConfig:
    """Of the published 1.7B model, or a tiny one."""
    if bench.is_tiny:
        talker, predictor = settings(96, 3, 32), settings(64, 2, 32)
    else:
        talker, predictor = settings(2048, 28, 128), settings(1024, 5, 128) | _PREDICTOR_HEADS
    return TalkerConfig(
        decoder=QwenConfig.from_json(talker, "bench:talker"),
        predictor=QwenConfig.from_json(predictor, "bench:predictor"),
        vocab_size=VOCABULARY,
        text_vocab_size=TEXT_IDS,
        text_hidden_size=TEXT_WIDTH,
        num_codebooks=CODEBOOKS,
        codebook_size=CODEBOOK_SIZE,
        max_positions=32768,
        tokens=CodecTokens(pad=2148, bos=2149, eos=NEVER, think=2154, nothink=2155, think_bos=2156, think_eos=2157),
    )


class Frames:
    """A talker and what it is to say."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        config = talker_config(bench)
        self.talker = bench.random(lambda: Talker(config, TextTokens(bos=0, eos=1, pad=2), nn.Identity()))
        table = ops.Embedding(TEXT_IDS, TEXT_WIDTH)  # texts are embedded on the CPU
        ops.init_random(table, torch.Generator().manual_seed(2))
        self.talker.text_embedding = table.requires_grad_(False)
        ids = torch.arange(3, 3 + PROMPT)[None]
        control = torch.tensor([[2155, 2156, 2157]])
        self.prompt = Prompt(None, ids[:, :3], ids, None, control, None, None, None, is_streamed=False)

    def choices(self, first: Sampling, later: Sampling, count: int) -> Choices:
        """How `count` frames are chosen."""
        return Choices(first, later, [count], stops_loops=False)

    def generator(self) -> torch.Generator:
        """Always the same draws."""
        return torch.Generator(self.bench.device).manual_seed(3)

    def exact(self, count: int) -> torch.Tensor:
        """Codes of the exact loop, [count, codebooks]."""
        choices, device = self.choices(FIRST, LATER, count), self.bench.device
        return generate(self.talker, [self.prompt], choices, self.generator(), device, lambda *_: None)[0].codes

    def loop(self, first: Sampling, later: Sampling, count: int) -> FrameLoop:
        """The fast loop, past the frames after which it may be recorded, with room for `count` more."""
        head = MIN_FRAMES + 1 + WARM_UP
        batch = batched([self.talker.embed(self.prompt, self.bench.device)])
        choices = self.choices(first, later, head + count)
        loop = FrameLoop(self.talker, batch, choices, self.generator(), head + count)
        for _ in range(head):
            loop.step()
        return loop

    @property
    def bytes_a_frame(self) -> int:
        """Weights that a frame reads."""
        talker, predictor = self.talker, self.talker.predictor
        passes = len(predictor.heads)
        once = sum(map(num_bytes, (talker.decoder, talker.codec_head, predictor.heads)))
        return once + passes * (num_bytes(predictor.decoder) + num_bytes(predictor.projection))


@torch.inference_mode()
def g4_frames(bench: Bench) -> Iterator[dict]:
    """Frames of Qwen3-TTS 1.7B, talker and predictor: upstream's loop run eagerly, the fast one, and that recorded."""
    count = num_tokens(bench)
    frames = Frames(bench)
    exact_ms = 1e3 * bench.best_s(lambda: frames.exact(count)) / count
    yield bench.row("G4-exact", "ms a frame, exact, prompt included, against its sound", exact_ms, 1e3 * FRAME_S, None)
    with rounded_freely(frames.talker):
        yield from fast_rows(bench, frames, exact_ms)


def fast_rows(bench: Bench, frames: Frames, exact_ms: float) -> Iterator[dict]:
    """The fast loop's."""
    count = num_tokens(bench)
    what, room = "ms a frame", count * bench.rounds
    loop = frames.loop(FIRST, LATER, room)
    eager_ms = 1e3 * bench.best_s(loop.step, count)
    yield bench.row("G4-fast", f"{what}, fast, against exact", eager_ms, exact_ms, None)
    if not bench.can_capture:
        yield eager_only("G4-graph")
        return
    loop = frames.loop(FIRST, LATER, room)
    replay, seconds = timed(lambda: bench.captured(loop.step, [loop.generator]), bench)
    yield bench.row("G4-record", "s to record a frame", seconds, None, None)
    graph_ms = 1e3 * bench.best_s(replay, count)
    floor_ms = 1e3 * frames.bytes_a_frame / bench.memory_rate
    yield bench.row("G4-graph", f"{what}, recorded, against exact", graph_ms, exact_ms, 1 / 5)
    yield bench.row("G4-sound", f"{what}, recorded, against its sound", graph_ms, 1e3 * FRAME_S, 1 / 4)
    yield bench.row("G4-floor", f"{what}, recorded, against reading the weights", graph_ms, floor_ms, 16)


@torch.inference_mode()
def g5_recorded(bench: Bench) -> Iterator[dict]:
    """What is recorded says what the eager loop says, greedily, to the last token."""
    if not bench.can_capture:
        yield from map(eager_only, ("G5-graph-tokens", "G5-graph-frames"))
        return
    count = num_tokens(bench)
    speaker, _, prompt = speaker_of(bench)
    tokens = TokenLoop(speaker, prompt, count, bench.dtype)
    with rounded_freely(speaker):
        expected = tokens.whole(tokens.step).clone()
        tokens.said.zero_()
        said = tokens.whole(bench.captured(tokens.step))
    yield exact_row("G5-graph-tokens", "tokens recorded as eager", int((said == expected).sum()), count)
    frames = Frames(bench)
    with rounded_freely(frames.talker):
        eager, loop = (frames.loop(GREEDY, GREEDY, count) for _ in range(2))
        replay = bench.captured(loop.step, [loop.generator])
        for _ in range(count):
            eager.step()
            replay()
    equal = int((loop.codes == eager.codes).sum())
    yield exact_row("G5-graph-frames", "codes recorded as eager", equal, eager.codes.numel())
