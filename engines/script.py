"""A checked request to say something: who says what, with which options and seeds, and what is said at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import cast

import torch

from ..mizuoto_runtime.context import MAX_SEED, RequestContext
from ..mizuoto_runtime.errors import InvalidRequest, NothingToSay
from ..mizuoto_runtime.text.languages import language_name
from ..mizuoto_runtime.text.marks import Manner, Pause
from ..mizuoto_runtime.text.plan import Line, Plan
from .artifacts import Codes, Segment, VoicePrompt, require_engine
from .base import (
    KEEP_VOICE,
    CanKeepVoice,
    CanTalk,
    CanTalkInBatches,
    LoadedEngine,
    Manifest,
    Options,
    OptionValue,
    require_task,
)

_LOOK_AHEAD = 4  # batches: how far apart utterances may be that are said at once


@dataclass(frozen=True, slots=True)
class VoiceBank:
    """Named voices; what MIZUOTO_VOICES carries.

    Attributes:
        voices: Name -> voice.
    """

    voices: Mapping[str, VoicePrompt] = field(default_factory=dict)

    def adding(self, name: str, voice: VoicePrompt) -> VoiceBank:
        """A bank with one voice more.

        Raises:
            InvalidRequest: The name is taken, however it is capitalised.
        """
        if name.casefold() in map(str.casefold, self.voices):
            raise InvalidRequest(f'The voice bank has a voice "{name}" already; give this one another name.')
        return VoiceBank({**self.voices, name: voice})


@dataclass(frozen=True, slots=True)
class Cast:
    """Whose voices a text is spoken in.

    Attributes:
        narrator: Of what is said by nobody in particular; None is the engine's own first voice.
        voices: Name -> voice.
    """

    narrator: VoicePrompt | None = None
    voices: Mapping[str, VoicePrompt] = field(default_factory=dict)

    def voice_of(self, speaker: str) -> VoicePrompt | None:
        """The voice of a speaker in the plan; "" is the narrator."""
        return self.voices[speaker] if speaker else self.narrator


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the engine is asked to say in one go.

    Attributes:
        number: Among all utterances of the request.
        text_number: Of the text that it is a part of.
        line: Of the script that it is a part of.
        text: Its words.
        seed: What its draws start from.
        speaker: Name in the cast; "" for the narrator.
        voice: Whose voice; None for the engine's own.
        options: Resolved.
        opening: What was said first in a voice that the engine invents, and that this one keeps.
    """

    number: int
    text_number: int
    line: int
    text: str
    seed: int
    speaker: str
    voice: VoicePrompt | None
    options: Mapping[str, OptionValue]
    opening: Utterance | None = None

    def signed(self, segment: Segment) -> Segment:
        """A segment of its sound, with what this utterance knows besides."""
        return replace(segment, speaker=self.speaker, line=self.line)


Item = Utterance | tuple[int, Pause]
"""An utterance, or a pause with the number of its text."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one engine call is of the whole request: where its own progress from 0 to 1 begins and ends."""

    start: float
    stop: float

    def context(self, ctx: RequestContext, seed: int) -> RequestContext:
        """`ctx` for that call, with generators from `seed`."""
        own = ctx.seeded(seed)
        own.progress = lambda fraction, what: ctx.progress(self.start + (self.stop - self.start) * fraction, what)
        return own


@dataclass(frozen=True, slots=True)
class Group:
    """Utterances that the engine says at once.

    Attributes:
        utterances: Alike in voice and options.
        share: Of the whole request.
    """

    utterances: tuple[Utterance, ...]
    share: Share


