"""Outputs that a node cannot give this time, though it can give the others."""

from __future__ import annotations

from typing import Any

from comfy_execution.graph_utils import ExecutionBlocker

from ...mizuoto_runtime.errors import InvalidRequest


def blocked(sentence: str) -> Any:
    """What goes into the place of one item of a list: it stops what takes this item, and nothing else."""
    return ExecutionBlocker(sentence)


def withheld(sentence: str, output: int, hidden: Any) -> Any:
    """What goes into the place of such an output: it stops whoever takes it with `sentence`.

    Args:
        sentence: Why there is no such value, and what to change.
        output: The output's number.
        hidden: The node's hidden inputs `prompt` and `unique_id`.

    Raises:
        InvalidRequest: Another node of the prompt takes the output.
    """
    # A block alone is told to the page that queued the prompt, and to no history. It is for outputs that are connected
    # later, when this node's outputs come out of the cache.
    link = [hidden.unique_id, output]
    if any(link in node["inputs"].values() for node in (hidden.prompt or {}).values()):
        raise InvalidRequest(sentence)
    return blocked(sentence)
