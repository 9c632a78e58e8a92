"""Prepare Voice: any recording to a clean reference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..engines import listening
from ..engines.base import require_task
from ..engines.reference import MAX_RECORDING_S, Preparation, prepare
from ..engines.transcript import Transcript
from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.runtime import Model
from .host.api import ModelSocket, TranscriptSocket, io, schema
from .host.audio import list_from_comfy, to_comfy
from .host.session import request, request_without_model
from .inputs import check_sockets, report_output

_TASK = "prepare voice"
_DEFAULTS = Preparation()


def _inputs() -> list[io.Input]:
    return [
        io.Audio.Input(
            "audio", tooltip="A recording of one speaker, up to 30 minutes. A batch of recordings becomes one."
        ),
        ModelSocket.Input(
            "model", optional=True, tooltip="The model that will clone the voice: its sample rate and limits count."
        ),
        io.String.Input(
            "transcript",
            default="",
            multiline=True,
            dynamic_prompts=False,
            optional=True,
            tooltip="Every word of the recording, if you know them.",
        ),
        TranscriptSocket.Input(
            "heard", optional=True, tooltip="What Transcribe heard in the same audio; it can be cut with the recording."
        ),
        ModelSocket.Input(
            "listener",
            optional=True,
            tooltip="A speech recognition model; it is asked where the words are unknown or no longer fit.",
        ),
        io.Boolean.Input(
            "trim", default=True, optional=True, tooltip="Cut off what is before and after all speech, however quiet."
        ),
        io.Boolean.Input("level", default=True, optional=True, tooltip="Bring the recording to the loudness below."),
        io.Float.Input(
            "loudness",
            default=_DEFAULTS.loudness,
            min=-50.0,
            max=-8.0,
            step=0.5,
            optional=True,
            tooltip="In LUFS. Peaks stay below -1 dBFS, so that a recording may stay quieter than this.",
        ),
        io.Float.Input(
            "max_seconds",
            default=0.0,
            min=0.0,
            max=MAX_RECORDING_S,
            step=0.5,
            optional=True,
            tooltip="Of a longer recording the best passage is taken. 0: what the model takes.",
        ),
    ]


class PrepareVoice(io.ComfyNode):
    """A clean reference for every node that takes one."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Audio, model, transcript, heard, listener, trim, level, loudness, max_seconds -> AUDIO, STRING, report."""
        return schema(
            "MizuotoPrepareVoice",
            "Prepare Voice",
            description="Makes a clean reference of any recording: mono, trimmed, loud enough, short enough.",
            search_aliases=("reference", "clone", "trim", "vad", "normalize", "loudness"),
            inputs=_inputs(),
            outputs=[
                io.Audio.Output(display_name="audio", tooltip="Mono, for Voice Prompt."),
                io.String.Output(
                    display_name="transcript", tooltip="The words in it, for Voice Prompt; empty if unknown."
                ),
                report_output(),
            ],
        )

    @classmethod
    def execute(
        cls,
        audio: Any,
        model: Model | None = None,
        transcript: str = "",
        heard: Transcript | None = None,
        listener: Model | None = None,
        trim: bool = True,
        level: bool = True,
        loudness: float = -20.0,
        max_seconds: float = 0.0,
    ) -> io.NodeOutput:
        """Prepare the recording."""
        check_sockets(audio=audio, heard=heard, listener=listener, **({} if model is None else {"model": model}))
        manifest = model.engine.manifest if model else None
        if manifest:
            require_task(manifest, "clone")
        recordings = list_from_comfy(audio, "audio", MAX_RECORDING_S)
        wanted = Preparation(trim, loudness if level else None, max_seconds)
        with _request(listener) as ctx:
            hear = _ear(listener, ctx)
            found = prepare(recordings, manifest, transcript, heard, wanted, ctx, hear)
            ctx.report.params["reference"] = found.facts
            ctx.report.audio_seconds = round(found.audio.seconds, 4)
        report = ctx.report.to_json()
        return io.NodeOutput(to_comfy(found.audio), found.transcript, report, ui={"mizuoto_report": [report]})


def _request(listener: Model | None) -> AbstractContextManager[RequestContext]:
    return request(listener, _TASK) if listener else request_without_model(_TASK)


def _ear(listener: Model | None, ctx: RequestContext) -> Callable[[Audio], str] | None:
    if listener is None:
        return None
    engine = listener.engine
    require_task(engine.manifest, "asr")
    return lambda audio: listening.transcribe(engine, audio, None, None, ctx).text
