"""Codec Decoder: codes to sound."""

from __future__ import annotations

from ..engines import speech
from ..engines.artifacts import Codes
from ..mizuoto_runtime.runtime import Model
from .host.api import CodesSocket, io, schema
from .host.audio import to_comfy
from .host.preview import speech_ui
from .host.session import request
from .inputs import audio_output, check_sockets, model_input, report_output, with_report


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
        return with_report(to_comfy(audio), ctx.report, **speech_ui(ctx))
