"""What phases hand to each other: CPU tensors plus plain metadata, frozen, saved as one `.safetensors` file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ..mizuoto_runtime.errors import InvalidRequest, ModelFileError

FORMAT = "mizuoto-1"
T = TypeVar("T")
_SEGMENT_FACTS = ("text", "seed", "speaker", "line", "silence_s")


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A piece of finished speech.

    Attributes:
        waveform: [1, T] float32 on the CPU.
        sample_rate: Hz.
    """

    waveform: torch.Tensor
    sample_rate: int


@dataclass(frozen=True, slots=True)
class VoicePrompt:
    """A voice that an engine can speak with, reusable and independent of the text.

    Attributes:
        engine: Engine id; other engines refuse it.
        name: The preset's or the user's name.
        tensors: Whatever the engine needs of it.
        facts: The same as text: what is said in the reference, a description.
    """

    engine: str
    name: str
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the voice to `path`."""
        _write(path, "voice", {"engine": self.engine, "name": self.name, "facts": dict(self.facts)}, self.tensors)

    @classmethod
    def load(cls, path: Path) -> VoicePrompt:
        """Read what `save` wrote.

        Raises:
            ModelFileError: Missing, damaged or another kind of file.
        """

        def build(data: dict[str, Any], tensors: dict[str, torch.Tensor]) -> VoicePrompt:
            texts = (data["engine"], data["name"], *data["facts"], *data["facts"].values())
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("a text is none")
            return cls(data["engine"], data["name"], tensors, dict(data["facts"]))

        return _read(path, "voice", build)


@dataclass(frozen=True, slots=True)
class Segment:
    """The codes of one piece of text, or a pause.

    Attributes:
        text: What is said.
        seed: What the decoder's draws start from.
        tensors: Discrete codes, latents, mel: whatever this engine's decoder takes.
        speaker: Name in the voice bank; "" for the voice of the request.
        line: Of the script that it is a part of; 0 where the text is no script.
        silence_s: Seconds of a pause that the text asks for; such a segment says nothing and has no tensors.
    """

    text: str
    seed: int
    tensors: Mapping[str, torch.Tensor]
    speaker: str = ""
    line: int = 0
    silence_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Codes:
    """What the decoder turns into audio; decoding it twice gives the same samples."""

    engine: str
    sample_rate: int
    segments: tuple[Segment, ...]

    def save(self, path: Path) -> None:
        """Write the codes to `path`."""
        metadata = {
            "engine": self.engine,
            "sample_rate": self.sample_rate,
            "segments": [{name: getattr(segment, name) for name in _SEGMENT_FACTS} for segment in self.segments],
        }
        tensors = {f"{i}.{name}": t for i, segment in enumerate(self.segments) for name, t in segment.tensors.items()}
        _write(path, "codes", metadata, tensors)

    @classmethod
    def load(cls, path: Path) -> Codes:
        """Read what `save` wrote.

        Raises:
            ModelFileError: Missing, damaged or another kind of file.
        """

        def build(data: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Codes:
            segments = (
                # Files of the first version have text and seed only.
                Segment(
                    tensors=_below(f"{i}.", tensors), **{name: entry[name] for name in _SEGMENT_FACTS if name in entry}
                )
                for i, entry in enumerate(data["segments"])
            )
            return cls(data["engine"], data["sample_rate"], tuple(segments))

        return _read(path, "codes", build)


def require_engine(artifact: VoicePrompt | Codes, engine_id: str) -> None:
    """Check that `artifact` was made by engine `engine_id`.

    Raises:
        InvalidRequest: It was made by another.
    """
    if artifact.engine != engine_id:
        what = "voice" if isinstance(artifact, VoicePrompt) else "codes"
        raise InvalidRequest(
            f'The {what} came from engine "{artifact.engine}" but the model is "{engine_id}"; '
            "use one model for both nodes."
        )


def _write(path: Path, kind: str, metadata: dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    header = {"format": FORMAT, "kind": kind, "data": json.dumps(metadata, ensure_ascii=False)}
    # safetensors refuses tensors that share memory, and a file without any tensor has no header to put metadata in.
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    save_file(own or {"_": torch.zeros(0)}, path, metadata=header)


def _below(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read(path: Path, kind: str, build: Callable[[dict[str, Any], dict[str, torch.Tensor]], T]) -> T:
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys() if name != "_"}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error  # whose text holds the whole path
        raise ModelFileError(
            f'"{path.name}" cannot be read ({reason}); save it again from the node that made it.'
        ) from error
    made_as = header.get("format", "")
    if not re.fullmatch(r"mizuoto-\d+", made_as) or header.get("kind") != kind:
        raise ModelFileError(f'"{path.name}" is no {kind} file of this pack; choose one that its save node wrote.')
    if made_as != FORMAT:
        raise ModelFileError(
            f'"{path.name}" was saved by another version of this pack (as {made_as}, and this one reads {FORMAT}); '
            "update the pack, or save it again."
        )
    try:
        return build(json.loads(header["data"]), tensors)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f'"{path.name}" is damaged ({error!r}); save it again from the node that made it.'
        ) from error
