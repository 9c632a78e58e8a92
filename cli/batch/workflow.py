"""The workflow of a batch, in ComfyUI's API form, and where the values of a line go in it."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest, did_you_mean
from .items import Line, parse_json, refuse

DEFAULT = Path(__file__).resolve().parents[2] / "workflows" / "api" / "speak.json"
_SPEAKING = ("MizuotoSpeak", "MizuotoTalker")
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Prompt = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Target:
    """An input of a node that takes the values of a column."""

    column: str
    node: str
    input: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of ComfyUI for one line.

    Attributes:
        line: Where it comes from.
        prompt: The workflow with the values of the line in it.
        seed: What the node that speaks draws from, if it is known.
        digest: Changes when anything in `prompt` does.
    """

    line: Line
    prompt: Prompt
    seed: int | None
    digest: str


class Workflow:
    """Nodes by id. Use `load`; what it gives is sound."""

    def __init__(self, nodes: Prompt, name: str) -> None:
        self.nodes = nodes
        self._name = name

    @classmethod
    def load(cls, path: Path) -> Workflow:
        """The workflow in a file.

        Raises:
            InvalidRequest: It holds something else.
            OSError: It cannot be read.
        """
        try:
            nodes = parse_json(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f'"{path}" is no JSON ({error}); --workflow takes a workflow in API form.') from None
        if isinstance(nodes, dict) and "nodes" in nodes and "links" in nodes:
            raise InvalidRequest(f'"{path}" is a workflow for the canvas: save it with "Export (API)" instead.')
        if not isinstance(nodes, dict) or not nodes or not all(map(_is_node, nodes.values())):
            raise InvalidRequest(f'"{path}" is no workflow in API form, {{"1": {{"class_type": ..., "inputs": ...}}}}.')
        return cls(nodes, str(path))

    def targets(self, columns: Iterable[str], mapping: Sequence[str] = ()) -> list[Target]:
        """Where each column goes: as `mapping` says ("column=node.input"), `text` and `seed` to the node that speaks.

        Columns that go nowhere are left out.

        Raises:
            InvalidRequest: A mapping is wrong, or it is not clear which node speaks.
        """
        columns = list(columns)
        targets = [self._parse(text, columns) for text in mapping]
        mapped = {target.column for target in targets}
        if "text" not in mapped:
            targets.append(self._target("text", self._speaker(), "text"))
        if "seed" in columns and "seed" not in mapped:
            speakers = {target.node for target in targets if target.column == "text"}
            if len(speakers) > 1:
                raise InvalidRequest(
                    f'"text" goes to the nodes {", ".join(sorted(speakers))}: say which one takes the seeds, as in '
                    f"--map seed={min(speakers)}.seed."
                )
            targets.append(self._target("seed", speakers.pop(), "seed"))
        return targets

    def requests(self, path: Path, lines: Iterable[Line], targets: Sequence[Target]) -> list[Request]:
        """A request a line; `path` is where the lines came from.

        Raises:
            InvalidRequest: Values do not fit their inputs; names every such line.
        """
        made, problems = [], []
        for line in lines:
            try:
                made.append(self._request(line, targets))
            except ValueError as error:
                problems.append((line.number, str(error)))
        refuse(path, problems)
        return made

    def _request(self, line: Line, targets: Sequence[Target]) -> Request:
        prompt = copy.deepcopy(self.nodes)
        for target in targets:
            inputs = prompt[target.node]["inputs"]
            if target.column in line.values:
                inputs[target.input] = _fitting(line.values[target.column], inputs[target.input], target)
        speaker = next(target.node for target in targets if target.column == "text")
        seed = prompt[speaker]["inputs"].get("seed")
        text = json.dumps(prompt, allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Request(line, prompt, seed if isinstance(seed, int) else None, digest)

    def _speaker(self) -> str:
        found = [
            name
            for name, node in self.nodes.items()
            if node["class_type"] in _SPEAKING and not isinstance(node["inputs"].get("text", []), list)
        ]
        if len(found) == 1:
            return found[0]
        told = ", ".join(f"{name} ({self.nodes[name]['class_type']})" for name in found)
        told = told or "no Speak or Talker node has a text of its own"
        raise InvalidRequest(
            f'Which node of "{self._name}" speaks is not clear: {told}; '
            "say where the texts go, as in --map text=2.text."
        )

    def _parse(self, text: str, columns: Sequence[str]) -> Target:
        column, _, place = text.partition("=")
        node, _, name = place.rpartition(".")
        if not (column and node and name):
            raise InvalidRequest(f'"--map {text}" must read column=node.input, such as seed=2.seed.')
        if column not in columns:
            raise InvalidRequest(
                f'"--map {text}": the lines have no column "{column}", but {", ".join(columns)}.'
                + did_you_mean(column, columns)
            )
        return self._target(column, self._find(node, text), name)

    def _find(self, name: str, mapping: str) -> str:
        if name in self.nodes:
            return name
        kinds = {key: (node["class_type"], _title(node)) for key, node in self.nodes.items()}
        found = [key for key, names in kinds.items() if name in names]
        if len(found) == 1:
            return found[0]
        if found:
            raise InvalidRequest(f'"--map {mapping}": the nodes {", ".join(found)} are all called "{name}"; use an id.')
        there = ", ".join(f"{key} ({kind})" for key, (kind, _) in kinds.items())
        known = [known for names in kinds.values() for known in names if known]
        raise InvalidRequest(
            f'"--map {mapping}": the workflow has no node "{name}", but {there}.{did_you_mean(name, known)}'
        )

    def _target(self, column: str, node: str, name: str) -> Target:
        inputs = self.nodes[node]["inputs"]
        told = f'node {node} ({self.nodes[node]["class_type"]}) of "{self._name}"'
        if name not in inputs:
            raise InvalidRequest(
                f'The column "{column}" goes to the input "{name}" of {told}, which has no such input, but '
                f"{', '.join(inputs) or 'none'}.{did_you_mean(name, inputs)}"
            )
        if isinstance(inputs[name], (list, dict)):
            raise InvalidRequest(
                f'The column "{column}" cannot go to the input "{name}" of {told}: it comes from another node; map the '
                "column to an input of that one."
            )
        return Target(column, node, name)


def _is_node(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("class_type"), str) and isinstance(node.get("inputs"), dict)


def _title(node: dict[str, Any]) -> str:
    meta = node.get("_meta")
    return str(meta.get("title", "")) if isinstance(meta, dict) else ""


def _fitting(value: Any, before: Any, target: Target) -> Any:
    """`value` in the kind of what the workflow has in its place; the host would silently cut a seed of 1.5 to 1."""
    told = f'"{target.column}" is {json.dumps(value, ensure_ascii=False)[:60]} and must be '
    if isinstance(before, bool):
        word = _WORDS.get(str(value).strip().lower())
        if word is None:
            raise ValueError(f"{told}true or false")
        return word
    if isinstance(before, (int, float)):
        number = _number(value)
        if number is None:
            raise ValueError(f"{told}a number")
        if target.input.endswith("seed") and (isinstance(number, float) or number < 0):
            raise ValueError(f"{told}a whole number from 0")
        return number
    if isinstance(value, (dict, list, bool)) or (target.column == "text" and not isinstance(value, str)):
        raise ValueError(f"{told}a string")
    return value if isinstance(value, str) else str(value)


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return int(value) if not isinstance(value, float) else _whole(value)
    except ValueError:
        pass
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return _whole(number) if math.isfinite(number) else None


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number
