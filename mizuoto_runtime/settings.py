"""The pack's settings as one frozen value, read from `MIZUOTO_*` environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from .errors import InvalidRequest

VRAM_MODES = ("host", "auto", "high", "shared", "low", "none")
HOST_COPIES = ("auto", "on", "off")
_CHOICES = {"vram_mode": VRAM_MODES, "host_copies": HOST_COPIES}
_RANGES: dict[str, tuple[int, int]] = {
    "vram_reserve_mb": (0, 1 << 20),
    "vram_limit_mb": (0, 1 << 24),
    "oom_retries": (0, 2),
    "ram_reserve_mb": (0, 1 << 24),
    "max_pinned_mb": (0, 1 << 24),
    "async_offload": (0, 8),
    "max_resident_models": (0, 1000),
    "unload_after_minutes": (0, 10080),
    "segment_cache_mb": (0, 1 << 20),
}
# -1 leaves the number to the policy, or to the host.
_AUTOMATIC = ("vram_reserve_mb", "ram_reserve_mb", "max_pinned_mb", "max_resident_models", "unload_after_minutes")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user may set for the whole process.

    Attributes:
        vram_mode: How models are placed; "host" follows ComfyUI's own state. Never changes results.
        vram_reserve_mb: Device memory left alone; -1 leaves it to the host.
        vram_limit_mb: Device memory this process may hold in all; 0 is no limit.
        oom_retries: How often a phase that ran out of memory is rerun exactly, 0 to 2.
        oom_fallback: Whether a phase may fall back to its slower, slightly different form after the retries.
        host_copies: Whether placed weights keep their CPU copy: "on", "off", or "auto" while host memory is not short.
        ram_reserve_mb: Host memory left alone; -1 is a tenth of it, at least 2 GB.
        max_pinned_mb: Host memory that may be pinned for fast copies; -1 is what ComfyUI would pin, 0 pins nothing.
        async_offload: Copies of streamed weights under way beside the computation, 0 to 8; 0 copies on the spot.
        max_resident_models: Models that may be loaded at once; 0 is no limit, -1 leaves it to ComfyUI (without it: 3).
        unload_after_minutes: A model unused for so long is unloaded; 0 is never, -1 leaves it to ComfyUI (without: 30).
        pinned_models: Names of models that are never unloaded to save memory, separated by commas.
        segment_cache_mb: Finished speech that each model keeps in host memory, so that after a change only what changed
            is spoken again; some 11 minutes are 64 MB. 0 keeps none. Never changes results.
        attention_strict: Whether a request fails when the attention that was chosen cannot serve all of its calls.
        fast: Torch's speed switches during a request, separated by commas; "host" leaves them as they are.
    """

    vram_mode: str = "host"
    vram_reserve_mb: int = -1
    vram_limit_mb: int = 0
    oom_retries: int = 2
    oom_fallback: bool = False
    host_copies: str = "auto"
    ram_reserve_mb: int = -1
    max_pinned_mb: int = -1
    async_offload: int = 2
    max_resident_models: int = -1
    unload_after_minutes: int = -1
    pinned_models: str = ""
    segment_cache_mb: int = 256
    attention_strict: bool = False
    fast: str = "host"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidRequest(
                    f'Setting {name} (MIZUOTO_{name.upper()}) is "{getattr(self, name)}"; '
                    f"use one of {', '.join(choices)}."
                )
        for name, (low, high) in _RANGES.items():
            value, is_automatic = getattr(self, name), name in _AUTOMATIC
            if not (low <= value <= high or (is_automatic and value == -1)):
                raise InvalidRequest(
                    f"Setting {name} (MIZUOTO_{name.upper()}) is {value}; its range is {low} to {high}"
                    f"{', or -1 for automatic' if is_automatic else ''}."
                )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings with every `MIZUOTO_<NAME>` variable applied over the defaults.

        Raises:
            InvalidRequest: A value is not of the setting's type or out of its range; the text names the variable.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, object] = {}
        for field in fields(cls):
            text = environment.get(f"MIZUOTO_{field.name.upper()}")
            if text is not None:
                values[field.name] = _parse(field.name, field.default, text)
        return cls(**values)  # type: ignore[arg-type]


def _parse(name: str, default: object, text: str) -> object:
    variable = f"MIZUOTO_{name.upper()}"
    if isinstance(default, bool):
        if text.lower() not in ("0", "1", "true", "false"):
            raise InvalidRequest(f'{variable} is "{text}"; use 0 or 1.')
        return text.lower() in ("1", "true")
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise InvalidRequest(f'{variable} is "{text}"; use a whole number.') from None
    return text
