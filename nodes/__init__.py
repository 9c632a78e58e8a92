"""The ComfyUI face: the node list. Only `nodes.host` knows ComfyUI itself."""

from __future__ import annotations

from .. import engines
from .decode import CodecDecoder
from .doctor import Doctor
from .host.api import ComfyExtension, io
from .host.doctor_routes import register_doctor_routes
from .host.download_routes import register_download_routes
from .host.folders import register_folders
from .host.routes import register_routes
from .host.settings_routes import register_settings_routes
from .host.voice_routes import register_voice_routes
from .host.voices import register_voices
from .listen import SaveTranscript, Transcribe, TranscriptText
from .load import LoadModel
from .memory import Release, RuntimeMemory
from .options import options_node
from .prepare import PrepareVoice
from .script import SpeakScript, VoiceBankNode
from .speak import Speak
from .subtitles import SpeakSubtitles
from .talk import Talker
from .text import PlanText
from .voice import DesignVoice, LoadVoice, PresetVoice, SaveVoice, VoicePromptNode

NODES: list[type[io.ComfyNode]] = [
    LoadModel, PrepareVoice, VoicePromptNode, PresetVoice, DesignVoice, SaveVoice, LoadVoice,
    VoiceBankNode, Talker, CodecDecoder, Speak, SpeakScript, SpeakSubtitles, PlanText,
    Transcribe, TranscriptText, SaveTranscript, RuntimeMemory, Release, Doctor,
]  # fmt: skip


class MizuotoExtension(ComfyExtension):
    """The pack as ComfyUI loads it."""

    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        """The fixed nodes and one options node for every engine that has options."""
        with_options = [manifest for manifest in engines.manifests().values() if manifest.options]
        return [*NODES, *(options_node(manifest) for manifest in with_options)]


async def comfy_entrypoint() -> MizuotoExtension:
    """Called by ComfyUI once when it loads the pack."""
    register_folders()
    register_voices()
    register_routes()
    register_doctor_routes()
    register_settings_routes()
    register_voice_routes()
    register_download_routes()
    return MizuotoExtension()
