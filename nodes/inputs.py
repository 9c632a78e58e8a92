"""Input specs that several nodes share, so that one thing is called and explained alike everywhere."""

from __future__ import annotations

from ..engines.base import Option
from ..mizuoto_runtime.context import MAX_SEED
from .host.api import ModelSocket, OptionsSocket, VoiceSocket, io


def model_input() -> io.Input:
    """The model socket."""
    return ModelSocket.Input("model", tooltip="From Load Speech Model.")


def text_input() -> io.Input:
    """Multiline text that reaches the node as typed: ComfyUI's {a|b} wildcards are off."""
    return io.String.Input(
        "text",
        multiline=True,
        dynamic_prompts=False,
        default="Hello! This voice came with the pack, and it runs on your own machine.",
        tooltip="What to say. Any length: long text is cut at sentences and joined again.",
    )


def voice_input() -> io.Input:
    """The optional voice socket."""
    return VoiceSocket.Input(
        "voice", optional=True, tooltip="Who speaks, from a voice node. Without it: the model's first voice."
    )


def options_input() -> io.Input:
    """The optional engine options socket."""
    return OptionsSocket.Input(
        "options", optional=True, tooltip="From the options node of the model's engine. Without it: defaults."
    )


def seed_input() -> io.Input:
    """The seed widget."""
    return io.Int.Input(
        "seed",
        default=0,
        min=0,
        max=MAX_SEED,
        control_after_generate=True,
        tooltip="The same seed, text and settings give the same sound, sample by sample.",
    )


def audio_output() -> io.Output:
    """Speech."""
    return io.Audio.Output(display_name="audio", tooltip="Mono, at the model's own sample rate.")


def report_output() -> io.Output:
    """The JSON report of what happened."""
    return io.String.Output(display_name="report", tooltip="JSON: times, memory, seed, warnings.")


def option_input(option: Option) -> io.Input:
    """The widget of an engine's declared option."""
    kind = type(option.default)
    common = {"default": option.default, "tooltip": option.tooltip}
    if option.choices:
        return io.Combo.Input(option.name, options=list(option.choices), **common)
    if kind is bool:
        return io.Boolean.Input(option.name, **common)
    if kind is int:
        return io.Int.Input(option.name, min=int(option.low), max=int(option.high), step=int(option.step), **common)
    if kind is float:
        return io.Float.Input(option.name, min=option.low, max=option.high, step=option.step, **common)
    return io.String.Input(option.name, dynamic_prompts=False, **common)
