"""What the contract suite runs: every registered engine, and two made-up ones with the structures those may lack.

An engine joins by being registered. If no checkpoint ships with it, `tests/engines/<id>/tiny.py` has to offer
`build(folder)`, which writes a tiny random checkpoint in the official layout; units below 64 KB do not stream. There,
`REQUEST` may replace fields of `Subject`: the text, the size of a segment, options that every request keeps, options of
further requests.

Imports are relative: inside ComfyUI the pack has another name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch

from ... import engines
from ...engines import speech
from ...engines.base import LoadSpec, Options
from ...mizuoto_runtime.audio import Audio
from ..engines import dummy
from . import chatter

ENGINES_TESTS = Path(__file__).resolve().parents[1] / "engines"
MADE_UP = {"dummy": dummy.DummyEngine, "chatter": chatter.ChatterEngine}
NAMES = [*engines.manifests(), *MADE_UP]


@dataclass(frozen=True)
class Subject:
    """An engine and what it is asked to say, `text`, which gives two segments; or the recording that it listens to."""

    engine: object
    folder: Path | None = None
    text: str = "One. Two."
    max_text_size: int = 6
    seconds: float = 2.0
    options: dict = field(default_factory=dict)
    further: tuple[dict, ...] = ()

    @property
    def speaks(self):
        """Whether it gives audio; else it takes some."""
        return "tts" in self.engine.manifest.tasks

    def requests(self):
        """(seed, options): defaults, both ends of every option's range, and what the engine's tests add."""
        ends = [{o.name: extreme(o, end) for o in self.engine.manifest.options} for end in (0, -1)]
        values = [(0, {}), (7, {}), (7, ends[0]), (0, ends[1]), *((0, chosen) for chosen in self.further)]
        return [(seed, Options(self.engine.manifest.id, {**chosen, **self.options})) for seed, chosen in values]

    def load(self, runtime, device):
        """The loaded engine, made to split the text."""
        manifest = self.engine.manifest
        with torch.inference_mode(False):
            model = self.engine.load(LoadSpec(manifest.id, self.folder, device, torch.float32), runtime)
        model.manifest = replace(manifest, max_text_size=self.max_text_size)
        return model

    def briefly(self):
        """The same with one short segment, or a short recording."""
        if not self.speaks:
            return replace(self, seconds=self.seconds / 4)
        manifest = replace(self.engine.manifest, max_text_size=self.max_text_size)
        return replace(self, text=speech.plan_text(self.text, manifest).lines[0].text)


def extreme(option, end):
    """The lowest (end 0) or highest (-1) value of an option."""
    if option.choices:
        return option.choices[end]
    if isinstance(option.default, bool):
        return bool(end)
    if isinstance(option.default, str):
        return option.default
    return type(option.default)((option.low, option.high)[end])


def find(name, scratch):
    """The subject of an engine; a tiny checkpoint is built in a folder of `scratch`."""
    if name in MADE_UP:
        return Subject(MADE_UP[name]())
    return registered(engines.manifests()[name], engines.engine, scratch, ENGINES_TESTS)


def registered(manifest, engine, scratch, tests):
    """The subject of a registered engine.

    Raises:
        LookupError: It has no checkpoint that the suite could load; the text says what to add.
    """
    tiny, folder = tiny_checkpoint(manifest.id, tests), manifest.built_in
    if "build" in tiny:
        folder = scratch / manifest.id
        folder.mkdir()
        tiny["build"](folder)
    if folder is None:
        raise LookupError(
            f'Engine "{manifest.id}" has no built-in checkpoint, so the contract suite cannot load it: add '
            f"tests/engines/{manifest.id}/tiny.py with build(folder), which writes a tiny random checkpoint in the "
            "official layout."
        )
    return Subject(engine(manifest.id), folder, **tiny.get("REQUEST", {}))


def tiny_checkpoint(engine_id, tests):
    """The names in an engine's tiny.py; none if it has none."""
    path = tests / engine_id / "tiny.py"
    if not path.is_file():
        return {}
    spec = spec_from_file_location(f"{__package__.rpartition('.')[0]}.engines.{engine_id}.tiny", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def outputs(subject, model, request, ctx):
    """Every tensor that one request gives, by name: the voice, the codes, the waveform; or the transcript as bytes."""
    if not subject.speaks:
        return heard(subject, model, request, ctx)
    voice = voice_for(model, ctx)
    found = {f"voice.{name}": tensor for name, tensor in voice.tensors.items()} if voice else {}
    codes = speech.talk(model, subject.text, voice, request[1], ctx)
    for index, segment in enumerate(codes.segments):
        found.update({f"{index}.{name}": tensor for name, tensor in segment.tensors.items()})
    return {**found, "waveform": speech.decode(model, codes, ctx).waveform}


def heard(subject, model, request, ctx):
    """What an engine that listens makes of a tone: straight from the engine, since no voice detector hears one."""
    manifest = model.manifest
    audio = reference(manifest.sample_rate, subject.seconds)
    with torch.inference_mode():
        transcript = model.transcribe(audio, manifest.languages[0], manifest.resolve(request[1]), ctx)
    return {"transcript": torch.frombuffer(bytearray(transcript.to_json().encode()), dtype=torch.uint8)}


def voice_for(model, ctx):
    """A voice made from a recording, for engines that do so."""
    if "clone" not in model.manifest.tasks:
        return None
    with torch.inference_mode():
        return model.voice_prompt(reference(model.manifest.sample_rate), "One.", ctx)


def reference(sample_rate, seconds=1.0):
    """A tone that falls for a second, and rises again."""
    time = torch.arange(int(seconds * sample_rate)) / sample_rate
    return Audio(0.3 * torch.sin(2000 * time * (1 - time / 4))[None], sample_rate)


def differences(found, expected):
    """Names of what is not the same bit for bit."""
    return [
        name
        for name in sorted({*found, *expected})
        if name not in found or name not in expected or not identical(found[name], expected[name])
    ]


def identical(one, other):
    """Whether two tensors agree in dtype, shape and every bit; NaN is never right."""
    return one.dtype == other.dtype and torch.equal(one, other)
