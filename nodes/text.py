"""Plan Text: what would be said, without weights."""

from __future__ import annotations

from .. import engines
from ..engines import speech
from ..engines.reading import AUTO
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.text.marks import Pause, read_marks
from ..mizuoto_runtime.text.plan import Line, Plan
from ..mizuoto_runtime.text.script import read_script, speakers_of
from .host.api import io, schema
from .inputs import normalise_input, text_input


def _speaking_engines() -> list[str]:
    return [name for name, manifest in engines.manifests().items() if "tts" in manifest.tasks]


class PlanText(io.ComfyNode):
    """A text as an engine would get it."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Text, engine, speakers, max_size, normalise -> plan, lines, count."""
        return schema(
            "MizuotoPlanText",
            "Plan Text",
            description="Shows how a text is cut, what is read as a pause or a speaker, and how numbers are said. "
            "Needs no model.",
            search_aliases=("chunk", "split text", "preview"),
            inputs=[
                text_input(),
                io.Combo.Input(
                    "engine", options=_speaking_engines(), tooltip="Whose limits count; no model of it is needed."
                ),
                io.String.Input(
                    "speakers",
                    default="",
                    dynamic_prompts=False,
                    optional=True,
                    tooltip="Names in the voice bank, separated by commas. With names the text is read as a script.",
                ),
                io.Int.Input(
                    "max_size",
                    default=0,
                    min=0,
                    max=100_000,
                    optional=True,
                    tooltip="The longest line, in the engine's own measure; 0 is the engine's limit.",
                ),
                normalise_input(),
            ],
            outputs=[
                io.String.Output(display_name="plan", tooltip="The whole plan, to be read."),
                io.String.Output(display_name="lines", tooltip="What is said, line by line.", is_output_list=True),
                io.Int.Output(display_name="count", tooltip="Number of lines."),
            ],
            is_output_node=True,
        )

    @classmethod
    def execute(
        cls, text: str, engine: str, speakers: str = "", max_size: int = 0, normalise: str = AUTO
    ) -> io.NodeOutput:
        """Plan it."""
        manifest = engines.manifests().get(engine)
        if manifest is None or "tts" not in manifest.tasks:
            raise InvalidRequest(f'There is no speaking engine "{engine}"; there are {", ".join(_speaking_engines())}.')
        names = [name.strip() for name in speakers.split(",") if name.strip()]
        checked = speech.check_length(text)
        parts = read_script(checked, speakers_of(names)) if names else read_marks(checked, {})
        plan = speech.plan_parts(list(parts), manifest, normalise, max_size=max_size)
        shown = _shown(plan) or "Nothing to say."
        lines = [line.text for line in plan.lines]
        return io.NodeOutput(shown, lines, len(lines), ui={"text": [shown]})


def _shown(plan: Plan) -> str:
    """One line for each item."""
    numbers = iter(range(1, len(plan.items) + 1))
    shown = [
        f"    pause {item.seconds:g} s" if isinstance(item, Pause) else f"{next(numbers):3} {_line(item)}"
        for item in plan.items
    ]
    return "\n".join([*shown, *(f"Not followed and not read aloud: {mark}" for mark in plan.unread)])


def _line(line: Line) -> str:
    manner = line.manner
    facts = {"": manner.speaker, "language ": manner.language, "seed ": manner.seed, "speed ": manner.speed}
    told = ", ".join(f"{name}{value}" for name, value in facts.items() if value not in ("", None))
    return f"{told}: {line.text}" if told else line.text
