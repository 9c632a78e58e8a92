"""What this machine can run and what is in the way: Speech Doctor."""

from __future__ import annotations

import json
import time
from typing import Any

from ..mizuoto_runtime.doctor import outline, render
from .host.api import io, schema
from .host.doctor import report


class Doctor(io.ComfyNode):
    """The doctor's report on this ComfyUI."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """After, self test -> text, JSON."""
        return schema(
            "MizuotoDoctor",
            "Speech Doctor",
            ("diagnose", "troubleshoot", "system info"),
            description="Examines this machine for speech: graphics cards, torch, attention packages, settings, "
            "ComfyUI's start options and every engine, with the command that mends what is wrong. "
            "It loads no model and changes nothing.",
            is_output_node=True,
            inputs=[
                io.Boolean.Input(
                    "self_test",
                    default=True,
                    tooltip="Also try in a second process what torch sees and what installed attention packages "
                    "compute; takes some seconds on a machine with a GPU.",
                ),
                io.AnyType.Input(
                    "after", optional=True, tooltip="Anything: the node runs after whatever is connected here."
                ),
            ],
            outputs=[
                io.String.Output(display_name="text", tooltip="The report for reading."),
                io.String.Output(display_name="json", tooltip="The same as JSON."),
            ],
        )

    @classmethod
    def fingerprint_inputs(cls, **_: Any) -> float:
        """Never cached: the machine changes without any input changing."""
        return time.time()

    @classmethod
    def execute(cls, self_test: bool, after: Any = None) -> io.NodeOutput:
        """Examine."""
        found = report(self_test=self_test)
        text = render(found)
        return io.NodeOutput(text, json.dumps(found, indent=2), ui={"text": [text], "mizuoto_doctor": [outline(found)]})
