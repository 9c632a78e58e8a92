"""Speech at given times: every cue spoken at its own, in a recording whose length is that of the subtitles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from ..mizuoto_runtime.audio import Audio
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest, NothingToSay, did_you_mean
from ..mizuoto_runtime.spoken import SpokenSegment
from .base import Manifest, Option, Options
from .cues import TimedText
from .joining import sounding
from .levels import LevelMatch
from .recording import Take
from .script import segment_seed

SHIFT, OVERLAP, STRICT = "shift", "overlap", "strict"
POLICIES = (SHIFT, OVERLAP, STRICT)
MAX_SPEED = 2.0  # faster speech is not understood
_MARGIN = 1.03  # pauses and rounding make speech a little longer than its speed says
_TRIES = 3
Speaker = Callable[[TimedText, int, float], tuple[Audio, list[Take]]]
"""(a cue, its seed, factor of the speed) -> its sound; NothingToSay leaves it silent."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How speech is brought into its time.

    Attributes:
        policy: What happens to speech that is longer than its time: "shift" moves the next cue, "overlap" lets both
            sound, "strict" refuses.
        speeds: Whether to speak faster first, where the engine can.
    """

    policy: str = SHIFT
    speeds: bool = True

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidRequest(
                f'policy is "{str(self.policy)[:40]}"; choose one of {", ".join(POLICIES)}.'
                f"{did_you_mean(str(self.policy), POLICIES)}"
            )


class _Spoken(NamedTuple):
    cue: TimedText
    waveform: torch.Tensor  # [1, T], from its first sound to its last
    takes: list[Take]


def speak_at(
    cues: Sequence[TimedText], fit: Fit, speak: Speaker, option: Option | None, ctx: RequestContext
) -> tuple[Audio, list[Take]]:
    """A recording that is as long as the cues, or longer where the last speech is, and where in it each cue sounds.

    Args:
        cues: By their times, at least one. What the engine cannot say of them stays silent and is reported.
        fit: What to do with speech that is too long.
        speak: Says one cue.
        option: The engine's option `speed`; None where it has none.
        ctx: The request, whose seed the cues' seeds come from; each cue is told as a segment, without the silence
            before it.

    Raises:
        InvalidRequest: Under "strict", speech does not fit; the text names the cue.
        NothingToSay: The engine can say none of them.
    """
    fastest = min(MAX_SPEED, option.high) if option is not None and fit.speeds else 1.0
    spoken: list[_Spoken] = []
    match, sample_rate = LevelMatch(), 0
    for index, cue in enumerate(cues):
        try:
            audio, takes = _fitted(cue, _room(cues, index), segment_seed(ctx.seed, index, cue.text), fastest, speak)
        except NothingToSay:
            if not spoken and index == len(cues) - 1:
                raise
            continue  # the engine has told what it left out
        sample_rate = audio.sample_rate
        start, end = sounding(audio.waveform)
        waveform = match(audio.waveform[:, start:end], sample_rate)
        length = (end - start) / sample_rate
        shifted = [_moved(take, -start / sample_rate, length) for take in takes]
        spoken.append(_Spoken(cue, waveform, shifted))
        if ctx.on_segment is not None:
            ctx.on_segment(_newest(spoken, len(cues), fit.policy, sample_rate))
        ctx.progress((index + 1) / len(cues), f"cue {index + 1} of {len(cues)}")
    starts = _starts(spoken, fit.policy, sample_rate, ctx)
    end_s = max(cue.end for cue in cues)
    last = spoken[-1]
    if fit.policy == STRICT and starts[-1] + last.waveform.shape[-1] > round(end_s * sample_rate):
        raise InvalidRequest(_too_long(last.cue, "when its time, and that of the file, is over"))
    return _mixed(spoken, starts, sample_rate, end_s)


def _newest(spoken: Sequence[_Spoken], total: int, policy: str, sample_rate: int) -> SpokenSegment:
    _, waveform, takes = spoken[-1]
    start = _places(spoken, policy, sample_rate)[-1] / sample_rate
    seconds = sum(of.waveform.shape[-1] for of in spoken) / sample_rate
    text, speaker = " ".join(take.text for take in takes), takes[0].speaker
    return SpokenSegment(len(spoken), total, Audio(waveform, sample_rate), text, speaker, seconds, start)


def _room(cues: Sequence[TimedText], index: int) -> float:
    """Seconds until the next cue begins, or this one ends, whatever is later."""
    cue = cues[index]
    following = cues[index + 1].start if index + 1 < len(cues) else cue.end
    return max(following, cue.end) - cue.start


def _fitted(cue: TimedText, room: float, seed: int, fastest: float, speak: Speaker) -> tuple[Audio, list[Take]]:
    """The cue as fast as it has to be, and no faster than can be."""
    speed = 1.0
    audio, takes = speak(cue, seed, speed)
    for _ in range(_TRIES):
        start, end = sounding(audio.waveform)
        seconds = (end - start) / audio.sample_rate
        if room <= 0 or seconds <= room or speed >= fastest:
            break
        speed = min(fastest, speed * _MARGIN * seconds / room)
        audio, takes = speak(cue, seed, speed)
    return audio, takes


def _starts(spoken: Sequence[_Spoken], policy: str, sample_rate: int, ctx: RequestContext) -> list[int]:
    """The same as `_places`, with what is to be said of speech that begins late."""
    starts = _places(spoken, policy, sample_rate)
    wanted = [round(of.cue.start * sample_rate) for of in spoken]
    late = [index for index, start in enumerate(starts) if start > wanted[index]]
    if late and policy == STRICT:
        raise InvalidRequest(_too_long(spoken[late[0] - 1].cue, "when the next one begins"))
    if late:
        ctx.report.warn_of(
            "shifted",
            "Began late, since the speech before was too long:",
            (f"cue {spoken[i].cue.number}" for i in late),
        )
    return starts


def _places(spoken: Sequence[_Spoken], policy: str, sample_rate: int) -> list[int]:
    """The first sample of each cue's speech."""
    starts, free = [], 0
    for cue, waveform, _ in spoken:
        wanted = round(cue.start * sample_rate)
        starts.append(wanted if policy == OVERLAP else max(wanted, free))
        free = max(free, starts[-1] + waveform.shape[-1])
    return starts


