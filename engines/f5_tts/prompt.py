"""What the talker is asked: the reference and its words, the text, and how long all of it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

import torch

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.vocos_mel import HOP_LENGTH, SAMPLE_RATE
from ...mizuoto_runtime.text.split import split
from .manifest import num_bytes
from .symbols import Vocabulary, text_symbols
from .talker import MAX_FRAMES
from .voice import Voice

FRAME_RATE_HZ = SAMPLE_RATE / HOP_LENGTH
_TOTAL_S = 22.0  # reference and speech together, as the model was trained
_SHORT_BYTES, _SHORT_SPEED = 10, 0.3  # very short texts need more time than their length tells
_LEAST_CHUNK_BYTES = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    """One piece of speech to make.

    Attributes:
        ids: [1, N] int64, symbols of everything that is said in it.
        mel: [frames, num_mels] of the reference, with zeros where it is said anew.
        is_kept: [frames] bool, false there.
        num_frames: Of the whole, at least one more than `mel` has.
        num_skipped: So many frames at the beginning are the reference and not wanted.
    """

    ids: torch.Tensor
    mel: torch.Tensor
    is_kept: torch.Tensor
    num_frames: int
    num_skipped: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of the reference that is said anew, in seconds.

    Attributes:
        start, end: Where it is.
        seconds: How long it becomes.
    """

    start: float
    end: float
    seconds: float


def chunks(text: str, voice: Voice, speed: float) -> list[str]:
    """Pieces of `text` that fit beside the reference into what the model was trained on, at the reference's pace.

    Source: infer_process, f5-tts 1.1.22, which cuts after commas, too, and into pieces of any size.
    """
    seconds = voice.num_samples / SAMPLE_RATE
    limit = int(num_bytes(_with_stop(voice.transcript)) / seconds * (_TOTAL_S - seconds) * speed)
    return [piece.strip() for piece in split(text, max(limit, _LEAST_CHUNK_BYTES), num_bytes) if piece.strip()]


def durations(texts: list[str], total_s: float) -> list[float]:
    """Seconds of each piece: its share of `total_s`, or 0 (by its length) where that is 0."""
    sizes = [num_bytes(text) for text in texts]
    return [total_s * size / sum(sizes) for size in sizes]


def continuation(text: str, voice: Voice, vocabulary: Vocabulary, speed: float, seconds: float) -> Prompt:
    """`text` said after the reference.

    Args:
        text: One piece.
        voice: The reference.
        vocabulary: Of the model.
        speed: 1 for the reference's pace.
        seconds: How long it becomes; 0 for by its length.

    Source: infer_batch_process, f5-tts 1.1.22.

    Raises:
        InvalidRequest: It becomes longer than the model has positions for.
        Unsupported: A package for Chinese is missing.
    """
    words = _with_stop(voice.transcript)
    words += " " if words[-1].isascii() else ""
    known = voice.num_samples // HOP_LENGTH
    if seconds:
        num_frames = int(known + seconds * FRAME_RATE_HZ)
    else:
        size = num_bytes(text)
        pace = _SHORT_SPEED if size < _SHORT_BYTES else speed
        num_frames = known + int(known / num_bytes(words) * size / pace)
    ids = vocabulary.ids(text_symbols(words + text))
    return Prompt(ids, voice.mel, _all_kept(voice.mel), _frames(num_frames, ids, voice.mel), known)


def correction(text: str, voice: Voice, vocabulary: Vocabulary, edit: Edit) -> Prompt:
    """The reference with a part of it said anew, so that all of it says `text`.

    Source: speech_edit.py, f5-tts 1.1.22.

    Raises:
        InvalidRequest: The part lies outside the reference, or it becomes longer than the model has positions for.
        Unsupported: A package for Chinese is missing.
    """
    start, end, length = (_nearest_frame(seconds) for seconds in (edit.start, edit.end, edit.seconds))
    if not 0 <= start < end <= len(voice.mel) or not length:
        raise InvalidRequest(
            f"The part to edit is {edit.start:g} to {edit.end:g} s (for {edit.seconds:g} s), and the reference of the "
            f"voice is {voice.num_samples / SAMPLE_RATE:.2f} s long; set edit_start and edit_end within it."
        )
    mel = torch.cat((voice.mel[:start], voice.mel.new_zeros(length, voice.mel.shape[1]), voice.mel[end:]))
    is_kept = _all_kept(mel)
    is_kept[start : start + length] = False
    ids = vocabulary.ids(text_symbols(text))
    return Prompt(ids, mel, is_kept, _frames(len(mel), ids, mel), 0)


def is_whole(text: str, voice: Voice, edit: Edit) -> bool:
    """Whether `text` has about as much of the transcript in it as there must be of what is not said anew."""
    kept = 1.0 - (edit.end - edit.start) * SAMPLE_RATE / voice.num_samples
    matcher = SequenceMatcher(None, voice.transcript.casefold(), text.casefold(), autojunk=False)
    return 2 * sum(block.size for block in matcher.get_matching_blocks()) >= kept * len(voice.transcript)


def _with_stop(transcript: str) -> str:
    """The reference's words as a sentence, set off from what follows it."""
    if transcript.endswith("。"):
        return transcript
    return transcript + (" " if transcript.endswith(".") else ". ")


def _frames(wanted: int, ids: torch.Tensor, mel: torch.Tensor) -> int:
    found = max(ids.shape[1] + 1, len(mel) + 1, wanted)
    if found > MAX_FRAMES:
        raise InvalidRequest(
            f"Reference and speech would become {found / FRAME_RATE_HZ:.0f} s long and F5-TTS can make "
            f"{MAX_FRAMES / FRAME_RATE_HZ:.0f} s at once; shorten the text, or raise speed."
        )
    return found


def _nearest_frame(seconds: float) -> int:
    return round(seconds * SAMPLE_RATE / HOP_LENGTH)


def _all_kept(mel: torch.Tensor) -> torch.Tensor:
    return torch.ones(len(mel), dtype=torch.bool)
