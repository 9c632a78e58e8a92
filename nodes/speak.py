"""Speak: text to speech in one node."""

from __future__ import annotations

from ..engines import speech
from ..engines.artifacts import VoicePrompt
from ..engines.base import Options
from ..engines.reading import AUTO
from ..mizuoto_runtime.runtime import Model
from .host.api import io, schema
from .host.audio import to_comfy
from .host.preview import speech_ui
from .host.session import request
from .host.settings import fingerprint_of_defaults, options_for
from .inputs import audio_output, check_sockets, check_words, report_output, speech_inputs, with_report


class Speak(io.ComfyNode):
    """The whole chain in one node."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options, normalise -> AUDIO, report."""
        return schema(
            "MizuotoSpeak",
            "Speak",
            description="Speaks a text of any length. The same as Talker and Codec Decoder one after the other.",
            search_aliases=("tts", "text to speech", "say"),
            inputs=speech_inputs(),
            outputs=[audio_output(), report_output()],
        )

    @classmethod
    def validate_inputs(cls, text: str | None = None) -> bool | str:
        """Refuse a text without words before anything loads."""
        return check_words(text)

    @classmethod
    def fingerprint_inputs(cls, **inputs: object) -> str:
        """Speak again when the user wants other options by default."""
        return fingerprint_of_defaults(inputs, ("tts",))

    @classmethod
    def execute(
        cls,
        model: Model,
        text: str,
        seed: int = 0,
        voice: VoicePrompt | None = None,
        options: Options | None = None,
        normalise: str = AUTO,
    ) -> io.NodeOutput:
        """Speak."""
        check_sockets(model=model, voice=voice, options=options)
        with request(model, "speak", seed) as ctx:
            audio = speech.speak(model.engine, text, voice, options_for(model, options), ctx, model.cache, normalise)
        return with_report(to_comfy(audio), ctx.report, **speech_ui(ctx))
