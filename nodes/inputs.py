"""Input specs that several nodes share, so that one thing is called and explained alike everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..engines.artifacts import Codes, VoicePrompt
from ..engines.base import Option, Options
from ..engines.reading import AUTO, READINGS
from ..engines.script import VoiceBank
from ..engines.speech import check_text
from ..engines.transcript import Transcript
from ..mizuoto_runtime.context import MAX_SEED
from ..mizuoto_runtime.errors import InvalidRequest, MizuotoError
from ..mizuoto_runtime.report import RunReport
from ..mizuoto_runtime.runtime import Model
from .host.api import ModelSocket, OptionsSocket, VoiceBankSocket, VoiceSocket, io

# Input -> type, what a wrong value is not, where a right one comes from.
_SOCKETS: dict[str, tuple[type, str, str]] = {
    "model": (Model, "no speech model", "a Load Speech Model node"),
    "voice": (VoicePrompt, "no voice", "a voice node"),
    "voices": (VoiceBank, "no bank of voices", "a Voice Bank node"),
    "options": (Options, "no set of options", "the options node of the model's engine"),
    "codes": (Codes, "no set of codes", "a Talker node"),
    "transcript": (Transcript, "no transcript", "a Transcribe node"),
    "heard": (Transcript, "no transcript", "a Transcribe node"),
    "listener": (Model, "no speech model", "a Load Speech Model node"),
    "audio": (Mapping, "no sound", "a Load Audio node"),
}
_OPTIONAL = frozenset({"voice", "voices", "options", "audio", "heard", "listener"})


def check_sockets(**values: object) -> None:
    """Refuse what ComfyUI lets through: a literal in an API prompt where only a link makes sense.

    Raises:
        InvalidRequest: One of the values has another type than its name demands.
    """
    for name, value in values.items():
        kind, wrong, source = _SOCKETS[name]
        if not isinstance(value, kind) and not (value is None and name in _OPTIONAL):
            raise InvalidRequest(f'Input "{name}" is "{str(value)[:40]}", which is {wrong}; connect {source}.')


def verdict(check: Callable[[Any], object], value: Any) -> bool | str:
    """What `validate_inputs` answers to a typed value: True, or the sentence with which `check` refuses it.

    A linked value comes as None; it is checked when it arrives.
    """
    if value is None:
        return True
    try:
        check(value)
    except MizuotoError as error:
        return str(error)
    return True


def check_words(text: str | None) -> bool | str:
    """The verdict on a text that shall be said."""
    return verdict(check_text, text)


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
        "voice",
        optional=True,
        tooltip="Who speaks, from a voice node. Without it: the model's first voice, if it has one.",
    )


def bank_input() -> io.Input:
    """The optional bank of named voices."""
    return VoiceBankSocket.Input("voices", optional=True, tooltip="Who speaks, from Voice Bank nodes.")


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


def normalise_input() -> io.Input:
    """Whether numbers and short forms are put into words first."""
    return io.Combo.Input(
        "normalise",
        options=list(READINGS),
        default=AUTO,
        optional=True,
        tooltip="Numbers, dates, money, units and short forms as words, in English and Chinese. auto: for models that "
        "cannot read them. wetext: by the package of that name. off: the text reaches the model exactly as typed.",
    )


def speech_inputs() -> list[io.Input]:
    """All that a node needs to say something: model, text, seed, voice, options, normalise."""
    return [model_input(), text_input(), seed_input(), voice_input(), options_input(), normalise_input()]


def audio_output() -> io.Output:
    """Speech."""
    return io.Audio.Output(display_name="audio", tooltip="Mono, at the model's own sample rate.")


def timeline_outputs() -> list[io.Output]:
    """Where everything is in a recording."""
    return [
        io.String.Output(display_name="timeline", tooltip="JSON: who says what from when to when."),
        io.String.Output(display_name="srt", tooltip="Subtitles of it."),
    ]


def report_output(is_list: bool = False) -> io.Output:
    """The JSON report of what happened, or one of each item."""
    tooltip = "JSON: times, memory, seed, warnings."
    return io.String.Output(display_name="report", tooltip=tooltip, is_output_list=is_list)


def with_report(value: object, report: RunReport, **shown: list[Any]) -> io.NodeOutput:
    """The value and its report, which also goes into the history for API users, with whatever else is `shown`."""
    text = report.to_json()
    return io.NodeOutput(value, text, ui={"mizuoto_report": [text], **shown})


def option_input(option: Option) -> io.Input:
    """The widget of an engine's declared option.

    Optional, so that API prompts name only what they change, and go on working when an engine gets another option.
    """
    kind = type(option.default)
    common = {"default": option.default, "tooltip": option.tooltip, "optional": True}
    if option.choices:
        return io.Combo.Input(option.name, options=list(option.choices), **common)
    if kind is bool:
        return io.Boolean.Input(option.name, **common)
    if kind is int:
        return io.Int.Input(option.name, min=int(option.low), max=int(option.high), step=int(option.step), **common)
    if kind is float:
        return io.Float.Input(option.name, min=option.low, max=option.high, step=option.step, **common)
    # A box of several lines shows its name only while it is empty.
    return io.String.Input(option.name, dynamic_prompts=False, multiline=not option.default, **common)
