"""Load Model."""

from __future__ import annotations

from functools import cache

from .. import engines
from ..mizuoto_runtime.attention import CHOICES
from ..mizuoto_runtime.errors import MizuotoError
from .host import folders, session
from .host.api import ModelSocket, io, schema
from .inputs import verdict


@cache
def _licences() -> str:
    """Whose weights forbid commercial use."""
    names = [manifest.name for manifest in engines.manifests().values() if "-NC" in manifest.weights_license]
    return f" Weights that are not for commercial use: {', '.join(names)}." if names else ""


class LoadModel(io.ComfyNode):
    """A speech or recognition model from `models/tts`, the built-in voice, or an official one that is fetched first."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, device, dtype, attention -> MIZUOTO_MODEL."""
        return schema(
            "MizuotoLoadModel",
            "Load Speech Model",
            description="Loads a speech model. ComfyUI moves it on and off the card as it needs room.",
            search_aliases=("tts", "asr", "speech", "voice"),
            inputs=[
                io.Combo.Input(
                    "model",
                    options=folders.model_choices(),
                    tooltip="The built-in voice, or a folder in models/tts. New folders show up after a refresh (R). "
                    "A (download) is fetched from the Hugging Face hub into models/tts when the node runs."
                    + _licences(),
                ),
                io.Combo.Input(
                    "device",
                    options=list(session.device_choices()),
                    default="auto",
                    optional=True,
                    tooltip="Where it runs. auto: ComfyUI's own device.",
                ),
                io.Combo.Input(
                    "dtype",
                    options=["auto", "fp32", "bf16", "fp16"],
                    default="auto",
                    optional=True,
                    tooltip="Precision. auto: the model's own on a card, fp32 on the CPU.",
                ),
                io.Combo.Input(
                    "attention",
                    options=list(CHOICES),
                    default="auto",
                    optional=True,
                    tooltip="auto: the model's own computation, exact. Others may be faster and change the result "
                    "a little; what one cannot compute goes to the next, and the report says why.",
                ),
            ],
            outputs=[
                ModelSocket.Output(
                    display_name="model", tooltip="For Speak, Talker, Codec Decoder, Transcribe and the voice nodes."
                )
            ],
        )

    @classmethod
    def validate_inputs(cls, model: str = "", device: str = "auto") -> bool | str:
        """Accept any saved names, so that a workflow from another machine fails with a sentence, not with a list.

        The device is checked when the model loads.
        """
        return verdict(folders.find_model, model or None)

    @classmethod
    def fingerprint_inputs(
        cls, model: str = "", device: str = "auto", dtype: str = "auto", attention: str = "auto"
    ) -> str:
        """Load again when the model's files were replaced."""
        try:
            found = folders.find_model(model)
        except MizuotoError:
            return ""
        return folders.fingerprint(found.folder) if isinstance(found, folders.InstalledModel) else ""

    @classmethod
    def execute(cls, model: str, device: str = "auto", dtype: str = "auto", attention: str = "auto") -> io.NodeOutput:
        """Load the model, after fetching it if that was chosen."""
        return io.NodeOutput(session.load_model(model, device, dtype, attention))
