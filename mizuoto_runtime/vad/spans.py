"""From probabilities to stretches of speech: hysteresis, shortest lengths, splitting at pauses, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .network import SAMPLE_RATE, WINDOW

_MIN_PAUSE = SAMPLE_RATE * 0.098  # samples of a pause at which too long speech may be split
_EXIT_BELOW_THRESHOLD, _MIN_EXIT = 0.15, 0.01


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a recording, in seconds from its beginning."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class SpeechRules:
    """What counts as one stretch of speech; the defaults are Silero's.

    Attributes:
        threshold: Speech begins at this probability.
        exit_threshold: It may end below this one; 0.15 less than `threshold` if None.
        min_speech_s: Shorter speech is none.
        max_speech_s: Longer speech is split, at its longest pause if it has one.
        min_silence_s: Speech ends when it has been quiet so long.
        pad_s: Added on both sides, or half of the pause where two stretches are closer.
    """

    threshold: float = 0.5
    exit_threshold: float | None = None
    min_speech_s: float = 0.25
    max_speech_s: float = math.inf
    min_silence_s: float = 0.1
    pad_s: float = 0.03


def spans_of(probabilities: Sequence[float], num_samples: int, rules: SpeechRules) -> list[Span]:
    """The stretches of speech in a recording of `num_samples` at 16 kHz, in order, none overlapping.

    Args:
        probabilities: One for every `WINDOW` samples.
        num_samples: Length of the recording.
        rules: What counts as speech.

    Source: get_speech_timestamps_from_probs, silero-vad 6.2.3.
    """
    walk = _Walk(rules)
    for index, probability in enumerate(probabilities):
        walk.step(index * WINDOW, probability)
    if walk.start is not None:
        walk.close(num_samples)
    padded = _padded(walk.found, num_samples, SAMPLE_RATE * rules.pad_s)
    return [Span(start / SAMPLE_RATE, end / SAMPLE_RATE) for start, end in padded]


@dataclass(slots=True)
class _Walk:
    """Goes through the windows in order; all positions are samples."""

    rules: SpeechRules
    start: int | None = None  # of the speech that is going on
    quiet_since: int | None = None  # where it may have ended
    pauses: list[tuple[int, int]] = field(default_factory=list)  # in it: beginning, length
    found: list[tuple[int, int]] = field(default_factory=list)

    def step(self, now: int, probability: float) -> None:
        """Take the window at `now` into account."""
        is_speech = probability >= self.rules.threshold
        if is_speech and self.quiet_since is not None:
            self._resume(now)
        if self.start is None:
            self.start = now if is_speech else None
            return
        if now - self.start > self._longest and not self._split(now):
            return
        if probability < self._exit_threshold:
            if self.quiet_since is None:
                self.quiet_since = now
            if now - self.quiet_since >= SAMPLE_RATE * self.rules.min_silence_s:
                self.close(self.quiet_since)

    def close(self, end: int) -> None:
        """End the speech that is going on; it is dropped if it was too short."""
        if self.start is not None and end - self.start > SAMPLE_RATE * self.rules.min_speech_s:
            self.found.append((self.start, end))
        self._forget(None)

    @property
    def _longest(self) -> float:
        return SAMPLE_RATE * self.rules.max_speech_s - WINDOW - 2 * SAMPLE_RATE * self.rules.pad_s

    @property
    def _exit_threshold(self) -> float:
        given = self.rules.exit_threshold
        return max(self.rules.threshold - _EXIT_BELOW_THRESHOLD, _MIN_EXIT) if given is None else given

    def _resume(self, now: int) -> None:
        if self.quiet_since is not None and now - self.quiet_since > _MIN_PAUSE:
            self.pauses.append((self.quiet_since, now - self.quiet_since))
        self.quiet_since = None

    def _split(self, now: int) -> bool:
        """End speech that has become too long; whether the rest of it goes on after a pause."""
        assert self.start is not None
        if not self.pauses:
            self.found.append((self.start, now))
            self._forget(None)
            return False
        end, length = max(self.pauses, key=lambda pause: pause[1])
        self.found.append((self.start, end))
        self._forget(end + length)
        return True

    def _forget(self, start: int | None) -> None:
        self.start, self.quiet_since = start, None
        self.pauses.clear()


def _padded(spans: Sequence[tuple[int, int]], num_samples: int, pad: float) -> list[tuple[int, int]]:
    found = [list(span) for span in spans]
    for index, span in enumerate(found):
        if index == 0:
            span[0] = int(max(0, span[0] - pad))
        if index == len(found) - 1:
            span[1] = int(min(num_samples, span[1] + pad))
            break
        after = found[index + 1]
        silence = after[0] - span[1]
        room = silence // 2 if silence < 2 * pad else pad
        after[0] = int(max(0, after[0] - room))
        span[1] = int(min(num_samples, span[1] + room))
    return [(start, end) for start, end in found]
