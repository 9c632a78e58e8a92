"""A recognition engine without a checkpoint: it hears a word in every second, which one its weights and draws tell."""

import torch

from ...engines.base import Manifest, Option
from ...engines.transcript import Passage, Transcript, Word
from ...mizuoto_runtime import ops
from ...mizuoto_runtime.device import CPU

SAMPLE_RATE = 16000
WIDTH = 8
VOCABULARY = ("zero", "one", "two", "three", "four", "five", "six", "seven")

MANIFEST = Manifest(
    id="dummy_listener",
    name="Dummy Listener",
    tasks=("asr",),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="none",
    languages=("en", "de", "jw"),
    dtypes=("fp32",),
    voices=(),
    options=(Option("temperature", 0.0, "Draw words.", low=0.0, high=1.0), Option("prompt", "", "Help with spelling.")),
    max_text_size=0,
    sample_rate=SAMPLE_RATE,
    recognise=lambda folder: (folder / "listener.txt").is_file(),
)


class DummyListenerEngine:
    """Loads `LoadedListener` whatever the folder."""

    manifest = MANIFEST

    def load(self, spec, runtime):
        """The engine on `spec.device`."""
        return LoadedListener(runtime, spec.device)


class LoadedListener:
    """Counts its calls; a passage for every ten seconds."""

    manifest = MANIFEST

    def __init__(self, runtime, device=CPU):
        module = ops.Linear(WIDTH, len(VOCABULARY))
        ops.init_random(module, torch.Generator().manual_seed(0), std=1.0)
        self.handles = (runtime.handle("dummy_listener:encoder", module, device),)
        self.calls = []

    def transcribe(self, audio, language, options, ctx):
        """A word a second; the last one may be shorter."""
        self.calls.append((audio, language, dict(options)))
        words = []
        for second, samples in enumerate(audio.waveform[0].split(SAMPLE_RATE)):
            ctx.check_cancel()
            text = VOCABULARY[self._heard(samples, options["temperature"], ctx)]
            words.append(Word(text, float(second), second + samples.numel() / SAMPLE_RATE, 1.0))
        passages = (tuple(words[start : start + 10]) for start in range(0, len(words), 10))
        spoken = tuple(
            Passage(" ".join(word.text for word in part), part[0].start, part[-1].end, part) for part in passages
        )
        return Transcript("dummy_listener", language or "en", audio.seconds, spoken)

    def _heard(self, samples, temperature, ctx):
        loudness = samples.square().mean().sqrt() * torch.arange(1.0, WIDTH + 1)
        (handle,) = self.handles
        logits = ctx.run("audio encoder", [handle], lambda: handle.module(loudness))
        if not temperature:
            return int(logits.argmax())
        chances = (logits / temperature).softmax(-1)
        return int(torch.multinomial(chances, 1, generator=ctx.generator_for(CPU)))
