"""Dialogue: Voice Bank, Speak Script."""

from __future__ import annotations

import re

from ..engines import speech, timeline
from ..engines.artifacts import VoicePrompt
from ..engines.base import Options
from ..engines.reading import AUTO
from ..engines.script import Cast, VoiceBank
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.runtime import Model
from ..mizuoto_runtime.text.script import read_script, speakers_of
from .host.api import VoiceBankSocket, VoiceSocket, io, schema
from .host.audio import to_comfy
from .host.preview import speech_ui
from .host.session import request
from .host.settings import fingerprint_of_defaults, options_for
from .inputs import (
    audio_output,
    bank_input,
    check_sockets,
    model_input,
    normalise_input,
    options_input,
    report_output,
    seed_input,
    timeline_outputs,
    verdict,
)

_MAX_NAME = 40
_DEFAULT_SCRIPT = "Anna: Good morning, Ben! [pause:500ms] Did you sleep well?\nBen: Like a stone. And you?"


class VoiceBankNode(io.ComfyNode):
    """One more voice under a name; chained, since no graph can have inputs that grow everywhere."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Name, voice, voices -> MIZUOTO_VOICES."""
        return schema(
            "MizuotoVoiceBank",
            "Voice Bank",
            description="Gives a voice a name for Speak Script. Chain one node after another, one for each speaker.",
            search_aliases=("dialogue", "multi speaker", "cast"),
            inputs=[
                io.String.Input(
                    "name", default="Anna", dynamic_prompts=False, tooltip="How the script calls this voice."
                ),
                VoiceSocket.Input("voice", tooltip="From a voice node with the model that will speak."),
                VoiceBankSocket.Input("voices", optional=True, tooltip="From the Voice Bank before this one."),
            ],
            outputs=[VoiceBankSocket.Output(display_name="voices", tooltip="For Speak Script, or another Voice Bank.")],
        )

    @classmethod
    def validate_inputs(cls, name: str | None = None) -> bool | str:
        """Refuse names that a script cannot write."""
        return verdict(_check_name, name)

    @classmethod
    def execute(cls, name: str, voice: VoicePrompt, voices: VoiceBank | None = None) -> io.NodeOutput:
        """Add the voice."""
        check_sockets(voice=voice, voices=voices)
        if voice is None:
            raise InvalidRequest('Input "voice" is not connected; connect a voice node.')
        return io.NodeOutput((voices or VoiceBank()).adding(_check_name(name), voice))


def _check_name(name: str) -> str:
    name = " ".join(str(name).split())
    if not name or len(name) > _MAX_NAME or re.search(r"[\[\]|:：\x00-\x1f]", name) or name.casefold() == "pause":
        raise InvalidRequest(
            f'"{name[:_MAX_NAME]}" cannot be the name of a speaker: use up to {_MAX_NAME} characters without brackets, '
            'colons and bars, and not "pause".'
        )
    return name


class SpeakScript(io.ComfyNode):
    """A dialogue in one node."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, script, seed, voices, narrator, options, normalise -> AUDIO, lines, timeline, srt, report."""
        return schema(
            "MizuotoSpeakScript",
            "Speak Script",
            description="Speaks a script for several voices: lines with names in front, [Name] marks, or JSON.",
            search_aliases=("dialogue", "multi speaker", "podcast", "audiobook", "conversation"),
            inputs=[
                model_input(),
                io.String.Input(
                    "script",
                    multiline=True,
                    dynamic_prompts=False,
                    default=_DEFAULT_SCRIPT,
                    tooltip='"Name: line", or marks: [Name], [German:Name], [Name|seed:42|speed:1.1], [pause:1s]. '
                    "A line without a name goes on in the voice before it.",
                ),
                seed_input(),
                bank_input(),
                VoiceSocket.Input(
                    "narrator",
                    optional=True,
                    tooltip="Speaks what comes before the first name. Without it: the model's first voice.",
                ),
                options_input(),
                normalise_input(),
            ],
            outputs=[
                audio_output(),
                io.Audio.Output(
                    display_name="lines", tooltip="The same, one sound for each line.", is_output_list=True
                ),
                *timeline_outputs(),
                report_output(),
            ],
        )

    @classmethod
    def fingerprint_inputs(cls, **inputs: object) -> str:
        """Speak again when the user wants other options by default."""
        return fingerprint_of_defaults(inputs, ("tts",))

    @classmethod
    def execute(
        cls,
        model: Model,
        script: str,
        seed: int = 0,
        voices: VoiceBank | None = None,
        narrator: VoicePrompt | None = None,
        options: Options | None = None,
        normalise: str = AUTO,
    ) -> io.NodeOutput:
        """Speak it."""
        check_sockets(model=model, voices=voices, voice=narrator, options=options)
        bank = voices or VoiceBank()
        parts = read_script(speech.check_length(script), speakers_of(bank.voices))
        with request(model, "speak script", seed) as ctx:
            cast = Cast(narrator, bank.voices)
            wanted = options_for(model, options)
            audio, takes = speech.perform(model.engine, parts, cast, wanted, ctx, model.cache, normalise)
        report = ctx.report.to_json()
        lines = [to_comfy(line) for line in timeline.lines(audio, takes)]
        texts = timeline.to_json(takes), timeline.to_subtitles(takes), report
        return io.NodeOutput(to_comfy(audio), lines, *texts, ui={"mizuoto_report": [report], **speech_ui(ctx)})