class Script:
    """Everything that one request says.

    Args:
        engine: Who says it.
        plans: (plan of a text, its seed) of every text.
        cast: In which voices.
        options: Of the engine.
        ctx: The request; what it says is reported there.

    Raises:
        Unsupported: The engine does not speak.
        InvalidRequest: A voice or the options do not fit the engine.
    """

    def __init__(
        self,
        engine: LoadedEngine,
        plans: Sequence[tuple[Plan, int]],
        cast_of: Cast,
        options: Options | None,
        ctx: RequestContext,
    ) -> None:
        require_task(engine.manifest, "tts")
        self.engine = cast(CanTalk, engine)
        self.options = engine.manifest.resolve(options)
        self.ctx = ctx
        for voice in (cast_of.narrator, *cast_of.voices.values()):
            if voice is not None:
                require_engine(voice, engine.manifest.id)
        items = _items(plans, cast_of, _Wishes(engine.manifest, self.options, ctx))
        keeps_voice = self.options.get(KEEP_VOICE, isinstance(engine, CanKeepVoice))
        self.items = list(_with_openings(items) if keeps_voice else items)
        self._openings = {each.opening.number for each in self.utterances if each.opening}
        self._invented: dict[int, VoicePrompt | None] = {}  # number of an opening -> the voice that it got
        self._refusals: dict[int, NothingToSay] = {}
        self._said: set[int] = set()
        self._report(cast_of)

    def _report(self, cast_of: Cast) -> None:
        manifest = self.engine.manifest
        first = manifest.voices[0] if manifest.voices else ""
        narrator = cast_of.narrator.name if cast_of.narrator else first
        speakers = sorted({utterance.speaker for utterance in self.utterances if utterance.speaker})
        cast_told = {"speakers": speakers} if speakers else {}
        self.ctx.report.params = {**self.options, "voice": narrator, **cast_told}

    @property
    def utterances(self) -> list[Utterance]:
        """What is said, without the pauses."""
        return [item for item in self.items if isinstance(item, Utterance)]

    def groups(self) -> Iterator[Group]:
        """What is said at once: utterances alike in voice and options, as many as engine and options allow.

        They need not be neighbours, so that two speakers in turn are batched, too; each group has the first utterance
        that is still to be said.
        """
        waiting, done = self.utterances, 0
        size, total = batch_size(self.engine.manifest, self.options), len(waiting)
        while waiting:
            near = waiting[: size * _LOOK_AHEAD] if size > 1 else waiting[:1]
            group = [utterance for utterance in near if _are_alike(utterance, waiting[0])][:size]
            yield Group(tuple(group), Share(done / total, (done + len(group)) / total))
            done += len(group)
            said = {utterance.number for utterance in group}
            waiting = [each for each in near if each.number not in said] + waiting[len(near) :]

    def talk(self, group: Group) -> list[Codes] | None:
        """Codes of each utterance, drawn from its own seed, or of several from the seed of the first.

        None if the engine cannot say them, which the report tells; see `require_said`.
        """
        self.ctx.check_cancel()
        try:
            codes = self._talk(group)
        except NothingToSay as error:
            self._refusals.update((utterance.text_number, error) for utterance in group.utterances)
            left_out = [utterance.text[:40] for utterance in group.utterances]
            self.ctx.report.warn_of("left_out", "Left out, since this model cannot say it:", left_out)
            return None
        self.note_said(group)
        return codes

    def note_said(self, group: Group) -> None:
        """A group was said, be it now or before; see `require_said`."""
        self._said.update(utterance.text_number for utterance in group.utterances)

    def _talk(self, group: Group) -> list[Codes]:
        first = group.utterances[0]
        seeded = group.share.context(self.ctx, first.seed)
        with torch.inference_mode():
            voice = first.voice if first.opening is None else self._voice_of(first.opening, group.share)
            if len(group.utterances) > 1:
                texts = [utterance.text for utterance in group.utterances]
                return cast(CanTalkInBatches, self.engine).talk_batch(texts, voice, first.options, seeded)
            codes = self.engine.talk(first.text, voice, first.options, seeded)
            if first.number in self._openings:
                self._invented[first.number] = cast(CanKeepVoice, self.engine).voice_from(codes, voice, first.options)
            return [codes]

    def _voice_of(self, opening: Utterance, share: Share) -> VoicePrompt | None:
        """The voice that an opening got; it is said again where only its sound is there, from an earlier request."""
        if opening.number not in self._invented:
            self._invented[opening.number] = opening.voice  # if it cannot be said, the next have voices of their own
            with suppress(NothingToSay):
                self._talk(Group((opening,), share))
        return self._invented[opening.number]

    def require_said(self) -> None:
        """Check that something of every text was said.

        Raises:
            NothingToSay: Of one, nothing was.
        """
        for text_number, refusal in self._refusals.items():
            if text_number not in self._said:
                raise refusal


def segment_seed(seed: int, index: int, text: str) -> int:
    """The seed of one segment: the request's own for the first, for others one derived from seed, place and text.

    So a change in segment 3 leaves segments 1 and 2 as they were, and a text of one segment behaves like a plain call.
    """
    if index == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{index}/{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & MAX_SEED


def batch_size(manifest: Manifest, options: Mapping[str, OptionValue]) -> int:
    """How many segments the engine is asked to work on at once."""
    return min(manifest.max_batch, int(options.get("batch_size", 1)))


def _are_alike(one: Utterance, other: Utterance) -> bool:
    return one.voice is other.voice and one.options == other.options and one.opening is other.opening


def _with_openings(items: Iterable[Item]) -> Iterator[Item]:
    """The same, where nothing is known of a voice but words: all that it says in a text has the voice of the first."""
    openings: dict[tuple[int, str], Utterance] = {}
    for item in items:
        if isinstance(item, Utterance) and not (item.voice and item.voice.tensors):
            opening = openings.setdefault((item.text_number, item.speaker), item)
            yield item if opening is item else replace(item, opening=opening)
        else:
            yield item


def _items(plans: Iterable[tuple[Plan, int]], cast_of: Cast, wishes: _Wishes) -> Iterator[Item]:
    number = 0
    for text_number, (plan, seed) in enumerate(plans):
        index = 0
        for item in plan.items:
            if isinstance(item, Pause):
                yield text_number, item
                continue
            yield _utterance(item, number, text_number, _seed_of(item, seed, index), cast_of, wishes)
            number, index = number + 1, index + 1


def _seed_of(line: Line, seed: int, index: int) -> int:
    return segment_seed(seed, index, line.text) if line.manner.seed is None else line.manner.seed


def _utterance(line: Line, number: int, text_number: int, seed: int, cast_of: Cast, wishes: _Wishes) -> Utterance:
    manner = line.manner
    voice = cast_of.voice_of(manner.speaker)
    return Utterance(number, text_number, line.line, line.text, seed, manner.speaker, voice, wishes(manner))


class _Wishes:
    """The options of the request with what a manner asks for besides; what the engine cannot do is reported."""

    def __init__(self, manifest: Manifest, options: dict[str, OptionValue], ctx: RequestContext) -> None:
        self._options, self._ctx = options, ctx
        self._known = {option.name: option for option in manifest.options}

    def __call__(self, manner: Manner) -> Mapping[str, OptionValue]:
        wishes: dict[str, OptionValue] = {}
        if manner.speed is not None:
            wishes["speed"] = manner.speed
        if manner.language:
            wishes["language"] = language_name(manner.language)
        if not wishes:
            return self._options
        return {**self._options, **{name: value for name, value in wishes.items() if self._can(name, value)}}

    def _can(self, name: str, value: OptionValue) -> bool:
        try:
            if name in self._known:
                self._known[name].check(value)
                return True
        except InvalidRequest:
            pass
        self._ctx.report.warn_of("wish", "This model cannot be asked for:", [f"{name} {value}"])
        return False
