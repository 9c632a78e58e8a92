"""What happened in one request, as data: the `report` output of every node that computes (SPEC 7.1)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = "1.0"
MB = 1 << 20
_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass
class RunReport:
    """Everything worth knowing about one request; readers ignore fields they do not know."""

    run_id: str
    task: str = ""
    engine: str = ""
    model: str = ""
    device: str = ""
    dtype: str = ""
    weights_license: str = ""
    seed: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    segments: int = 0
    audio_seconds: float = 0.0
    timings_ms: dict[str, float] = field(default_factory=dict)
    memory: dict[str, dict[str, Any]] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    schema_version: str = SCHEMA_VERSION

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the block's wall time to `timings_ms[phase]`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add_time(phase, time.perf_counter() - start)

    def add_time(self, phase: str, seconds: float) -> None:
        """Add wall time to `timings_ms[phase]`."""
        self.timings_ms[phase] = self.timings_ms.get(phase, 0.0) + seconds * 1e3

    def warn(self, code: str, text: str) -> None:
        """Note something the user should see once; repeats of the same code and text are dropped."""
        entry = {"code": code, "text": text}
        if entry not in self.warnings:
            self.warnings.append(entry)

    def warn_of(self, code: str, text: str, items: Iterable[str]) -> None:
        """One warning for many occasions: `text` once, with all `items` so far, each once."""
        entry = next((entry for entry in self.warnings if entry["code"] == code), None)
        if entry is None:
            entry = {"code": code, "text": text, "items": []}
            self.warnings.append(entry)
        entry["items"] = list(dict.fromkeys([*entry["items"], *items]))

    def note_memory(self, name: str, size_bytes: int, loaded_bytes: int, streamed_bytes: int) -> None:
        """Record where a component's weights were when its phase ran, and what has streamed in the request so far."""
        self.memory[name] = {
            "size_mb": size_bytes / MB,
            "loaded_mb": loaded_bytes / MB,
            "streamed_mb": streamed_bytes / MB,
        }

    def is_whole(self, name: str) -> bool:
        """Whether a component has been noted, as wholly on its device."""
        noted = self.memory.get(name)
        return noted is not None and noted["loaded_mb"] == noted["size_mb"]

    def streamed_bytes(self, name: str) -> int:
        """What has been noted as streamed for a component so far."""
        noted = self.memory.get(name)
        return round(noted["streamed_mb"] * MB) if noted else 0

    def to_json(self) -> str:
        """JSON, one line a field, with the real-time factor added where there is audio."""
        data = dict(vars(self))
        data["memory"] = {name: {key: _rounded(value) for key, value in of.items()} for name, of in self.memory.items()}
        data["timings_ms"] = {phase: round(ms, 2) for phase, ms in self.timings_ms.items()}
        if self.audio_seconds and "total" in self.timings_ms:
            data["rtf"] = round(self.timings_ms["total"] / 1e3 / self.audio_seconds, 4)
        # json's own indentation runs in Python and would cost more than the node around it.
        lines = (f'  "{name}": {_encode(value)}' for name, value in data.items())
        return "{\n" + ",\n".join(lines) + "\n}"


def _rounded(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value
