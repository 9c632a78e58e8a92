"""One options node an engine, built from what the engine declares: a new engine needs no node code."""

from __future__ import annotations

from ..engines.base import Manifest, Options, OptionValue
from .host.api import OptionsSocket, io, schema
from .inputs import option_input


def options_node(manifest: Manifest) -> type[io.ComfyNode]:
    """The node class `Mizuoto<Engine>Options` for the engine of `manifest`."""
    users = "Transcribe" if "asr" in manifest.tasks else "Speak or Talker"
    stem = "".join(part.capitalize() for part in manifest.id.split("_"))

    class EngineOptions(io.ComfyNode):
        """The options of one engine."""

        @classmethod
        def define_schema(cls) -> io.Schema:
            """The engine's options -> MIZUOTO_OPTIONS."""
            return schema(
                f"Mizuoto{stem}Options",
                f"{manifest.name} Options",
                description=f"Options of {manifest.name}. Connect them to {users}.",
                inputs=[option_input(option) for option in manifest.options],
                outputs=[OptionsSocket.Output(display_name="options", tooltip=f"For {users}.")],
            )

        @classmethod
        def execute(cls, **values: OptionValue) -> io.NodeOutput:
            """Check and bundle the values."""
            options = Options(manifest.id, values)
            manifest.resolve(options)
            return io.NodeOutput(options)

    EngineOptions.__name__ = EngineOptions.__qualname__ = f"{stem}Options"
    return EngineOptions
