"""A cloned voice: a recording as a mel spectrogram, how loud it was, and its words."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ...mizuoto_runtime.errors import InvalidRequest
from ...mizuoto_runtime.nn.sinc import sinc_resample
from ...mizuoto_runtime.nn.vocos_mel import HOP_LENGTH, NUM_MELS, SAMPLE_RATE, vocos_log_mel
from ..artifacts import VoicePrompt
from .manifest import MAX_REFERENCE_S

MEL, LEVEL, NUM_SAMPLES = "mel", "level", "num_samples"
TRANSCRIPT = "transcript"
_QUIET = 0.1  # root mean square below which recordings are made louder
_MOST_SAMPLES = int((MAX_REFERENCE_S + 1.0) * SAMPLE_RATE)


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice, checked.

    Attributes:
        mel: [num_samples // 256 + 1, num_mels] float32.
        level: Root mean square of the recording, a scalar float32 tensor.
        num_samples: Of the recording, at 24 kHz.
        transcript: What is said in it.
    """

    mel: torch.Tensor
    level: torch.Tensor
    num_samples: int
    transcript: str


def encoded(waveform: torch.Tensor, sample_rate: int) -> dict[str, torch.Tensor]:
    """Tensors of a voice from a recording [1, T] float32 on the CPU that is not silent.

    Source: infer_batch_process, f5-tts 1.1.22.
    """
    level = torch.sqrt(torch.mean(torch.square(waveform)))
    if level < _QUIET:
        waveform = waveform * _QUIET / level
    waveform = sinc_resample(waveform, sample_rate, SAMPLE_RATE, torch.float64)
    return {
        MEL: vocos_log_mel(waveform)[0],
        LEVEL: level,
        NUM_SAMPLES: torch.tensor(waveform.shape[-1]),
    }


def restored(waveform: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
    """Speech as loud as the recording was before it was made louder."""
    return waveform * level / _QUIET if level < _QUIET else waveform


def required_words(transcript: str | None) -> str:
    """The transcript of a reference.

    Raises:
        InvalidRequest: There is none.
    """
    words = (transcript or "").strip()
    if not words:
        raise InvalidRequest(
            'F5-TTS needs the words of the reference recording: write them into "transcript", or connect a Transcribe '
            "node to it."
        )
    return words


def voice_of(prompt: VoicePrompt | None) -> Voice:
    """What a voice means to this engine.

    Raises:
        InvalidRequest: There is none, or its tensors are not those of a voice, wherever they come from.
    """
    if prompt is None or not prompt.tensors:
        raise InvalidRequest(
            "F5-TTS speaks with a cloned voice only: connect a Voice Prompt node with a recording and its words."
        )
    mel, level, count = (prompt.tensors.get(name) for name in (MEL, LEVEL, NUM_SAMPLES))
    words = prompt.facts.get(TRANSCRIPT, "").strip()
    if mel is None or level is None or count is None or not words or not _is_sound(mel, level, count):
        raise InvalidRequest(f'The voice "{prompt.name}" is damaged; make it again with a Voice Prompt node.')
    return Voice(mel, level, int(count), words)


def _is_sound(mel: torch.Tensor, level: torch.Tensor, count: torch.Tensor) -> bool:
    if count.numel() != 1 or count.is_floating_point() or not HOP_LENGTH <= int(count) <= _MOST_SAMPLES:
        return False
    is_mel = mel.dtype == torch.float32 and mel.shape == (int(count) // HOP_LENGTH + 1, NUM_MELS)
    is_level = level.dtype == torch.float32 and level.dim() == 0
    return is_mel and is_level and bool(mel.isfinite().all()) and bool(level.isfinite()) and float(level) > 0
