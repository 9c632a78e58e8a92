"""An engine with what others may lack: token by token, two models in one phase, a cloned voice, a streaming decoder."""

from __future__ import annotations

import torch
from torch import nn

from ...engines.artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ...engines.base import Manifest, Option
from ...mizuoto_runtime import ops
from ...mizuoto_runtime.device import CPU

SAMPLE_RATE = 8000
WIDTH = 160  # a layer's weight has 100 KB: enough for a unit
VOCAB = 64
FRAME = 16

MANIFEST = Manifest(
    id="chatter",
    name="Chatter",
    tasks=("tts", "clone"),
    code_license="Apache-2.0",
    weights_license="Apache-2.0",
    weights_source="none",
    languages=("en",),
    dtypes=("fp32",),
    voices=(),
    options=(
        Option("temperature", 1.0, "Spread.", low=0.1, high=2.0),
        Option("num_frames", 4, "Length.", low=2, high=6, step=1),
    ),
    max_text_size=40,
    sample_rate=SAMPLE_RATE,
    recognise=lambda folder: (folder / "chatter.txt").is_file(),
)


class Body(nn.Module):
    """Embedding, layers, norm, and a head that is tied to the embedding."""

    def __init__(self, num_layers, seed):
        super().__init__()
        self.embedding = ops.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(ops.Linear(WIDTH, WIDTH) for _ in range(num_layers))
        self.norm = ops.LayerNorm(WIDTH)
        self.head = ops.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.embedding.weight
        ops.init_random(self, torch.Generator().manual_seed(seed), std=0.1)

    def memory_units(self):
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, ids, condition):
        hidden = self.embedding(ids) + condition
        for layer in self.layers:
            hidden = hidden + torch.tanh(layer(hidden))
        return self.head(self.norm(hidden))


class Frames(nn.Module):
    """Vectors of one width to vectors of another."""

    def __init__(self, features, size, num_layers, seed):
        super().__init__()
        self.first = ops.Linear(features, WIDTH)
        self.layers = nn.ModuleList(ops.Linear(WIDTH, WIDTH) for _ in range(num_layers))
        self.last = ops.Linear(WIDTH, size)
        ops.init_random(self, torch.Generator().manual_seed(seed), std=0.1)

    def memory_units(self):
        return [f"layers.{index}" for index in range(len(self.layers))]

    def forward(self, hidden):
        hidden = self.first(hidden)
        for layer in self.layers:
            hidden = torch.tanh(layer(hidden))
        return self.last(hidden)


class ChatterEngine:
    """Loads `LoadedChatter` whatever the folder."""

    manifest = MANIFEST

    def load(self, spec, runtime):
        return LoadedChatter(runtime, spec.device)


class LoadedChatter:
    """A talker and a code predictor that share a phase, a voice encoder, and a decoder that yields inside its phase."""

    manifest = MANIFEST

    def __init__(self, runtime, device):
        self.talker = runtime.handle("chatter:talker", Body(5, 0), device, "sequence")
        self.predictor = runtime.handle("chatter:code_predictor", Body(3, 1), device, "sequence")
        self.encoder = runtime.handle("chatter:voice_encoder", Frames(FRAME, WIDTH, 2, 2), device)
        self.decoder = runtime.handle("chatter:decoder", Frames(2, FRAME, 4, 3), device)
        self.handles = (self.talker, self.predictor, self.encoder, self.decoder)

    def voice_prompt(self, reference, transcript, ctx):
        frames = reference.waveform[0, : 8 * FRAME].reshape(-1, FRAME)
        speaker = ctx.run("voice prompt", [self.encoder], lambda: self.encoder.module(frames).mean(0))
        return VoicePrompt("chatter", transcript or "", {"speaker": speaker})

    def talk(self, text, voice, options, ctx):
        def sampled(handle, token, condition):
            logits = handle.module(token, condition) / options["temperature"]
            return torch.multinomial(logits.softmax(-1), 1, generator=ctx.generator_for(CPU))[0]

        def codes():
            token, frames = torch.tensor([ord(text[0]) % VOCAB]), []
            for _ in range(options["num_frames"]):
                ctx.check_cancel()
                token = sampled(self.talker, token, voice.tensors["speaker"])
                fine = sampled(self.predictor, token, voice.tensors["speaker"] * ctx.rng.random())
                frames.append(torch.cat((token, fine)))
            return torch.stack(frames, dim=1)[None]

        tensors = {"codes": ctx.run("talker", [self.talker, self.predictor], codes, 1000)}
        return Codes("chatter", SAMPLE_RATE, (Segment(text, ctx.seed, tensors),))

    def decode(self, codes, ctx):
        for segment in codes.segments:
            with ctx.use("codec decoder", [self.decoder], 1000):
                for frame in segment.tensors["codes"].unbind(-1):
                    noise = torch.randn(1, FRAME, generator=ctx.generator_for(CPU))
                    samples = torch.tanh(self.decoder.module(frame.float() / VOCAB) + 0.01 * noise)
                    yield AudioChunk(samples, codes.sample_rate)


ENGINE = ChatterEngine()
