"""What a user may set, as data, and the runtime's own settings as one frozen value. Imports no torch."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from .errors import InvalidRequest, did_you_mean

VRAM_MODES = ("host", "auto", "high", "shared", "low", "none")
HOST_COPIES = ("auto", "on", "off")
HOST = "host"
FAST_SWITCHES = ("tf32", "fp16_accumulation", "cudnn_benchmark", "sdpa_reduced_precision")
MEMORY, VOICES = "Models and memory", "Voices"
MAX_TEXT = 10_000
Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that a user may set for a whole server; dialogs, routes and files are made from these.

    Attributes:
        key: Its name in files and over HTTP, such as "compute.vram_mode"; never renamed.
        group: The heading it stands under.
        name: Its label, short.
        description: One line: what it changes.
        default: Also fixes the type.
        check: A value in the right type and spelling; raises InvalidRequest.
        variable: The environment variable that wins over everything; "" if there is none.
        low, high, step: Range of a number.
        choices: The allowed values of a string.
        changes_results: Whether the same request may give another sound or text.
        at_start: Whether a change counts from the next start on, instead of from the next request.
        on_server_only: Whether it can be set by its variable or in the file only, and not over HTTP.
        under_host: Whether it has an effect where a host (ComfyUI) looks after memory.
    """

    key: str
    group: str
    name: str
    description: str
    default: Value
    check: Callable[[Any], Value]
    variable: str = ""
    low: float = -math.inf
    high: float = math.inf
    step: float = 1
    choices: tuple[str, ...] = ()
    changes_results: bool = False
    at_start: bool = False
    on_server_only: bool = False
    under_host: bool = True

    def parse(self, text: str) -> Value:
        """The value that the environment variable holds as text.

        Raises:
            InvalidRequest: It is not of the type, or out of range; the sentence names the variable.
        """
        return self.check(_parse(self.variable, self.default, text))


def _setting(
    default: Value,
    name: str,
    description: str,
    *,
    range_: tuple[int, int] | None = None,
    automatic: bool = False,
    choices: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    **facts: Any,
) -> Any:
    """A field of `Settings` with its row of the table.

    Args:
        default: Its value.
        name: Its label.
        description: What it changes.
        range_: Of a number.
        automatic: Whether -1 is allowed besides, which leaves the number to the policy or to the host.
        choices: Of a string.
        names: What a list between commas may hold, if not "host".
        facts: Further attributes of `Setting`.
    """
    low, high = range_ or (-math.inf, math.inf)
    rules = {"default": default, "low": low, "high": high, "automatic": automatic, "choices": choices, "names": names}
    shown = {"low": -1 if automatic else low, "high": high, "choices": choices}
    row = {"name": name, "description": description, **shown, **facts}
    return field(default=default, metadata={"rules": rules, "row": row})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user may set for the runtime; `COMPUTE` tells of each what it means.

    Raises:
        InvalidRequest: A value is not of its setting's type or out of its range; the sentence names its variable.
    """

    vram_mode: str = _setting(
        HOST,
        "VRAM mode",
        "How models are placed on a card. host: as ComfyUI was started. auto: whole if they fit, else the rest is "
        "streamed. low, none: least memory, slower. high, shared: whole or not at all.",
        choices=VRAM_MODES,
    )
    vram_reserve_mb: int = _setting(
        -1,
        "VRAM left alone (MB)",
        "Device memory that is not used. -1: automatic.",
        range_=(0, 1 << 20),
        automatic=True,
        under_host=False,
    )
    vram_limit_mb: int = _setting(
        0,
        "VRAM limit (MB)",
        "Device memory that this process may hold in all. 0: no limit.",
        range_=(0, 1 << 24),
        under_host=False,
    )
    oom_retries: int = _setting(
        2,
        "Retries when VRAM runs out",
        "How often a phase that ran out of device memory runs again, with more of its weights streamed.",
        range_=(0, 2),
    )
    oom_fallback: bool = _setting(
        False,
        "Slower form after the retries",
        "Where all retries failed, a phase goes on in a slower form that sounds slightly different.",
        changes_results=True,
    )
    host_copies: str = _setting(
        "auto",
        "Copies in RAM",
        "Whether weights on a card keep their copy in RAM, from which they come back faster. auto: while RAM is not "
        "short.",
        choices=HOST_COPIES,
    )
    ram_reserve_mb: int = _setting(
        -1,
        "RAM left alone (MB)",
        "Below it copies, then idle models, are dropped. -1: a tenth of all RAM, at least 2 GB.",
        range_=(0, 1 << 24),
        automatic=True,
    )
    max_pinned_mb: int = _setting(
        -1,
        "Pinned RAM (MB)",
        "RAM that may be pinned for fast copies to the card. -1: as much as ComfyUI would pin. 0: none.",
        range_=(0, 1 << 24),
        automatic=True,
        at_start=True,
    )
    async_offload: int = _setting(
        2,
        "Copies under way",
        "How many parts of a streamed model are copied while another one computes. 0: none, which is slower.",
        range_=(0, 8),
    )
    max_resident_models: int = _setting(
        -1,
        "Speech models loaded at once",
        "Beyond it, the one that was not used for longest is unloaded. 0: no limit. -1: ComfyUI decides.",
        range_=(0, 1000),
        automatic=True,
    )
    unload_after_minutes: int = _setting(
        -1,
        "Unload unused models after (minutes)",
        "A model that was not used for so long leaves memory. 0: never. -1: ComfyUI decides.",
        range_=(0, 10080),
        automatic=True,
    )
    pinned_models: str = _setting(
        "",
        "Models that stay loaded",
        "Names of models between commas, as Load Speech Model shows them: they are not unloaded to save memory.",
    )
    segment_cache_mb: int = _setting(
        256,
        "Finished speech kept (MB)",
        "In RAM, for each model, so that after a change only what changed is spoken again. 64 MB are some 11 minutes. "
        "0: none.",
        range_=(0, 1 << 20),
    )
    attention_strict: bool = _setting(
        False,
        "Strict attention",
        "A node fails where the attention that was chosen for its model cannot be had, instead of using another one.",
    )
    fast: str = _setting(
        HOST,
        "Fast arithmetic of torch",
        f"During speech. host: as ComfyUI has it. Or some of {', '.join(FAST_SWITCHES)}, between commas.",
        names=FAST_SWITCHES,
        changes_results=True,
        at_start=True,
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, each.metadata["rules"], getattr(self, each.name))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings with every `MIZUOTO_<NAME>` variable applied over the defaults.

        Raises:
            InvalidRequest: A value is not of the setting's type or out of its range; the text names the variable.
        """
        environment = os.environ if environment is None else environment
        known = {row.key: row for row in COMPUTE if row.variable in environment}
        return cls.of({key: row.parse(environment[row.variable]) for key, row in known.items()})

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Settings:
        """Settings with `values`, by their keys in the table; others are passed over."""
        names = {row.key: name for name, row in zip(_NAMES, COMPUTE, strict=True)}
        return cls(**{names[key]: value for key, value in values.items() if key in names})  # type: ignore[arg-type]


