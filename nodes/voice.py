"""Voices: Voice Prompt, Preset Voice, Design Voice, Save Voice, Load Voice."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import engines
from ..engines.artifacts import VoicePrompt, require_engine
from ..engines.reference import MAX_RECORDING_S
from ..engines.voices import clone_voice, design_voice, preset_voice
from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.report import RunReport
from ..mizuoto_runtime.runtime import Model
from .host import voices
from .host.api import ModelSocket, VoiceSocket, io, schema
from .host.audio import from_comfy, to_comfy
from .host.recordings import MAX_SECONDS, read_recording
from .host.session import request
from .host.sounds import sound_for_page
from .host.withheld import withheld
from .inputs import check_sockets, model_input, report_output, verdict, with_report

_NONE_YET = "(none saved yet)"
_AUTO, _WORDS, _TIMBRE = "auto", "with transcript", "timbre only"


@cache
def _preset_names() -> list[str]:
    names = (voice for manifest in engines.manifests().values() for voice in manifest.voices)
    return sorted(set(names), key=str.casefold)


@cache
def _built_in_preset() -> str:
    """A voice of the model that Load Speech Model has chosen at first."""
    return next(manifest.voices[0] for manifest in engines.manifests().values() if manifest.built_in)


def _voice_output() -> io.Output:
    return VoiceSocket.Output(display_name="voice", tooltip="For Speak or Talker with the same model.")


def _cloned(model: Model, reference: Audio, words: str, name: str = "") -> tuple[VoicePrompt, RunReport]:
    with request(model, "voice prompt") as ctx:
        return clone_voice(model.engine, reference, words or None, name, ctx), ctx.report


class VoicePromptNode(io.ComfyNode):
    """Phase voice prompt."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, audio, transcript, mode -> MIZUOTO_VOICE, report."""
        return schema(
            "MizuotoVoicePrompt",
            "Voice Prompt",
            description="Makes a voice from a recording of a speaker.",
            search_aliases=("clone", "voice cloning", "reference"),
            inputs=[
                model_input(),
                io.Audio.Input("audio", tooltip="5 to 15 seconds of one speaker, clean and without music."),
                io.String.Input(
                    "transcript",
                    default="",
                    multiline=True,
                    dynamic_prompts=False,
                    optional=True,
                    tooltip="Every word of the recording, not of the text to say. It makes the voice closer.",
                ),
                io.Combo.Input(
                    "mode",
                    options=[_AUTO, _WORDS, _TIMBRE],
                    default=_AUTO,
                    optional=True,
                    tooltip=f"{_WORDS}: speech goes on from the recording. {_TIMBRE}: only how the voice sounds. "
                    f"{_AUTO}: with the transcript if there is one.",
                ),
            ],
            outputs=[_voice_output(), report_output()],
        )

    @classmethod
    def execute(cls, model: Model, audio: Any, transcript: str = "", mode: str = _AUTO) -> io.NodeOutput:
        """Make the voice."""
        check_sockets(model=model, audio=audio)
        words = transcript.strip()
        if mode == _WORDS and not words:
            raise InvalidRequest(
                f'The mode "{_WORDS}" needs the words of the recording; write them into "transcript", '
                f'or choose "{_TIMBRE}".'
            )
        reference = from_comfy(audio, "audio", MAX_RECORDING_S)
        voice, report = _cloned(model, reference, "" if mode == _TIMBRE else words)
        return with_report(voice, report, mizuoto_sound=[{"text": words, **sound_for_page(reference)}])


class PresetVoice(io.ComfyNode):
    """One of the voices that a model brings along."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, name -> MIZUOTO_VOICE."""
        return schema(
            "MizuotoPresetVoice",
            "Preset Voice",
            description="Chooses one of the voices that the model brings along.",
            inputs=[
                model_input(),
                io.Combo.Input(
                    "name",
                    options=_preset_names(),
                    default=_built_in_preset(),
                    tooltip="A voice of the connected model.",
                ),
            ],
            outputs=[_voice_output()],
        )

    @classmethod
    def validate_inputs(cls, name: str = "") -> bool:
        """Accept any saved name; `execute` knows the model and says which voices it has."""
        return True

    @classmethod
    def execute(cls, model: Model, name: str) -> io.NodeOutput:
        """Choose the voice."""
        check_sockets(model=model)
        return io.NodeOutput(preset_voice(model.engine.manifest, str(name)))


