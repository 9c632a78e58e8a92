"""The engine's options: defaults out of the checkpoint, and what chosen values mean for the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...mizuoto_runtime.errors import Unsupported
from ...mizuoto_runtime.lm.sampling import Sampling
from ..base import Manifest, Option
from .config import BASE, CUSTOM_VOICE, VOICE_DESIGN, CheckpointConfig
from .ending import frame_budget
from .generation import Choices
from .manifest import MANIFEST
from .prompt import Prompt

# Option -> its name in generation_config.json; a temperature counts only where the same part samples at all.
_GENERATION = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "repetition_penalty": "repetition_penalty",
    "subtalker_temperature": "subtalker_temperature",
    "subtalker_top_k": "subtalker_top_k",
    "subtalker_top_p": "subtalker_top_p",
}
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
    """How the loop chooses codes for `prompts`, and when it ends each."""
    limit = int(config.generation.get("max_new_tokens", 0)) - 1
    budgets = [frame_budget(prompt.text.shape[1], options["max_seconds"]) for prompt in prompts]
    return Choices(
        first=_sampling(options, "", options["repetition_penalty"]),
        later=_sampling(options, "subtalker_", 1.0),
        budgets=[min(budget, limit) if limit > 0 else budget for budget in budgets],
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
    value = generation.get(_GENERATION.get(option.name, ""))
    if not generation.get(_SWITCHES.get(option.name, ""), True):
        value = 0.0
    if value is None:
        return option
    within = min(max(type(option.default)(value), option.low), option.high)
    return replace(option, default=type(option.default)(within))


def _place(name: str) -> tuple[int, str]:
    """Official voices in their order, then others by name."""
    return (MANIFEST.voices.index(name) if name in MANIFEST.voices else len(MANIFEST.voices), name)
