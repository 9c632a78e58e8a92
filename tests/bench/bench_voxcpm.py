"""VoxCPM against the upstream package: seconds for a patch, to read a recording, and to decode, per version.

The checkpoints are random ones of middle size with the published limits, so the upstream's caches are as long as the
official ones. One process, one thread, both sides interleaved, their results compared first; all compute in float32.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
import voxcpm  # noqa: E402, F401 - skips the bench where it is missing
from mizuoto.tests.bench.body import best_s, row  # noqa: E402
from mizuoto.tests.engines.voxcpm import models, oracle, tiny  # noqa: E402

PATCHES, ROUNDS = 8, 2
MAX_RATIO = 1.0
SECONDS = 4.0
_HEADS, _HEAD_DIM = 8, tiny.HEAD_DIM * 4
_LIMITS = {"0.5B": (2, 4096), "2": (2, 8192)}  # diffusion layers, positions


def changes(kind: str) -> dict[str, Any]:
    """What differs from a tiny checkpoint."""
    layers, positions = _LIMITS[kind]
    factors = [1.0 + 0.01 * index for index in range(_HEAD_DIM // 2)]
    found: dict[str, Any] = {
        **{"lm_config.hidden_size": 512, "lm_config.intermediate_size": 1536, "lm_config.num_hidden_layers": 6},
        **{"lm_config.num_attention_heads": _HEADS, "lm_config.kv_channels": _HEAD_DIM, "max_length": positions},
        **{"lm_config.max_position_embeddings": 32768, "residual_lm_num_layers": 2, "feat_dim": 64},
        "lm_config.rope_scaling.original_max_position_embeddings": 32768,
        **{f"lm_config.rope_scaling.{name}_factor": factors for name in ("short", "long")},
        **{"audio_vae_config.latent_dim": 64, "audio_vae_config.encoder_dim": 32, "audio_vae_config.decoder_dim": 512},
    }
    for part in ("encoder_config", "dit_config"):
        sizes = {"hidden_dim": 512, "ffn_dim": 1536, "num_heads": _HEADS, "kv_channels": _HEAD_DIM}
        found |= {f"{part}.{name}": size for name, size in {**sizes, "num_layers": layers}.items()}
    return found


def build(folder: Path, kind: str) -> None:
    """A checkpoint of middle size; its attention is wider than the tiny one's."""
    width, tiny.HEAD_DIM = tiny.HEAD_DIM, _HEAD_DIM
    scale, tiny._MATRIX_SCALE = tiny._MATRIX_SCALE, 0.04
    try:
        tiny.build(folder, kind, changes=changes(kind))
    finally:
        tiny.HEAD_DIM, tiny._MATRIX_SCALE = width, scale


def rows(kind: str, folder: Path) -> Iterable[dict]:
    """All rows of one version."""
    ours, upstream = models.load(folder), oracle.load.__wrapped__(folder)
    inner = upstream.tts_model
    limit = {"min_patches": PATCHES, "max_seconds": models.seconds(ours, PATCHES), "steps": 10}
    their_limit = {"min_len": PATCHES, "max_len": PATCHES, "inference_timesteps": 10, "retry_badcase": False}
    codes = models.talk(ours, **limit)
    if not torch.equal(models.decode(ours, codes), oracle.say(upstream, models.TEXT, 0, **their_limit)):
        raise AssertionError(f"another sound than the upstream's from {kind}")
    patches = codes.segments[0].tensors["patches"]
    audio = models.recording(SECONDS, ours._config.vae.sample_rate)
    latent = patches.flatten(0, 1).T[None].contiguous()
    decoder = inner.audio_vae.decode
    inner.audio_vae.decode = lambda latent, *_: torch.zeros(1, 1, 8)  # its talker alone
    takes = timed({
        "ours": lambda: models.talk(ours, **limit),
        "theirs": lambda: oracle.say(upstream, models.TEXT, 0, **their_limit),
    })  # fmt: skip
    inner.audio_vae.decode = decoder
    yield ratio_row(kind, "patch", f"CPU ms for each of {PATCHES} patches, prompt read", takes, 1e3 / PATCHES)
    encode = inner.audio_vae.encode
    yield ratio_row(kind, "voice", f"CPU ms to encode {SECONDS:g} s of a recording", timed({
        "ours": lambda: ours._voice.module(audio.waveform[None]),
        "theirs": lambda: encode(audio.waveform, audio.sample_rate),
    }), 1e3)  # fmt: skip
    yield ratio_row(kind, "decode", f"CPU ms to decode {PATCHES} patches", timed({
        "ours": lambda: ours._codec.module(latent),
        "theirs": lambda: decoder(latent),
    }), 1e3)  # fmt: skip


def timed(sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least CPU seconds of both sides."""
    with torch.inference_mode():
        return best_s(sides, ROUNDS)


def ratio_row(kind: str, name: str, what: str, found: dict[str, float], scale: float) -> dict:
    """A row of two times."""
    what = f"{what}, VoxCPM {kind} of middle size, against voxcpm"
    return row(f"voxcpm-{kind}-{name}", what, found["ours"] * scale, found["theirs"] * scale, MAX_RATIO)


def run() -> Iterable[dict]:
    """All rows."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        for kind in _LIMITS:
            build(Path(place) / kind, kind)
            yield from rows(kind, Path(place) / kind)


if __name__ == "__main__":
    for found in run():
        print(json.dumps(found))
