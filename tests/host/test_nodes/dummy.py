"""A model without weights and a Speak without work, to measure and test the nodes and nothing else."""

import sys
from dataclasses import replace
from functools import cache


@cache
def pack(path):
    """A module of the pack, which ComfyUI imports under a name made of its folder."""
    name = next(name for name in sys.modules if name.endswith("ComfyUI-Mizuoto"))
    return sys.modules[f"{name}.{path}"]


class DummyEngine:
    """Says a tenth of a second of something for every segment, as fast as can be."""

    def __init__(self):
        manifest = pack("engines").manifests()["hibari"]
        self.manifest = replace(manifest, id="dummy", options=(), voices=(), built_in=None)
        self.handles = ()

    def talk(self, text, voice, options, ctx):
        import torch

        artifacts = pack("engines.artifacts")
        segment = artifacts.Segment(text, ctx.seed, {"codes": torch.full((1, 1, 8), len(text))})
        return artifacts.Codes("dummy", self.manifest.sample_rate, (segment,))

    def decode(self, codes, ctx):
        import torch

        chunk = pack("engines.artifacts").AudioChunk
        for segment in codes.segments:
            if segment.text == "fail":
                raise pack("mizuoto_runtime.errors").EngineError("The dummy failed on purpose; say something else.")
            yield chunk(torch.full((1, 2400), 0.1), codes.sample_rate)


def trivial_speak():
    """A node with the sockets of Speak that does nothing: what ComfyUI itself takes for such a node."""
    import torch

    io, speak = pack("nodes.host.api").io, pack("nodes.speak").Speak
    audio = {"waveform": torch.full((1, 1, 2400), 0.1), "sample_rate": 24000}

    class TrivialSpeak(io.ComfyNode):
        @classmethod
        def define_schema(cls):
            schema = speak.define_schema()
            schema.node_id = "MizuotoTestTrivialSpeak"
            return schema

        @classmethod
        def validate_inputs(cls, text=None):
            return True

        @classmethod
        def execute(cls, model, text, seed=0, voice=None, options=None):
            return io.NodeOutput(audio, "{}", ui={"mizuoto_report": ["{}"]})

    return TrivialSpeak


class DummyModel:
    """A MIZUOTO_MODEL that holds a `DummyEngine`."""

    CATEGORY = "mizuoto/tests"
    RETURN_TYPES = ("MIZUOTO_MODEL",)
    FUNCTION = "run"

    @classmethod
    def INPUT_TYPES(cls):  # noqa: N802
        return {"required": {"text": ("STRING", {"default": ""})}}

    def run(self, text):
        return (pack("mizuoto_runtime.runtime").Model("dummy", DummyEngine),)
