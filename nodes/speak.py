"""Text to speech, whole and in its phases: Speak, Talker, Codec Decoder."""

from __future__ import annotations

from ..engines import speech
from ..engines.artifacts import Codes, VoicePrompt
from ..engines.base import Options
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.report import RunReport
from ..mizuoto_runtime.runtime import Model
from .host.api import CodesSocket, io, schema
from .host.audio import to_comfy
from .host.session import request
from .inputs import audio_output, model_input, options_input, report_output, seed_input, text_input, voice_input


def _validate_text(text: str | None) -> bool | str:
    """Refuse a typed text without words before anything loads; a linked text is checked when it arrives."""
    if text is None:
        return True
    try:
        speech.check_text(text)
    except InvalidRequest as error:
        return str(error)
    return True


def _output(value: object, report: RunReport) -> io.NodeOutput:
    """The value and its report, which also goes into the history for API users."""
    text = report.to_json()
    return io.NodeOutput(value, text, ui={"mizuoto_report": [text]})


class Speak(io.ComfyNode):
    """The whole chain in one node."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options -> AUDIO, report."""
        return schema(
            "MizuotoSpeak",
            "Speak",
            description="Speaks a text of any length. The same as Talker and Codec Decoder one after the other.",
            search_aliases=("tts", "text to speech", "say"),
            inputs=[model_input(), text_input(), seed_input(), voice_input(), options_input()],
            outputs=[audio_output(), report_output()],
        )

    @classmethod
    def validate_inputs(cls, text: str | None = None) -> bool | str:
        """See `_validate_text`."""
        return _validate_text(text)

    @classmethod
    def execute(
        cls, model: Model, text: str, seed: int = 0, voice: VoicePrompt | None = None, options: Options | None = None
    ) -> io.NodeOutput:
        """Speak."""
        with request(model, "speak", seed) as ctx:
            audio = speech.speak(model.engine, text, voice, options, ctx)
        return _output(to_comfy(audio), ctx.report)


class Talker(io.ComfyNode):
    """Phase talker."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options -> MIZUOTO_CODES, report."""
        return schema(
            "MizuotoTalker",
            "Talker",
            description="Turns text into codes, which a Codec Decoder turns into sound.",
            search_aliases=("tts", "text to speech"),
            inputs=[model_input(), text_input(), seed_input(), voice_input(), options_input()],
            outputs=[
                CodesSocket.Output(display_name="codes", tooltip="For a Codec Decoder with the same model."),
                report_output(),
            ],
        )

    @classmethod
    def validate_inputs(cls, text: str | None = None) -> bool | str:
        """See `_validate_text`."""
        return _validate_text(text)

    @classmethod
    def execute(
        cls, model: Model, text: str, seed: int = 0, voice: VoicePrompt | None = None, options: Options | None = None
    ) -> io.NodeOutput:
        """Talk."""
        with request(model, "talk", seed) as ctx:
            codes = speech.talk(model.engine, text, voice, options, ctx)
        return _output(codes, ctx.report)


class CodecDecoder(io.ComfyNode):
    """Phase codec decoder."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, codes -> AUDIO, report."""
        return schema(
            "MizuotoCodecDecoder",
            "Codec Decoder",
            description="Turns codes into sound. Seeds come with the codes.",
            inputs=[model_input(), CodesSocket.Input("codes", tooltip="From a Talker with the same model.")],
            outputs=[audio_output(), report_output()],
        )

    @classmethod
    def execute(cls, model: Model, codes: Codes) -> io.NodeOutput:
        """Decode."""
        with request(model, "decode") as ctx:
            audio = speech.decode(model.engine, codes, ctx)
        return _output(to_comfy(audio), ctx.report)
