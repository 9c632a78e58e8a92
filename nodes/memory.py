"""What is loaded, and letting go of it: Runtime Memory, Release."""

from __future__ import annotations

import json
import time
from typing import Any

from .host.api import io, schema
from .host.session import runtime


class RuntimeMemory(io.ComfyNode):
    """A snapshot of the runtime."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """After -> JSON."""
        return schema(
            "MizuotoRuntimeMemory",
            "Speech Runtime Memory",
            description="Tells which speech models are loaded and where their weights are; read it in Preview as Text.",
            is_output_node=True,
            inputs=[
                io.AnyType.Input(
                    "after", optional=True, tooltip="Anything: the node runs after whatever is connected here."
                )
            ],
            outputs=[io.String.Output(display_name="memory", tooltip="JSON: models, components, devices, bytes.")],
        )

    @classmethod
    def fingerprint_inputs(cls, **_: Any) -> float:
        """Never cached: memory changes without any input changing."""
        return time.time()

    @classmethod
    def execute(cls, after: Any = None) -> io.NodeOutput:
        """Describe the runtime."""
        text = json.dumps(runtime().describe(), indent=2)
        return io.NodeOutput(text, ui={"text": [text]})


class Release(io.ComfyNode):
    """Frees the weights of speech models in the middle of a workflow."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """After -> after."""
        return schema(
            "MizuotoRelease",
            "Release Speech Models",
            description="Frees the memory of all speech models that are not at work, on the card and in RAM. "
            "They load again by themselves when they are next used. ComfyUI already makes room when it needs to: "
            "use this to hand memory to other programs.",
            is_output_node=True,
            inputs=[
                io.AnyType.Input(
                    "after", tooltip="Anything: the node runs after whatever is connected here, and passes it on."
                )
            ],
            outputs=[
                io.AnyType.Output(display_name="passed", tooltip="What came in, unchanged."),
                io.String.Output(display_name="freed", tooltip="How much was freed; for Preview as Text."),
            ],
        )

    @classmethod
    def fingerprint_inputs(cls, **_: Any) -> float:
        """Never cached: releasing is the point."""
        return time.time()

    @classmethod
    def execute(cls, after: Any) -> io.NodeOutput:
        """Release and pass on."""
        told = f"{runtime().release() / 1e6:.0f} MB released"
        return io.NodeOutput(after, told, ui={"text": [told]})
