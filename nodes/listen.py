"""Transcripts: Transcribe, Transcript to Text, Save Transcript."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import engines
from ..engines import listening
from ..engines.base import Options
from ..engines.subtitles import SUFFIXES, check_format, write
from ..engines.transcript import Transcript
from ..mizuoto_runtime.context import MAX_SEED
from ..mizuoto_runtime.runtime import Model
from ..mizuoto_runtime.text.languages import AUTO, choose_language, language_name
from .host.api import TranscriptSocket, io, schema
from .host.audio import from_comfy
from .host.outputs import save_text
from .host.session import request
from .host.settings import fingerprint_of_defaults, options_for
from .host.sounds import sound_for_page
from .inputs import check_sockets, model_input, options_input, report_output, verdict


@cache
def _language_choices() -> list[str]:
    known = (tag for manifest in engines.manifests().values() if "asr" in manifest.tasks for tag in manifest.languages)
    return [AUTO, *sorted(set(map(language_name, known)))]


def _format_input(default: str) -> io.Input:
    return io.Combo.Input(
        "format",
        options=list(SUFFIXES),
        default=default,
        tooltip="text: the words alone. srt, vtt: subtitles. json: everything that is known. timed text: a line for "
        "each passage.",
    )


def _transcript_input() -> io.Input:
    return TranscriptSocket.Input("transcript", tooltip="From Transcribe.")


def _seed_input() -> io.Input:
    return io.Int.Input(
        "seed",
        default=0,
        min=0,
        max=MAX_SEED,
        optional=True,
        control_after_generate=True,
        tooltip="Counts where words are drawn: at a temperature above 0 in the options, or where a passage is hard to "
        "understand.",
    )


class Transcribe(io.ComfyNode):
    """A recording to text."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, audio, language, options, seed, voice_required -> text, MIZUOTO_TRANSCRIPT, language, report."""
        return schema(
            "MizuotoTranscribe",
            "Transcribe",
            description="Writes down what is said in a recording of any length. Silence gives an empty text.",
            search_aliases=("speech to text", "stt", "asr", "whisper", "subtitles", "recognition"),
            inputs=[
                model_input(),
                io.Audio.Input("audio", tooltip="A recording; any rate, any number of channels, up to 6 hours."),
                io.Combo.Input(
                    "language",
                    options=_language_choices(),
                    default=AUTO,
                    tooltip=f"What is spoken. {AUTO}: the model finds out. API prompts may send tags, too, such as pt.",
                ),
                options_input(),
                _seed_input(),
                io.Boolean.Input(
                    "voice_required",
                    default=True,
                    optional=True,
                    tooltip="Leave out what the model hears where nobody speaks. Off for singing and shouting.",
                ),
            ],
            outputs=[
                io.String.Output(display_name="text", tooltip="All that is said, on one line."),
                TranscriptSocket.Output(
                    display_name="transcript", tooltip="With times, for Transcript to Text and Save Transcript."
                ),
                io.String.Output(display_name="language", tooltip='Its tag, such as "en"; empty if nobody speaks.'),
                report_output(),
            ],
            is_output_node=True,
        )

    @classmethod
    def validate_inputs(cls, language: str | None = None) -> bool | str:
        """Accept names and tags in any case; a linked one comes as None and is checked when it arrives."""
        return verdict(choose_language, str(language or AUTO))

    @classmethod
    def fingerprint_inputs(cls, **inputs: object) -> str:
        """Listen again when the user wants other options by default."""
        return fingerprint_of_defaults(inputs, ("asr",))

    @classmethod
    def execute(
        cls,
        model: Model,
        audio: Any,
        language: str = AUTO,
        options: Options | None = None,
        seed: int = 0,
        voice_required: bool = True,
    ) -> io.NodeOutput:
        """Listen."""
        check_sockets(model=model, audio=audio, options=options)
        recording = from_comfy(audio, "audio", listening.MAX_SECONDS)
        with request(model, "transcribe", seed) as ctx:
            tag = choose_language(str(language), model.engine.manifest.languages)
            wanted = options_for(model, options)
            transcript = listening.transcribe(model.engine, recording, tag, wanted, ctx, voice_required)
        report = ctx.report.to_json()
        heard = {"passages": _passages(transcript), **sound_for_page(recording)}
        shown = {"text": [transcript.text], "mizuoto_report": [report], "mizuoto_transcript": [heard]}
        return io.NodeOutput(transcript.text, transcript, transcript.language, report, ui=shown)


def _passages(transcript: Transcript) -> list[dict[str, str | float]]:
    """What the page shows of it; words have no place there."""
    return [
        {"text": passage.text, "start": round(passage.start, 3), "end": round(passage.end, 3)}
        for passage in transcript.passages
    ]


class TranscriptText(io.ComfyNode):
    """A transcript in a text format."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Transcript, format -> STRING."""
        return schema(
            "MizuotoTranscriptText",
            "Transcript to Text",
            description="Turns a transcript into text, subtitles or JSON.",
            search_aliases=("srt", "vtt", "subtitles"),
            inputs=[_transcript_input(), _format_input("text")],
            outputs=[io.String.Output(display_name="text", tooltip="The transcript in that format.")],
        )

    @classmethod
    def execute(cls, transcript: Transcript, format: str = "text") -> io.NodeOutput:
        """Write it."""
        check_sockets(transcript=transcript)
        return io.NodeOutput(write(transcript, format))


class SaveTranscript(io.ComfyNode):
    """A transcript as a file."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Transcript, filename_prefix, format -> file."""
        return schema(
            "MizuotoSaveTranscript",
            "Save Transcript",
            description="Saves a transcript in the output folder, as subtitles or in another format.",
            search_aliases=("srt", "vtt", "subtitles", "save text"),
            inputs=[
                _transcript_input(),
                io.String.Input(
                    "filename_prefix",
                    default="transcripts/ComfyUI",
                    tooltip="Beginning of the file's name; a number and the ending follow. It may name a folder.",
                ),
                _format_input("srt"),
            ],
            outputs=[io.String.Output(display_name="file", tooltip="The file's name, below the output folder.")],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, transcript: Transcript, filename_prefix: str, format: str = "srt") -> io.NodeOutput:
        """Save it."""
        check_sockets(transcript=transcript)
        check_format(format)
        saved = save_text(write(transcript, format), filename_prefix, SUFFIXES[format])
        name = "/".join(filter(None, (saved["subfolder"], saved["filename"])))
        return io.NodeOutput(name, ui={"files": [saved], "text": [f"Saved as {name}"]})
