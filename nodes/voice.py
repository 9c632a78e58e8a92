"""Voices: Preset Voice."""

from __future__ import annotations

from functools import cache

from .. import engines
from ..engines.artifacts import VoicePrompt
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.runtime import Model
from .host.api import VoiceSocket, io, schema
from .inputs import check_sockets, model_input


@cache
def _preset_names() -> list[str]:
    return sorted({voice for manifest in engines.manifests().values() for voice in manifest.voices})


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
                io.Combo.Input("name", options=_preset_names(), tooltip="A voice of the connected model."),
            ],
            outputs=[VoiceSocket.Output(display_name="voice", tooltip="For Speak or Talker with the same model.")],
        )

    @classmethod
    def validate_inputs(cls, name: str = "") -> bool:
        """Accept any saved name; `execute` knows the model and says which voices it has."""
        return True

    @classmethod
    def execute(cls, model: Model, name: str) -> io.NodeOutput:
        """Choose the voice."""
        check_sockets(model=model)
        manifest = model.engine.manifest
        if name not in manifest.voices:
            remedy = f"choose one of: {', '.join(manifest.voices)}" if manifest.voices else "it brings none along"
            raise InvalidRequest(f'Model "{model.name}" has no voice "{name}"; {remedy}.')
        return io.NodeOutput(VoicePrompt(manifest.id, name))
