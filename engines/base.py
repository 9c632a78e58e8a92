"""The contract of an engine: what it declares as data, and what a loaded one can do. Imports no torch at run time.

Where it says `Protocol`, an engine implements the shape without inheriting; `tests/contract` checks every registered
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from ..mizuoto_runtime.errors import InvalidRequest, Unsupported, did_you_mean

if TYPE_CHECKING:
    import torch

    from ..mizuoto_runtime.audio import Audio
    from ..mizuoto_runtime.context import RequestContext
    from ..mizuoto_runtime.memory.handle import ModelHandle
    from ..mizuoto_runtime.runtime import Runtime
    from .artifacts import AudioChunk, Codes, VoicePrompt
    from .transcript import Transcript

OptionValue = bool | int | float | str
KEEP_VOICE = "keep_voice"  # an option, true or false, of engines that are `CanKeepVoice`


@dataclass(frozen=True, slots=True)
class Option:
    """One knob of an engine, as data; the options node is built from these.

    Attributes:
        name: Widget and JSON name; never renamed.
        default: Also fixes the type.
        tooltip: One line for the user: what it does and what the extremes mean.
        low, high, step: Range of a number.
        choices: The allowed values of a string.
    """

    name: str
    default: OptionValue
    tooltip: str
    low: float = -math.inf
    high: float = math.inf
    step: float = 0.01
    choices: tuple[str, ...] = ()

    def check(self, value: OptionValue) -> OptionValue:
        """`value` in the option's type; a choice in the declared spelling, however it was capitalised.

        Raises:
            InvalidRequest: Wrong type, out of range or not among the choices.
        """
        kind = type(self.default)
        is_number = kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool)
        is_fraction = kind is int and isinstance(value, float) and not value.is_integer()
        if is_fraction or not (is_number or type(value) is kind):
            raise InvalidRequest(f'Option "{self.name}" is {value!r}; it takes a {kind.__name__}.')
        if is_number and not self.low <= value <= self.high:  # type: ignore[operator]
            raise InvalidRequest(f'Option "{self.name}" is {value}; its range is {self.low:g} to {self.high:g}.')
        if self.choices:
            return self._choice(str(value))
        return kind(value)

    def _choice(self, value: str) -> str:
        found = next((choice for choice in self.choices if choice.casefold() == value.casefold()), None)
        if found is None:
            raise InvalidRequest(
                f'Option "{self.name}" is "{value}"; choose one of {", ".join(self.choices)}.'
                + did_you_mean(value, self.choices)
            )
        return found


class Extra(NamedTuple):
    """A package that an engine can use but does not need.

    Attributes:
        name: What Python imports.
        purpose: What it is for; follows "It is for".
        install: What follows `pip install`; "" for its name alone, without what it depends on.
    """

    name: str
    purpose: str
    install: str = ""


@dataclass(frozen=True, slots=True)
class Companion:
    """Files of another repository that a model cannot do without.

    Attributes:
        repo: `owner/name` on the Hugging Face hub.
        files: Their paths there, every one of which is needed.
        folder: Where they go, inside the model's folder.
    """

    repo: str
    files: tuple[str, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class Download:
    """An official checkpoint that a user may ask for; nothing is fetched unasked.

    Attributes:
        name: Of the model, and of its folder in `models/tts`.
        repo: `owner/name` on the Hugging Face hub.
        size_bytes: About what it takes on disk, companions included.
        weights: Endings of its files of weights; pickled ones are read with `weights_only`.
        folder: The folder of the repository that is the model; "" where all of it is.
        companions: What comes with it from elsewhere.
    """

    name: str
    repo: str
    size_bytes: int
    weights: tuple[str, ...] = (".safetensors",)
    folder: str = ""
    companions: tuple[Companion, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """Chosen values for one engine's options; what MIZUOTO_OPTIONS carries."""

    engine: str
    values: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything about an engine that can be known without loading it.

    A loaded engine has one of its own, narrowed to its checkpoint: the tasks and voices of that, its option defaults.

    Attributes:
        id: Folder name; also the engine's name in saved files.
        name: Shown to users.
        tasks: Of "tts", "clone", "design", "asr".
        code_license, weights_license: SPDX names; they often differ.
        weights_source: Where official checkpoints come from.
        languages: BCP 47 tags of what it speaks or understands.
        dtypes: What it computes in on accelerators, best first; the CPU's automatic choice is always fp32.
        voices: Preset voices; empty where a reference is needed.
        options: What the user may set.
        max_text_size: The longest text of one segment, in the unit of `measure_text`; 0 for engines that do not speak.
        sample_rate: Hz of the audio that it gives, or takes if it listens.
        measure_text: How long a text is to the engine; a longer text never measures less than its beginning.
        built_in: Folder of a checkpoint that ships with the pack.
        recognise: Whether a folder holds a checkpoint of this engine; must be quick and import no torch.
        downloads: Official checkpoints.
        max_batch: How many texts it can work on at once; 1 for engines without `talk_batch`.
        reads_numbers: Whether it reads numbers, dates and short forms by itself; for others they are put into words.
        mixes_voices: Whether a voice may be a mixture of presets; see `presets.read_mixture`.
        reference_seconds: Shortest and longest reference recording.
        transcript: What the words of a reference are to it: "" for nothing, "helps" or "needed".
        extras: Packages that it can use but does not need.
    """

    id: str
    name: str
    tasks: tuple[str, ...]
    code_license: str
    weights_license: str
    weights_source: str
    languages: tuple[str, ...]
    dtypes: tuple[str, ...]
    voices: tuple[str, ...]
    options: tuple[Option, ...]
    max_text_size: int
    sample_rate: int
    recognise: Callable[[Path], bool]
    measure_text: Callable[[str], int] = len
    built_in: Path | None = None
    downloads: tuple[Download, ...] = ()
    max_batch: int = 1
    reads_numbers: bool = False
    mixes_voices: bool = False
    reference_seconds: tuple[float, float] = (0.0, math.inf)
    transcript: Literal["", "helps", "needed"] = ""
    extras: tuple[Extra, ...] = ()

    def resolve(self, options: Options | None) -> dict[str, OptionValue]:
        """Every option's value: the chosen one, checked, or the default.

        Raises:
            InvalidRequest: Options of another engine, an unknown option or a value out of range.
        """
        chosen = dict(options.values) if options else {}
        if options and options.engine != self.id:
            raise InvalidRequest(
                f'The options are for engine "{options.engine}" but the model is "{self.id}"; '
                f"connect {self.name} Options."
            )
        known = {option.name: option for option in self.options}
        for name in chosen:
            if name not in known:
                raise InvalidRequest(
                    f'Engine "{self.id}" has no option "{name}"; it has {", ".join(known) or "none"}.'
                    + did_you_mean(name, known)
                )
        return {name: option.check(chosen.get(name, option.default)) for name, option in known.items()}


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What to load and how.

    Attributes:
        name: The model's name as the user chose it.
        folder: The checkpoint's folder.
        device: Where it will run.
        dtype: What it will compute in.
    """

    name: str
    folder: Path
    device: torch.device
    dtype: torch.dtype


