"""F5-TTS against the upstream packages: a diffusion step with guidance, and the vocoder, on one thread.

The checkpoint is random and as wide as the official ones with two layers of 22, so that it does not take their time.
A step is the share of a short schedule: what both sides compute once, text and modulations, is part of it. One process,
both sides interleaved, their mel spectrograms and waveforms compared first.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.engines.f5_tts.checkpoint import read_components  # noqa: E402
from mizuoto.engines.f5_tts.codec import decoded  # noqa: E402
from mizuoto.engines.f5_tts.generation import Choices, generate  # noqa: E402
from mizuoto.engines.f5_tts.options import RELEASES  # noqa: E402
from mizuoto.engines.f5_tts.prompt import Prompt  # noqa: E402
from mizuoto.mizuoto_runtime.nn.vocos_mel import vocos_log_mel  # noqa: E402
from mizuoto.tests.bench.body import best_s, row  # noqa: E402
from mizuoto.tests.engines.f5_tts import oracle, tiny  # noqa: E402

SIZES = {"dim": 1024, "depth": 2, "heads": 16, "dim_head": 64, "ff_mult": 2, "text_dim": 512, "conv_layers": 4}
VOCOS = {"dim": 512, "intermediate_dim": 1536, "num_layers": 8}
TEXT = "This is what the reference says. And this is what is to be said."
FRAMES, STEPS, ROUNDS, SEED = 130, 2, 20, 1
MAX_RATIO = 1.0
MAX_VOCODER_RATIO = 1.05  # nearly all of it is the same kernels, and a clock is not that sharp


class Ours:
    """The checkpoint in our modules."""

    def __init__(self, folder: Path, reference: torch.Tensor) -> None:
        self.parts = read_components(folder, torch.float32)
        mel = vocos_log_mel(reference)[0]
        ids = self.parts.vocabulary.ids(list(TEXT))
        self.prompt = Prompt(ids, mel, torch.ones(len(mel), dtype=torch.bool), FRAMES, 0)
        self.choices = Choices(STEPS, 2.0, -1.0, RELEASES["v1"])

    def mel(self) -> torch.Tensor:
        """[FRAMES, 100]."""
        generator = torch.Generator().manual_seed(SEED)
        return generate(self.parts.talker, self.prompt, self.choices, generator, lambda step: None)

    def waveform(self, mel: torch.Tensor) -> torch.Tensor:
        """[1, T]."""
        return decoded(self.parts.codec, mel)


class Theirs:
    """The same checkpoint in the upstream packages."""

    def __init__(self, folder: Path, reference: torch.Tensor) -> None:
        with torch.inference_mode(False):
            self.model, self.vocoder = oracle.load.__wrapped__(folder, **SIZES)
        self.reference = reference

    def mel(self) -> torch.Tensor:
        """[FRAMES, 100]."""
        with oracle.seeded(SEED):
            found, _ = self.model.sample(
                cond=self.reference, text=[list(TEXT)], duration=FRAMES, steps=STEPS, cfg_strength=2.0,
                sway_sampling_coef=-1.0,
            )  # fmt: skip
        return found[0]

    def waveform(self, mel: torch.Tensor) -> torch.Tensor:
        """[1, T]."""
        return self.vocoder.decode(mel.T[None])


@torch.inference_mode()
def run() -> Iterable[dict]:
    """A row for the talker and one for the codec decoder."""
    torch.set_num_threads(1)
    reference = 0.1 * torch.randn(1, 24000, generator=torch.Generator().manual_seed(SEED))
    tiny.VOCOS.update(VOCOS)
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as place:
        folder = Path(place) / "F5TTS_v1_Wide"
        tiny.build(folder, sizes=SIZES)
        sides = {"ours": Ours(folder, reference), "theirs": Theirs(folder, reference)}
    mels = [side.mel() for side in sides.values()]
    if not torch.equal(*mels):
        raise AssertionError("another mel spectrogram than the upstream's")
    if not torch.equal(*(side.waveform(mels[0]) for side in sides.values())):
        raise AssertionError("another waveform than the upstream's")
    best = best_s({name: side.mel for name, side in sides.items()}, ROUNDS)
    what = f"ms a diffusion step of {FRAMES} frames with guidance, {SIZES['depth']} layers as wide as the official ones"
    yield row("f5-tts-step", f"{what}, against f5-tts", *(1e3 * best[side] / STEPS for side in sides), MAX_RATIO)
    best = best_s({name: lambda side=side: side.waveform(mels[0]) for name, side in sides.items()}, ROUNDS)
    what = f"ms for {FRAMES} frames through the vocoder at its official size, against vocos"
    yield row("f5-tts-vocos", what, *(1e3 * best[side] for side in sides), MAX_VOCODER_RATIO)


if __name__ == "__main__":
    for each in run():
        print(json.dumps(each))