def _too_long(cue: TimedText, when: str) -> str:
    return (
        f'Cue {cue.number}, "{cue.text[:40]}", is still heard {when}; give it more time, shorten it, '
        'or choose the policy "shift" or "overlap".'
    )


def _mixed(
    spoken: Sequence[_Spoken], starts: Sequence[int], sample_rate: int, end_s: float
) -> tuple[Audio, list[Take]]:
    ends = [start + of.waveform.shape[-1] for start, of in zip(starts, spoken, strict=True)]
    waveform = torch.zeros(1, max(*ends, round(end_s * sample_rate)))
    takes: list[Take] = []
    for start, end, of in zip(starts, ends, spoken, strict=True):
        waveform[:, start:end] += of.waveform
        takes += [replace(_moved(take, start / sample_rate), line=of.cue.number) for take in of.takes]
    peak = float(waveform.abs().max())
    return Audio(waveform / max(1.0, peak), sample_rate), takes


def _moved(take: Take, seconds: float, most: float = math.inf) -> Take:
    """The take that many seconds later; of what is cut off at both ends nothing is left."""
    start, end = max(0.0, take.start + seconds), min(take.end + seconds, most)
    return replace(take, start=round(start, 6), end=round(end, 6))


def speed_option(manifest: Manifest) -> Option | None:
    """The engine's option for the pace of speech, if it has one."""
    return next((option for option in manifest.options if option.name == "speed"), None)


def faster(options: Options | None, manifest: Manifest, factor: float) -> Options | None:
    """`options` with the speed multiplied, as far as the engine's range goes."""
    option = speed_option(manifest)
    if option is None or factor == 1.0:
        return options
    chosen = float(manifest.resolve(options)["speed"])
    values = dict(options.values) if options else {}
    return Options(manifest.id, {**values, "speed": min(option.high, chosen * factor)})