def _variable(name: str) -> str:
    return f"MIZUOTO_{name.upper()}"


def _check(name: str, rules: Mapping[str, Any], value: Any) -> Value:
    what = f"Setting {name} ({_variable(name)})"
    kind = type(rules["default"])
    if type(value) is not kind:
        raise InvalidRequest(f"{what} is {str(value)[:40]!r}; use {_TYPES[kind]}.")
    if isinstance(value, str):
        _check_text(what, value, rules["choices"], rules["names"])
    elif kind is int and not (rules["low"] <= value <= rules["high"] or (rules["automatic"] and value == -1)):
        raise InvalidRequest(
            f"{what} is {value}; its range is {rules['low']} to {rules['high']}"
            f"{', or -1 for automatic' if rules['automatic'] else ''}."
        )
    result: Value = value
    return result


def _check_text(what: str, value: str, choices: tuple[str, ...], names: tuple[str, ...]) -> None:
    if choices and value not in choices:
        raise InvalidRequest(f'{what} is "{value[:40]}"; use one of {", ".join(choices)}.')
    if names and value.strip() != HOST:
        for each in (part.strip() for part in value.split(",")):
            if each not in names:
                near = did_you_mean(each, names)
                raise InvalidRequest(f'{what} holds "{each[:40]}"; use {HOST}, or some of {", ".join(names)}.{near}')
    if len(value) > MAX_TEXT:
        raise InvalidRequest(f"{what} has {len(value):,} characters; the limit is {MAX_TEXT:,}.")


_TYPES: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _parse(variable: str, default: Value, text: str) -> Value:
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


def _folder(variable: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{variable} is {str(value)[:40]!r}; use the path of a folder.")
    folder = os.path.expanduser(value)
    if folder and not (os.path.isabs(folder) and os.path.isdir(folder)):
        raise InvalidRequest(f'{variable} is "{value}", which is no folder; use the whole path of one that is there.')
    return folder


_NAMES = tuple(each.name for each in fields(Settings))
COMPUTE = tuple(
    Setting(
        key=f"compute.{each.name}",
        group=MEMORY,
        default=each.metadata["rules"]["default"],
        check=partial(_check, each.name, each.metadata["rules"]),
        variable=_variable(each.name),
        **each.metadata["row"],
    )
    for each in fields(Settings)
)
"""The table of `Settings`."""

VOICE_FOLDER = Setting(
    key="voices.folder",
    group=VOICES,
    name="Further folder of voices",
    description="Recordings and saved voices in it are listed like those in models/voices. It is set where the server "
    "runs, since whoever may open this page could otherwise have any folder read.",
    default="",
    check=partial(_folder, "MIZUOTO_VOICE_FOLDER"),
    variable="MIZUOTO_VOICE_FOLDER",
    at_start=True,
    on_server_only=True,
)
TABLE = (*COMPUTE, VOICE_FOLDER)
"""Everything that an environment variable can set."""
