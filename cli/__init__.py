"""The commands of `python -m mizuoto`: a module each, with `add` for its arguments; like nodes, but without ComfyUI."""

from __future__ import annotations

from . import batch, doctor, runtime, speak, transcribe

COMMANDS = (speak, transcribe, batch, runtime, doctor)  # in the order of the help text