class DesignVoice(io.ComfyNode):
    """A voice from words about it."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, description -> MIZUOTO_VOICE."""
        return schema(
            "MizuotoDesignVoice",
            "Design Voice",
            description="Invents a voice from a description of it.",
            search_aliases=("voice design",),
            inputs=[
                model_input(),
                io.String.Input(
                    "description",
                    multiline=True,
                    dynamic_prompts=False,
                    default="A calm, warm voice of an elderly woman, speaking slowly.",
                    tooltip="Age, gender, timbre, pace, mood: whatever makes the voice.",
                ),
            ],
            outputs=[_voice_output()],
        )

    @classmethod
    def execute(cls, model: Model, description: str) -> io.NodeOutput:
        """Design the voice."""
        check_sockets(model=model)
        with request(model, "design voice") as ctx:
            return io.NodeOutput(design_voice(model.engine, description, ctx))


class SaveVoice(io.ComfyNode):
    """A voice into the library."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Voice, name -> MIZUOTO_VOICE."""
        return schema(
            "MizuotoSaveVoice",
            "Save Voice",
            description="Saves a voice in models/voices, for Load Voice. A name that is taken gets a number.",
            inputs=[
                VoiceSocket.Input("voice", tooltip="From a voice node."),
                io.String.Input("name", default="my voice", dynamic_prompts=False, tooltip="Name of the file."),
            ],
            outputs=[
                _voice_output(),
                io.String.Output(display_name="name", tooltip="The name that it got; for Preview as Text."),
            ],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, voice: VoicePrompt, name: str) -> io.NodeOutput:
        """Save the voice."""
        check_sockets(voice=voice)
        if voice is None:
            raise InvalidRequest('Input "voice" is not connected; connect a voice node.')
        saved = voices.save_voice(voice, name.strip())
        return io.NodeOutput(voice, saved, ui={"text": [f"Saved as {saved}"]})


class LoadVoice(io.ComfyNode):
    """A voice out of the library: a saved one, or one made from a recording, as Voice Prompt would."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Name, model -> MIZUOTO_VOICE, audio, transcript."""
        return schema(
            "MizuotoLoadVoice",
            "Load Voice",
            description="Loads a voice from models/voices: one that Save Voice wrote, or a recording of a speaker.",
            search_aliases=("clone", "voice library", "reference"),
            inputs=[
                io.Combo.Input(
                    "name",
                    options=list(voices.voice_files()) or [_NONE_YET],
                    tooltip="A file in models/voices. New ones show up after a refresh (R).",
                ),
                ModelSocket.Input(
                    "model",
                    optional=True,
                    tooltip="The model that will speak. Only recordings need it, to become a voice.",
                ),
            ],
            outputs=[
                _voice_output(),
                io.Audio.Output(display_name="audio", tooltip="The recording; a saved voice has none."),
                io.String.Output(
                    display_name="transcript",
                    tooltip="The words of the recording, from the .txt file beside it. Empty if unknown.",
                ),
            ],
            hidden=[io.Hidden.prompt, io.Hidden.unique_id],
        )

    @classmethod
    def validate_inputs(cls, name: str = "") -> bool | str:
        """Accept voices that were saved after the list was made; name those that are not there."""
        return verdict(voices.find_voice, str(name) if name else None)

    @classmethod
    def fingerprint_inputs(cls, name: str = "", model: object = None) -> str:
        """Load again when the file, or that with its words, was replaced."""
        return voices.fingerprint(str(name))

    @classmethod
    def execute(cls, name: str, model: Model | None = None) -> io.NodeOutput:
        """Load the voice, or make it from the recording."""
        if model is not None:
            check_sockets(model=model)
        file = voices.find_voice(str(name))
        found = cls._from_recording(file, model) if file.is_recording else cls._saved(file, model)
        found.ui = {**(found.ui or {}), "mizuoto_voice": [str(name)]}
        return found

    @classmethod
    def _saved(cls, file: voices.LibraryFile, model: Model | None) -> io.NodeOutput:
        voice = VoicePrompt.load(file.path)
        if model is not None:
            require_engine(voice, model.engine.manifest.id)
        sentence = f'"{file.path.name}" is a saved voice, which holds no sound; choose a recording for "audio".'
        return io.NodeOutput(voice, withheld(sentence, 1, cls.hidden), voice.facts.get("transcript", ""))

    @classmethod
    def _from_recording(cls, file: voices.LibraryFile, model: Model | None) -> io.NodeOutput:
        words = file.transcript()
        longest = MAX_SECONDS if model is None else model.engine.manifest.reference_seconds[1]
        recording = read_recording(file.path, longest)
        if model is None:
            sentence = f'"{file.path.name}" is a recording, and only a model makes a voice of it; connect "model".'
            return io.NodeOutput(withheld(sentence, 0, cls.hidden), to_comfy(recording), words)
        voice, report = _cloned(model, recording, words, file.path.stem)
        return io.NodeOutput(voice, to_comfy(recording), words, ui={"mizuoto_report": [report.to_json()]})
