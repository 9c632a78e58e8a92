"""Talker: text to codes, one text or a list of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..engines import speech
from ..engines.artifacts import Codes, VoicePrompt
from ..engines.base import Options
from ..engines.reading import AUTO
from ..engines.script import batch_size
from ..mizuoto_runtime.errors import EngineError, InvalidRequest, MizuotoError
from ..mizuoto_runtime.runtime import Model
from .host.api import CodesSocket, io, schema
from .host.session import request
from .host.settings import fingerprint_of_defaults, options_for
from .host.withheld import blocked
from .inputs import check_sockets, check_words, report_output, speech_inputs

_log = logging.getLogger("mizuoto.nodes")


class Talker(io.ComfyNode):
    """Phase talker; takes lists, so that an engine can work on several texts at once."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options, normalise -> MIZUOTO_CODES, report."""
        return schema(
            "MizuotoTalker",
            "Talker",
            description="Turns text into codes, which a Codec Decoder turns into sound. A list of texts gives a list.",
            search_aliases=("tts", "text to speech"),
            inputs=speech_inputs(),
            outputs=[
                CodesSocket.Output(
                    display_name="codes", tooltip="For a Codec Decoder with the same model.", is_output_list=True
                ),
                report_output(is_list=True),
            ],
            is_input_list=True,
        )

    @classmethod
    def validate_inputs(cls, text: list[str | None] | None = None) -> bool | str:
        """Refuse typed texts without words before anything loads; linked texts are checked when they arrive."""
        return next((told for told in map(check_words, text or []) if told is not True), True)

    @classmethod
    def fingerprint_inputs(cls, **inputs: object) -> str:
        """Talk again when the user wants other options by default."""
        return fingerprint_of_defaults(inputs, ("tts",))

    @classmethod
    def execute(
        cls,
        model: list[Model],
        text: list[str],
        seed: list[int] | None = None,
        voice: list[VoicePrompt | None] | None = None,
        options: list[Options | None] | None = None,
        normalise: list[str] | None = None,
    ) -> io.NodeOutput:
        """Talk; of several texts, one that cannot be said stops only what comes after it in the graph."""
        lines = _lines(model, text, seed or [0], voice or [None], options or [None], normalise or [AUTO])
        results = _in_order(lines, [(batch, _talk(batch)) for batch in _batches(lines)])
        errors = [result for result in results if isinstance(result, MizuotoError)]
        if len(errors) == len(results):
            raise errors[0]
        for error in errors:
            _log.warning("%s", error)
        codes = [blocked(str(each)) if isinstance(each, MizuotoError) else each[0] for each in results]
        reports = [_failure(each) if isinstance(each, MizuotoError) else each[1] for each in results]
        return io.NodeOutput(codes, reports, ui={"mizuoto_report": reports})


class _Line(NamedTuple):
    """What the Talker node is asked once."""

    model: Model
    voice: VoicePrompt | None
    options: Options | None
    normalise: str
    text: str
    seed: int
    place: str  # in the list, for messages; "" where there is only one


Result = tuple[Codes, str] | MizuotoError
"""Codes and report of a text, or why there are none."""


def _lines(
    models: list[Model],
    texts: list[str],
    seeds: list[int],
    voices: list[VoicePrompt | None],
    options: list[Options | None],
    normalise: list[str],
) -> list[_Line]:
    """Lists in step, the last entry of shorter ones repeated, as ComfyUI does it for other nodes."""
    columns: tuple[Sequence[Any], ...] = (models, voices, options, normalise, texts, seeds)
    if not all(columns):
        raise InvalidRequest("An input list is empty, so there is nothing to say; connect at least one text.")
    count = max(map(len, columns))
    places = [f"Text {row + 1} of {count}: " if count > 1 else "" for row in range(count)]
    rows = ([column[min(row, len(column) - 1)] for column in columns] for row in range(count))
    lines = [_Line(*values, place) for values, place in zip(rows, places, strict=True)]
    for line in lines:
        check_sockets(model=line.model, voice=line.voice, options=line.options)
    return lines


def _batches(lines: list[_Line]) -> Iterator[list[_Line]]:
    """What goes into one request: lines alike in everything but text and seed, if the options ask for it."""
    alike: dict[tuple[object, ...], list[_Line]] = {}
    for line in lines:
        alike.setdefault((*map(id, line[:3]), line.normalise), []).append(line)
    for group in alike.values():
        yield from [group] if _batch_size(group[0]) > 1 else ([line] for line in group)


def _in_order(lines: list[_Line], talked: list[tuple[list[_Line], list[Result]]]) -> list[Result]:
    """The result of every line."""
    found = {id(line): result for batch, results in talked for line, result in zip(batch, results, strict=True)}
    return [found[id(line)] for line in lines]


def _batch_size(line: _Line) -> int:
    manifest = line.model.engine.manifest
    return batch_size(manifest, manifest.resolve(options_for(line.model, line.options)))


def _talk(batch: list[_Line]) -> list[Result]:
    """A result for each line, in order; where a batch fails its lines are said one by one."""
    first = batch[0]
    try:
        with request(first.model, "talk", first.seed) as ctx:
            texts = [(line.text, line.seed) for line in batch]
            options = options_for(first.model, first.options)
            codes = speech.talk_list(first.model.engine, texts, first.voice, options, ctx, first.normalise)
        return [(each, ctx.report.to_json()) for each in codes]
    except (InvalidRequest, EngineError) as error:  # what is no fault of the text ends the node
        if len(batch) == 1:
            return [_placed(error, first.place)]
    return [result for line in batch for result in _talk([line])]


def _failure(error: MizuotoError) -> str:
    """What stands in the place of the report of a text that was not said."""
    return json.dumps({"error": error.code, "message": str(error)}, ensure_ascii=False)


def _placed(error: MizuotoError, place: str) -> MizuotoError:
    """The same error with the place of its text in the list."""
    error.args = (f"{place}{error}", *error.args[1:])
    return error
