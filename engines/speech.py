"""The chain that every speaking node runs: text -> plan -> codes -> audio."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.text.marks import Part, Speech, read_marks
from ..mizuoto_runtime.text.plan import Plan, plan
from ..mizuoto_runtime.text.split import is_speakable
from .artifacts import Codes, Segment, VoicePrompt, require_engine
from .base import LoadedEngine, Manifest, Options, require_task
from .finished import FinishedSegments, SegmentCache, Sound, Sounds
from .reading import AUTO, reader
from .recording import Recording, Take, decoded
from .script import Cast, Group, Item, Script, Share, Utterance

_NAME_IN_BRACKETS = re.compile(r"\s*\[([^\W\d_a-z][\w .'’-]{0,40})\]")
MAX_TEXT_CHARS = 250_000  # some five hours of speech, and 1.7 GB of samples


def check_text(text: str) -> str:
    """`text` if there is something to say in it and it is not absurdly long.

    Raises:
        InvalidRequest: Empty, without a letter or digit, or too long for one recording.
    """
    if not has_words(read_marks(text, {})):
        shown = f'"{text.strip()[:40]}" has no letter or digit' if text.strip() else "The text is empty"
        raise InvalidRequest(f"{shown}, so there is nothing to say; type a text with words.")
    return check_length(text)


def has_words(parts: Iterable[Part]) -> bool:
    """Whether anything of a text whose marks have been read can be said."""
    return any(isinstance(part, Speech) and is_speakable(part.text) for part in parts)


def check_length(text: str) -> str:
    """`text` if it is not absurdly long.

    Raises:
        InvalidRequest: It is too long for one recording.
    """
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidRequest(
            f"The text has {len(text):,} characters; the limit is {MAX_TEXT_CHARS:,}: split it over several runs."
        )
    return text


def plan_text(text: str, manifest: Manifest, reading: str = AUTO, language: str = "") -> Plan:
    """What the engine is asked to say for `text`, and the pauses in between.

    Args:
        text: With marks.
        manifest: Of the engine.
        reading: One of `READINGS`.
        language: Of the text where no mark says another; "" to guess.
    """
    return plan_parts(list(read_marks(text, {})), manifest, reading, language)


def plan_parts(
    parts: Sequence[Part], manifest: Manifest, reading: str = AUTO, language: str = "", max_size: int = 0
) -> Plan:
    """The same for a text or a script whose marks have been read; `max_size` may be less than the engine's limit."""
    limit = min(max_size or manifest.max_text_size, manifest.max_text_size)
    return plan(parts, limit, manifest.measure_text, reader(manifest, reading, language))


def _language_of(manifest: Manifest, options: Options | None) -> str:
    """The language that the options ask for, where the engine has such an option."""
    return str(manifest.resolve(options).get("language", ""))


def talk(
    engine: LoadedEngine,
    text: str,
    voice: VoicePrompt | None,
    options: Options | None,
    ctx: RequestContext,
    reading: str = AUTO,
) -> Codes:
    """Codes of a whole text, segment by segment.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
    """
    return talk_list(engine, [(text, ctx.seed)], voice, options, ctx, reading)[0]


def talk_list(
    engine: LoadedEngine,
    texts: Sequence[tuple[str, int]],
    voice: VoicePrompt | None,
    options: Options | None,
    ctx: RequestContext,
    reading: str = AUTO,
) -> list[Codes]:
    """Codes of several (text, seed) pairs in order; engines with a `batch_size` above 1 work on many segments at once.

    Raises:
        InvalidRequest: A text, the voice or the options do not fit the engine.
    """
    script = _script(engine, texts, voice, options, ctx, reading)
    ctx.progress(0.0, "talker")
    said: dict[int, Codes] = {}
    for group in script.groups():
        said.update(_spoken(script, group))
        ctx.progress(group.share.stop, "talker")
    script.require_said()
    ctx.progress(1.0, "talker")
    return _codes(script, len(texts), said)


def decode(engine: LoadedEngine, codes: Codes, ctx: RequestContext) -> Audio:
    """Audio of `codes`, which must come from the same engine; their seeds count, not the request's.

    Raises:
        Unsupported: The engine does not speak.
        InvalidRequest: They come from another one, or hold nothing.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    require_task(engine.manifest, "tts")
    require_engine(codes, engine.manifest.id)
    if all(segment.silence_s for segment in codes.segments):
        raise InvalidRequest("The codes hold no segment, so there is nothing to decode; connect a Talker.")
    ctx.report.seed = next(segment.seed for segment in codes.segments if not segment.silence_s)
    ctx.progress(0.0, "codec decoder")
    total = len(codes.segments)
    recording = Recording(engine, ctx, sum(not segment.silence_s for segment in codes.segments))
    for number, segment in enumerate(codes.segments):
        recording.add(replace(codes, segments=(segment,)), Share(number / total, (number + 1) / total))
    return recording.finish()[0]


def speak(
    engine: LoadedEngine,
    text: str,
    voice: VoicePrompt | None,
    options: Options | None,
    ctx: RequestContext,
    cache: SegmentCache | None = None,
    reading: str = AUTO,
) -> Audio:
    """Text to audio: the samples that `talk` and `decode` give one after the other, but each segment in one go.

    Args:
        engine: Who speaks.
        text: What is said.
        voice: Whose voice; None for the engine's own.
        options: Of the engine.
        ctx: The request.
        cache: Of this very engine; segments that it holds are not spoken again.
        reading: One of `READINGS`.

    Raises:
        InvalidRequest: The text, the voice or the options do not fit the engine.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    return _performed(_script(engine, [(text, ctx.seed)], voice, options, ctx, reading), cache)[0]


