"""Talker: text to codes, one text or a list of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ..engines import speech
from ..engines.artifacts import Codes, VoicePrompt
from ..engines.base import Options
from ..engines.script import batch_size
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.runtime import Model
from .host.api import CodesSocket, io, schema
from .host.session import request
from .inputs import check_sockets, check_words, report_output, speech_inputs


class Talker(io.ComfyNode):
    """Phase talker; takes lists, so that an engine can work on several texts at once."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, text, seed, voice, options -> MIZUOTO_CODES, report."""
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
    def execute(
        cls,
        model: list[Model],
        text: list[str],
        seed: list[int] | None = None,
        voice: list[VoicePrompt | None] | None = None,
        options: list[Options | None] | None = None,
    ) -> io.NodeOutput:
        """Talk."""
        lines = _lines(model, text, seed or [0], voice or [None], options or [None])
        codes: list[Codes] = []
        reports: list[str] = []
        for batch in _batches(lines):
            with request(batch[0].model, "talk", batch[0].seed) as ctx:
                first = batch[0]
                texts = [(line.text, line.seed) for line in batch]
                codes += speech.talk_list(first.model.engine, texts, first.voice, first.options, ctx)
            reports += [ctx.report.to_json()] * len(batch)
        return io.NodeOutput(codes, reports, ui={"mizuoto_report": reports})


class _Line(NamedTuple):
    """What the Talker node is asked once."""

    model: Model
    voice: VoicePrompt | None
    options: Options | None
    text: str
    seed: int


def _lines(
    models: list[Model],
    texts: list[str],
    seeds: list[int],
    voices: list[VoicePrompt | None],
    options: list[Options | None],
) -> list[_Line]:
    """Lists in step, the last entry of shorter ones repeated, as ComfyUI does it for other nodes."""
    columns: tuple[Sequence[Any], ...] = (models, voices, options, texts, seeds)
    if not all(columns):
        raise InvalidRequest("An input list is empty, so there is nothing to say; connect at least one text.")
    count = max(map(len, columns))
    lines = [_Line(*(column[min(row, len(column) - 1)] for column in columns)) for row in range(count)]
    for line in lines:
        check_sockets(model=line.model, voice=line.voice, options=line.options)
    return lines


def _batches(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Neighbours that go into one request: those alike in everything but text and seed, if the options ask for it."""
    for _, alike in groupby(lines, key=lambda line: tuple(map(id, line[:3]))):
        group = list(alike)
        is_batched = _batch_size(group[0]) > 1
        yield from [group] if is_batched else ([line] for line in group)


def _batch_size(line: _Line) -> int:
    manifest = line.model.engine.manifest
    return batch_size(manifest, manifest.resolve(line.options))