class Engine(Protocol):
    """One per engine id, found through the registry."""

    manifest: Manifest

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedEngine:
        """Read the checkpoint and make the handles; called outside inference mode, draws nothing.

        Raises:
            ModelFileError: A file is missing, damaged or of another architecture.
        """
        ...


class LoadedEngine(Protocol):
    """A checkpoint in memory; owns its handles. What it can do besides is its kind's protocol below."""

    manifest: Manifest
    handles: tuple[ModelHandle, ...]


class CanTalk(LoadedEngine, Protocol):
    """A loaded engine that speaks."""

    def talk(
        self,
        text: str,
        voice: VoicePrompt | None,
        options: Mapping[str, Any],
        ctx: RequestContext,
    ) -> Codes:
        """Phase talker: one segment of text to what the decoder turns into audio. Deterministic in `ctx.seed`.

        Raises:
            NothingToSay: The segment holds nothing that the engine can say; it is left out with a warning as long as
                other segments can be said.
        """
        ...

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """Phase codec decoder: audio of `codes`, in order. Deterministic in the seeds that `codes` carries."""
        ...


class CanTalkInBatches(Protocol):
    """A loaded engine whose `manifest.max_batch` is more than 1."""

    def talk_batch(
        self,
        texts: Sequence[str],
        voice: VoicePrompt | None,
        options: Mapping[str, Any],
        ctx: RequestContext,
    ) -> list[Codes]:
        """Phase talker for up to `max_batch` segments at once, one `Codes` each.

        Deterministic in `ctx.seed`, the texts and their order; a text may sound different than alone.
        """
        ...


@runtime_checkable
class CanKeepVoice(Protocol):
    """A loaded engine that invents a voice for each segment where none is given, and can go on in an invented one.

    Its option `KEEP_VOICE` says whether a whole text keeps the voice of its first segment; without one it does.
    """

    def voice_from(self, codes: Codes, voice: VoicePrompt | None, options: Mapping[str, Any]) -> VoicePrompt:
        """The voice that `talk` invented for one segment, from what it was asked; `voice` is words at most."""
        ...


class CanDesignVoice(Protocol):
    """A loaded engine that invents a voice."""

    def design_voice(self, description: str, ctx: RequestContext) -> VoicePrompt:
        """A reusable voice from words about it."""
        ...


class CanCloneVoice(Protocol):
    """A loaded engine that takes a reference recording."""

    def voice_prompt(self, reference: Audio, transcript: str | None, ctx: RequestContext) -> VoicePrompt:
        """Phase voice prompt: a reusable voice from a recording and, if known, what is said in it."""
        ...


class CanTranscribe(LoadedEngine, Protocol):
    """A loaded engine that listens."""

    def transcribe(
        self, audio: Audio, language: str | None, options: Mapping[str, Any], ctx: RequestContext
    ) -> Transcript:
        """What is said in a recording of any length. Deterministic in `ctx.seed`.

        Args:
            audio: Mono at the manifest's `sample_rate`, at least one sample.
            language: A tag out of the manifest's `languages`; None to find out.
            options: Resolved.
            ctx: The request.
        """
        ...


Task = Literal["tts", "clone", "design", "asr"]
# Task -> what a model without it does not do, and what to load instead.
_TASKS: Mapping[Task, tuple[str, str]] = {
    "tts": ("cannot speak", "load one that does"),
    "clone": ("clones no voices", "load one that does, such as Qwen3-TTS Base"),
    "design": ("designs no voices", "load one that does, such as Qwen3-TTS VoiceDesign"),
    "asr": ("cannot transcribe", "load one for speech recognition"),
}


def require_task(manifest: Manifest, task: Task) -> None:
    """Check that the engine has `task`.

    Raises:
        Unsupported: It has not; the text lists what it can do.
    """
    if task not in manifest.tasks:
        raise Unsupported(f"This {manifest.name} model {_TASKS[task][0]}; {_TASKS[task][1]}.")
