"""The engine's options: defaults out of the checkpoint, and what chosen values mean for the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest, Unsupported
from ...mizuoto_runtime.lm.sampling import Sampling
from ...mizuoto_runtime.loading.fields import number
from ..base import Manifest, Option
from .config import BASE, CUSTOM_VOICE, VOICE_DESIGN, CheckpointConfig
from .ending import frame_budget
from .generation import Choices
from .manifest import MANIFEST
from .prompt import Prompt

# Options whose defaults are in generation_config.json under the same name, temperatures where the part samples at all.
_PUBLISHED = (
    *("temperature", "top_k", "top_p", "repetition_penalty"),
    *("subtalker_temperature", "subtalker_top_k", "subtalker_top_p"),
)
_SWITCHES = {"temperature": "do_sample", "subtalker_temperature": "subtalker_dosample"}
_TASKS = {BASE: ("tts", "clone"), CUSTOM_VOICE: ("tts",), VOICE_DESIGN: ("tts", "design")}


def manifest_of(config: CheckpointConfig) -> Manifest:
    """The engine's manifest as far as it holds for one checkpoint."""
    official = {name.casefold(): name for name in MANIFEST.voices}
    return replace(
        MANIFEST,
        tasks=_TASKS[config.kind],
        voices=tuple(sorted((official.get(name, name) for name in config.speakers), key=_place)),
        options=tuple(_with_default(option, config.generation) for option in MANIFEST.options),
    )


def choices_for(options: Mapping[str, Any], prompts: Sequence[Prompt], config: CheckpointConfig) -> Choices:
    """How the loop chooses codes for `prompts`, and when it ends each.

    Raises:
        InvalidRequest: A prompt and its frames are more than the model has positions for.
    """
    seconds = options["max_seconds"]
    budgets = [frame_budget(prompt.text.shape[1], seconds) for prompt in prompts]
    if seconds == 0:  # what the user sets counts, whatever the publisher's limit
        budgets = [min(budget, config.max_frames) for budget in budgets]
    for prompt, budget in zip(prompts, budgets, strict=True):
        _refuse_overflow(prompt.num_positions, budget, config.talker.max_positions)
    return Choices(
        first=_sampling(options, "", options["repetition_penalty"]),
        later=_sampling(options, "subtalker_", 1.0),
        budgets=budgets,
        stops_loops=options["stop_loops"],
    )


def instruction_of(options: Mapping[str, Any], description: str, config: CheckpointConfig) -> str:
    """What the model is told about the way to speak: the voice's description, then the instruction.

    Raises:
        Unsupported: There is an instruction and the checkpoint was not trained to follow one.
    """
    instruction = str(options["instruction"]).strip()
    if instruction and not config.follows_instructions:
        raise Unsupported(
            f"This Qwen3-TTS {config.kind} model follows no instruction; empty that option, "
            "or load the 1.7B CustomVoice or VoiceDesign model."
        )
    return " ".join(part for part in (description, instruction) if part)


def is_streamed(options: Mapping[str, Any], config: CheckpointConfig) -> bool:
    """Whether the text is read while the model speaks; upstream's default does so for cloned voices only."""
    mode = options["text_mode"]
    return bool(config.kind == BASE if mode == "auto" else mode == "streamed")


def _refuse_overflow(read: int, made: int, most: int) -> None:
    if read + made > most:
        raise InvalidRequest(
            f"A segment takes {read} positions of the model to read and up to {made} to say, and it has {most}; "
            "shorten the text, the instruction or the reference, or set a lower max_seconds."
        )


def _sampling(options: Mapping[str, Any], prefix: str, repetition_penalty: float) -> Sampling:
    temperature = float(options[f"{prefix}temperature"])
    return Sampling(
        do_sample=temperature > 0.0,
        temperature=temperature or 1.0,
        top_k=options[f"{prefix}top_k"],
        top_p=options[f"{prefix}top_p"],
        repetition_penalty=repetition_penalty,
    )


def _with_default(option: Option, generation: Mapping[str, Any]) -> Option:
    value = option.default
    if option.name in _PUBLISHED and generation.get(option.name) is not None:
        value = number(generation, option.name, float)
    if not generation.get(_SWITCHES.get(option.name, ""), True):
        value = 0.0
    if value == option.default:
        return option
    return replace(option, default=type(option.default)(min(max(value, option.low), option.high)))


def _place(name: str) -> tuple[int, str]:
    """Official voices in their order, then others by name."""
    return (MANIFEST.voices.index(name) if name in MANIFEST.voices else len(MANIFEST.voices), name)