def perform(
    engine: LoadedEngine,
    parts: Sequence[Part],
    cast_of: Cast,
    options: Options | None,
    ctx: RequestContext,
    cache: SegmentCache | None = None,
    reading: str = AUTO,
) -> tuple[Audio, list[Take]]:
    """A script for several speakers to audio, and where in it each segment is.

    Raises:
        InvalidRequest: There is nothing to say, or a voice or the options do not fit the engine.
        EngineError: The decoder gave no audio, silence or non-finite samples.
    """
    found = plan_parts(parts, engine.manifest, reading, _language_of(engine.manifest, options))
    _report_brackets(parts, cast_of, ctx)
    if not found.lines:
        raise InvalidRequest("The script has no words, so there is nothing to say; write lines with words.")
    _report_unread(found, ctx)
    return _performed(Script(engine, [(found, ctx.seed)], cast_of, options, ctx), cache)


def _script(
    engine: LoadedEngine,
    texts: Sequence[tuple[str, int]],
    voice: VoicePrompt | None,
    options: Options | None,
    ctx: RequestContext,
    reading: str,
) -> Script:
    plans: list[tuple[Plan, int]] = []
    language = _language_of(engine.manifest, options)
    for number, (text, seed) in enumerate(texts):
        try:
            check_text(text)
        except InvalidRequest as error:
            raise _of_list(error, number, len(texts)) from None
        plans.append((plan_text(text, engine.manifest, reading, language), seed))
        _report_unread(plans[-1][0], ctx)
    return Script(engine, plans, Cast(voice), options, ctx)


def _report_brackets(parts: Sequence[Part], cast_of: Cast, ctx: RequestContext) -> None:
    """Tell of brackets that may be meant as speakers: at the beginning of a line, with a capital."""
    begins = (_NAME_IN_BRACKETS.match(part.text) for part in parts if isinstance(part, Speech))
    names = [found[1] for found in begins if found]
    if names and cast_of.voices:
        ctx.report.warn_of("unknown_name", "In brackets, and no name in the voice bank, so it is text:", names)


def _report_unread(found: Plan, ctx: RequestContext) -> None:
    if found.unread:
        ctx.report.warn_of("unread_mark", "Not followed and not read aloud:", found.unread)


def _of_list(error: InvalidRequest, index: int, total: int) -> InvalidRequest:
    """The same error with the place of its text, where there are several."""
    return error if total == 1 else InvalidRequest(f"Text {index + 1} of {total}: {error}")


def _spoken(script: Script, group: Group) -> dict[int, Codes]:
    """Number of an utterance -> its codes; empty if the engine cannot say the group."""
    parts = script.talk(group) or []
    return {
        utterance.number: replace(codes, segments=tuple(map(utterance.signed, codes.segments)))
        for utterance, codes in zip(group.utterances, parts, strict=False)
    }


def _codes(script: Script, count: int, said: dict[int, Codes]) -> list[Codes]:
    """The codes of each text, with its pauses."""
    segments: list[list[Segment]] = [[] for _ in range(count)]
    for item in script.items:
        if isinstance(item, Utterance):
            segments[item.text_number] += said[item.number].segments if item.number in said else ()
        else:
            segments[item[0]].append(Segment("", 0, {}, silence_s=item[1].seconds))
    any_codes = next(iter(said.values()))
    return [replace(any_codes, segments=tuple(of)) for of in segments]


def _performed(script: Script, cache: SegmentCache | None) -> tuple[Audio, list[Take]]:
    """Every group said and decoded before the next, unless it is finished already."""
    ctx = script.ctx
    ctx.progress(0.0, "talker")
    recording = Recording(script.engine, ctx, len(script.utterances))
    finished = FinishedSegments(cache)
    items, ready = deque(script.items), dict[int, Iterable[Sound]]()
    for group in script.groups():
        sounds = finished.find(group)
        if sounds is None:
            sounds = _sounds(script, group)
            finished.keep(group, sounds)
        else:
            script.note_said(group)
        ready |= {utterance.number: sounds.get(place, ()) for place, utterance in enumerate(group.utterances)}
        _record(items, ready, recording)
        ctx.progress(group.share.stop, f"{recording.seconds:.0f} s of speech")
    script.require_said()
    if finished.num_found:
        ctx.report.applied["cached_segments"] = finished.num_found
    return recording.finish()


def _sounds(script: Script, group: Group) -> Sounds:
    end = Share(group.share.stop, group.share.stop)
    said = _spoken(script, group)
    return {
        place: [
            (segment, decoded(script.engine, replace(codes, segments=(segment,)), script.ctx, end), codes.sample_rate)
            for segment in codes.segments
        ]
        for place, utterance in enumerate(group.utterances)
        if (codes := said.get(utterance.number)) is not None
    }


def _record(items: deque[Item], ready: dict[int, Iterable[Sound]], recording: Recording) -> None:
    """Record, in order, what stands first in `items` and is ready; it is taken off both."""
    while items:
        item = items[0]
        if not isinstance(item, Utterance):
            recording.add_pause(item[1].seconds)
        elif item.number in ready:
            for segment, waveform, sample_rate in ready.pop(item.number):
                recording.add_sound(segment, waveform, sample_rate)
        else:
            return
        items.popleft()
