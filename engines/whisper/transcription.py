"""A recording of any length, window by window: each begins where the last one's finished segments end.

Source: `transcribe`, openai-whisper 20250625 transcribe.py. Beyond it, what still repeats itself is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.nn.whisper_mel import HOP_LENGTH, SAMPLE_RATE
from ..transcript import Passage, Word
from . import hallucination
from .alignment import align
from .config import NUM_FRAMES
from .decoding import Attempt, decode, is_repetitive, is_silent
from .model import WhisperModel
from .segments import FRAMES_PER_SECOND, Segment, Window, cut, end_of_words, seconds
from .settings import Settings
from .words import put_words

MAX_CARRIED_TEMPERATURE = 0.5  # what was drawn above it is no example for the next window


@dataclass(frozen=True, slots=True)
class Transcription:
    """What was heard.

    Attributes:
        passages: In order; none is empty.
        attempts: The one that counted, for every window with speech.
        looped: (start, end) in seconds of windows whose text repeats itself at every temperature; it is kept.
    """

    passages: tuple[Passage, ...]
    attempts: tuple[Attempt, ...]
    looped: tuple[tuple[float, float], ...]


def transcribe(model: WhisperModel, mel: torch.Tensor, duration_s: float, settings: Settings) -> Transcription:
    """Everything that is said in a recording.

    Args:
        model: Outside of its phases.
        mel: [num_mels, frames], 100 a second; frames behind the recording are not heard.
        duration_s: Length of the recording; its last hundredth counts if it is complete.
        settings: What to write, and how.
    """
    num_frames = min(round(duration_s * SAMPLE_RATE) // HOP_LENGTH, mel.shape[-1])
    listener = _Listener(model, mel, num_frames, settings)
    while listener.seek < num_frames:
        model.check_cancel()
        listener.hear(Window(listener.seek, min(NUM_FRAMES, num_frames - listener.seek)))
        model.progress(seconds(min(listener.seek, num_frames)))
    return Transcription(tuple(listener.passages), tuple(listener.attempts), tuple(listener.looped))


class _Listener:
    """What is known of the recording so far, and where the next window begins."""

    def __init__(self, model: WhisperModel, mel: torch.Tensor, num_frames: int, settings: Settings) -> None:
        self.seek = 0
        self.passages: list[Passage] = []
        self.attempts: list[Attempt] = []
        self.looped: list[tuple[float, float]] = []
        self._model, self._mel, self._num_frames, self._settings = model, mel, num_frames, settings
        self._written = model.tokens.encode(f" {settings.prompt.strip()}") if settings.prompt.strip() else []
        self._carried_from = 0  # what was written before is not read any more
        self._last_end = 0.0  # of speech, in seconds

    def hear(self, window: Window) -> None:
        """Write what is said in one window, and move on."""
        model, settings = self._model, self._settings
        frames = self._mel[:, window.seek : window.seek + window.size]
        features = model.encode(F.pad(frames, (0, NUM_FRAMES - window.size))[None])
        context = self._written[self._carried_from :]
        rows = settings.beam_size if 0.0 in settings.temperatures else 1
        attempt = model.decoding(lambda: decode(model, features, context, settings), rows)
        self.seek = window.seek + window.size
        if is_silent(attempt, settings):
            return
        segments = self._segments(window, attempt, features)
        if self.seek <= window.seek:  # upstream would hear the same again, for ever
            self.seek = window.seek + window.size
        if segments is None:
            return
        if segments:
            self.attempts.append(attempt)
            if is_repetitive(attempt, settings):
                self.looped.append((window.start, window.start + seconds(window.size)))
        self._keep(segments, attempt)

    def _segments(self, window: Window, attempt: Attempt, features: torch.Tensor) -> list[Segment] | None:
        """The segments of a window, after setting where the next one begins; None if it has to be heard again."""
        found = cut(attempt.ids, window, self._model.tokens)
        self.seek = found.next_seek
        if not self._settings.word_timestamps:
            return found.segments
        self._time_words(found.segments, window, features)
        end = end_of_words(found.segments)
        if not found.is_complete and end is not None and end > window.start:
            self.seek = round(end * FRAMES_PER_SECOND)
        threshold = self._settings.hallucination_silence_threshold
        if threshold is not None and not self._leave_out_invented(found.segments, window, threshold, found.is_complete):
            return None
        end = end_of_words(found.segments)
        self._last_end = self._last_end if end is None else end
        return found.segments

    def _time_words(self, segments: Sequence[Segment], window: Window, features: torch.Tensor) -> None:
        model = self._model
        ids = [token for segment in segments for token in segment.ids if token < model.tokens.eot]
        words = align(model, features, ids, window, self._settings)
        put_words(segments, words, window.start, self._last_end, model.tokens.eot)

    def _leave_out_invented(self, segments: list[Segment], window: Window, threshold: float, is_complete: bool) -> bool:
        """Skip silence beside words that look invented; whether anything of the window counts."""
        if not is_complete:
            behind_words = hallucination.seek_behind_words(segments, window, threshold)
            self.seek = self.seek if behind_words is None else behind_words
        behind_silence = hallucination.seek_behind_silence(segments, window, threshold)
        if behind_silence is not None:
            self.seek = behind_silence
            return False
        at_invented = hallucination.seek_at_invented(segments, window, threshold, self._last_end, self._num_frames)
        self.seek = self.seek if at_invented is None else at_invented
        return True

    def _keep(self, segments: Sequence[Segment], attempt: Attempt) -> None:
        for segment in segments:
            if segment.start != segment.end and segment.text.strip():
                self.passages.append(_passage(segment))
                self._written += segment.ids
        is_drawn = attempt.temperature > MAX_CARRIED_TEMPERATURE
        if is_drawn or not self._settings.condition_on_previous_text:
            self._carried_from = len(self._written)


def _passage(segment: Segment) -> Passage:
    words = (
        Word(word.text.strip(), word.start, word.end, word.probability) for word in segment.words if word.text.strip()
    )
    return Passage(segment.text.strip(), segment.start, segment.end, tuple(words))
