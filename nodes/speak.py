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
from .inputs import audio_output, check_sockets, model_input, report_output, speech_inputs


def _output(value: object, report: RunReport) -> io.NodeOutput:
    """The value and its report, which also goes into the history for API users."""
    text = report.to_json()
    return io.NodeOutput(value, text, ui={"mizuoto_report": [text]})


class _SaysText(io.ComfyNode):
    """What Speak and Talker have in common."""

    @classmethod
    def validate_inputs(cls, text: str | None = None) -> bool | str:
        """Refuse a typed text without words before anything loads; a linked text is checked when it arrives."""
        if text is None:
            return True
        try:
            speech.check_text(text)
        except InvalidRequest as error:
            return str(error)
        return True


class Speak(_SaysText):
    """The whole chain in one node."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options -> AUDIO, report."""
        return schema(
            "MizuotoSpeak",
            "Speak",
            description="Speaks a text of any length. The same as Talker and Codec Decoder one after the other.",
            search_aliases=("tts", "text to speech", "say"),
            inputs=speech_inputs(),
            outputs=[audio_output(), report_output()],
        )

    @classmethod
    def execute(
        cls, model: Model, text: str, seed: int = 0, voice: VoicePrompt | None = None, options: Options | None = None
    ) -> io.NodeOutput:
        """Speak."""
        check_sockets(model=model, voice=voice, options=options)
        with request(model, "speak", seed) as ctx:
            audio = speech.speak(model.engine, text, voice, options, ctx)
        return _output(to_comfy(audio), ctx.report)


class Talker(_SaysText):
    """Phase talker."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options -> MIZUOTO_CODES, report."""
        return schema(
            "MizuotoTalker",
            "Talker",
            description="Turns text into codes, which a Codec Decoder turns into sound.",
            search_aliases=("tts", "text to speech"),
            inputs=speech_inputs(),
            outputs=[
                CodesSocket.Output(display_name="codes", tooltip="For a Codec Decoder with the same model."),
                report_output(),
            ],
        )

    @classmethod
    def execute(
        cls, model: Model, text: str, seed: int = 0, voice: VoicePrompt | None = None, options: Options | None = None
    ) -> io.NodeOutput:
        """Talk."""
        check_sockets(model=model, voice=voice, options=options)
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
        check_sockets(model=model, codes=codes)
        with request(model, "decode") as ctx:
            audio = speech.decode(model.engine, codes, ctx)
        return _output(to_comfy(audio), ctx.report)
