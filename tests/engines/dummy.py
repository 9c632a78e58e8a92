"""An engine without a checkpoint: tones whose pitch comes from the text, noise from the seed, weights from nowhere."""

import torch

from ...engines.artifacts import AudioChunk, Codes, Segment
from ...engines.base import Manifest, Option
from ...mizuoto_runtime import ops
from ...mizuoto_runtime.device import CPU

SAMPLE_RATE = 8000
WIDTH = 32

MANIFEST = Manifest(
    id="dummy",
    name="Dummy",
    tasks=("tts",),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="none",
    languages=("en",),
    dtypes=("fp32",),
    voices=("low", "high"),
    options=(
        Option("gain", 0.5, "Loudness.", low=0.0, high=1.0),
        Option("steps", 2, "Passes.", low=1, high=8, step=1),
        Option("shape", "sine", "Wave.", choices=("sine", "square")),
        Option("echo", False, "Echo."),
    ),
    max_text_size=40,
    sample_rate=SAMPLE_RATE,
    recognise=lambda folder: (folder / "dummy.txt").is_file(),
)


class DummyEngine:
    """Loads `LoadedDummy` whatever the folder."""

    manifest = MANIFEST

    def load(self, spec, runtime):
        """The engine on `spec.device`."""
        return LoadedDummy(runtime, spec.device)


class LoadedDummy:
    """Counts its calls; `spoil` changes a chunk before it is handed out."""

    manifest = MANIFEST

    def __init__(self, runtime, device=CPU, spoil=None):
        modules = [ops.Linear(WIDTH, WIDTH), ops.Linear(WIDTH, WIDTH)]
        for seed, module in enumerate(modules):
            ops.init_random(module, torch.Generator().manual_seed(seed), std=0.2)
        names = ("dummy:talker", "dummy:decoder")
        self.handles = tuple(runtime.handle(name, module, device) for name, module in zip(names, modules, strict=True))
        self.spoil = spoil or (lambda waveform: waveform)
        self.calls = []

    def talk(self, text, voice, options, ctx):
        """[1, T, WIDTH] of one character each, plus noise."""
        self.calls.append(("talk", text, ctx.seed, dict(options), voice))
        handle = self.handles[0]

        def hidden():
            characters = torch.tensor([ord(character) % WIDTH for character in text])
            one_hot = torch.nn.functional.one_hot(characters, WIDTH).float()
            noise = torch.randn(one_hot.shape, generator=ctx.generator_for(CPU)) * ctx.rng.random()
            return handle.module(one_hot + 0.1 * noise)[None] * options["gain"]

        tensors = {"hidden": ctx.run("talker", [handle], hidden)}
        return Codes("dummy", SAMPLE_RATE, (Segment(text, ctx.seed, tensors),))

    def decode(self, codes, ctx):
        """Two chunks a segment."""
        for segment in codes.segments:
            self.calls.append(("decode", segment.text, ctx.seed))
            for half in segment.tensors["hidden"].chunk(2, dim=1):
                yield AudioChunk(self.spoil(self._waveform(half, ctx)), codes.sample_rate)

    def _waveform(self, hidden, ctx):
        handle = self.handles[1]

        def samples():
            noise = torch.randn(hidden.shape, generator=ctx.generator_for(CPU))
            return torch.tanh(handle.module(hidden) + 0.01 * noise).flatten(1)

        return ctx.run("codec decoder", [handle], samples)
