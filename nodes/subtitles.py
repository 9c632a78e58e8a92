"""Speak Subtitles: speech at the times of an SRT or VTT file."""

from __future__ import annotations

from ..engines import speech, timeline, timing
from ..engines.artifacts import VoicePrompt
from ..engines.base import Options
from ..engines.cues import TimedText, read_subtitles
from ..engines.reading import AUTO
from ..engines.recording import Take
from ..engines.script import Cast, VoiceBank
from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.runtime import Model
from ..mizuoto_runtime.text.marks import Part
from ..mizuoto_runtime.text.script import read_line, speakers_of
from .host.api import io, schema
from .host.audio import to_comfy
from .host.preview import speech_ui
from .host.session import request
from .host.settings import fingerprint_of_defaults, options_for
from .inputs import (
    audio_output,
    bank_input,
    check_sockets,
    model_input,
    normalise_input,
    options_input,
    report_output,
    seed_input,
    timeline_outputs,
    verdict,
    voice_input,
)

_EXAMPLE = (
    "1\n00:00:00,500 --> 00:00:02,500\nThis is the first cue.\n\n2\n00:00:03,000 --> 00:00:05,000\nAnd the second."
)


class SpeakSubtitles(io.ComfyNode):
    """Subtitles to speech, in time."""

    @classmethod
    def define_schema(cls) -> io.Schema:
        """Model, subtitles, policy, speed_up, seed, voice, voices, options, normalise -> AUDIO, texts."""
        return schema(
            "MizuotoSpeakSubtitles",
            "Speak Subtitles",
            description="Speaks an SRT or VTT file, every cue at its time; the sound is as long as the file.",
            search_aliases=("srt", "vtt", "dubbing", "voice over"),
            inputs=[
                model_input(),
                io.String.Input(
                    "subtitles",
                    multiline=True,
                    dynamic_prompts=False,
                    default=_EXAMPLE,
                    tooltip="The text of an SRT or VTT file. Marks such as [pause:1s] work inside of cues.",
                ),
                io.Combo.Input(
                    "policy",
                    options=list(timing.POLICIES),
                    default=timing.SHIFT,
                    tooltip="For speech longer than its time. shift: the next cue waits. overlap: both sound. strict: "
                    "refuse, and name the cue.",
                ),
                io.Boolean.Input(
                    "speed_up",
                    default=True,
                    tooltip="Speak faster, up to twice, where a cue would be too long and the model can.",
                ),
                seed_input(),
                voice_input(),
                bank_input(),
                options_input(),
                normalise_input(),
            ],
            outputs=[audio_output(), *timeline_outputs(), report_output()],
        )

    @classmethod
    def validate_inputs(cls, subtitles: str | None = None) -> bool | str:
        """Name the line that is wrong before anything loads."""
        return verdict(read_subtitles, subtitles)

    @classmethod
    def fingerprint_inputs(cls, **inputs: object) -> str:
        """Speak again when the user wants other options by default."""
        return fingerprint_of_defaults(inputs, ("tts",))

    @classmethod
    def execute(
        cls,
        model: Model,
        subtitles: str,
        policy: str = timing.SHIFT,
        speed_up: bool = True,
        seed: int = 0,
        voice: VoicePrompt | None = None,
        voices: VoiceBank | None = None,
        options: Options | None = None,
        normalise: str = AUTO,
    ) -> io.NodeOutput:
        """Speak them."""
        check_sockets(model=model, voice=voice, voices=voices, options=options)
        fit, bank = timing.Fit(policy, speed_up), voices or VoiceBank()
        cast, script = Cast(voice, bank.voices), _script(subtitles, bank)
        with request(model, "speak subtitles", seed) as ctx:
            manifest, wanted = model.engine.manifest, options_for(model, options)

            def speak(cue: TimedText, cue_seed: int, speed: float) -> tuple[Audio, list[Take]]:
                chosen = timing.faster(wanted, manifest, speed)
                of_cue = _quiet(ctx, cue_seed)
                return speech.perform(model.engine, script[cue], cast, chosen, of_cue, model.cache, normalise)

            audio, takes = timing.speak_at(list(script), fit, speak, timing.speed_option(manifest), ctx)
            ctx.report.segments, ctx.report.audio_seconds = len(takes), round(audio.seconds, 4)
        report = ctx.report.to_json()
        texts = timeline.to_json(takes), timeline.to_subtitles(takes), report
        return io.NodeOutput(to_comfy(audio), *texts, ui={"mizuoto_report": [report], **speech_ui(ctx)})


def _script(subtitles: str, bank: VoiceBank) -> dict[TimedText, list[Part]]:
    """Every cue with what is said in it, read before the first is spoken."""
    speakers = speakers_of(bank.voices)
    script = {}
    for cue in read_subtitles(subtitles):
        try:
            script[cue] = read_line(cue.text, speakers)
        except InvalidRequest as error:
            raise InvalidRequest(f"Cue {cue.number}: {error}") from None
    spoken = {cue: parts for cue, parts in script.items() if speech.has_words(parts)}
    if not spoken:
        raise InvalidRequest("The subtitles have no words, so there is nothing to say; paste a file with text.")
    return spoken


def _quiet(ctx: RequestContext, seed: int) -> RequestContext:
    """`ctx` with another seed, for one of many cues: progress and segments are told cue by cue."""
    own = ctx.seeded(seed)
    own.progress, own.on_segment = lambda fraction, what: None, None
    return own
