"""Speech in a recording of any rate and level."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..audio import Audio, mono
from ..nn.resample import resample
from .network import SAMPLE_RATE, WINDOW, network
from .spans import Span, SpeechRules, spans_of

_LEVEL = 0.1  # RMS of ordinary speech, which the network knows best
_LOUD_SHARE = 0.05  # of the windows is taken to be speech when a recording's level is measured
_MAX_GAIN = 3000.0  # 70 dB; what is quieter is the noise of the converter


def _go_on() -> None:
    """Nothing to check."""


def speech_probabilities(
    audio: Audio, check: Callable[[], None] = _go_on, is_levelled: bool = False
) -> tuple[list[float], int]:
    """How likely every 32 ms of a recording are speech, and its length in samples at 16 kHz, as `spans_of` takes them.

    Runs on the CPU, some 50 times as fast as the recording plays.

    Args:
        audio: Any rate; several channels are averaged.
        check: Called every two seconds of sound; may raise.
        is_levelled: Hear a copy that is as loud as ordinary speech, so that a recording at -60 dBFS gives what the same
            recording at -20 dBFS gives. The network alone misses part of very quiet speech.
    """
    waveform = resample(mono(audio).waveform[0], audio.sample_rate, SAMPLE_RATE)
    if is_levelled:
        waveform = waveform * _gain(waveform)
    return network().probabilities(waveform, check).tolist(), len(waveform)


def speech_spans(
    audio: Audio,
    rules: SpeechRules | None = None,
    check: Callable[[], None] = _go_on,
    is_levelled: bool = False,
) -> list[Span]:
    """Where somebody speaks, in order; arguments as those of `speech_probabilities`.

    Source: get_speech_timestamps, silero-vad 6.2.3, whose lists it equals at 16 kHz unless `is_levelled`.
    """
    return spans_of(*speech_probabilities(audio, check, is_levelled), rules or SpeechRules())


def _gain(waveform: torch.Tensor) -> float:
    """What brings the loud part of `waveform` [T] to the level of ordinary speech."""
    if not len(waveform):
        return 1.0
    whole = waveform[: max(1, len(waveform) // WINDOW) * WINDOW]
    windows = whole.unflatten(0, (-1, min(WINDOW, len(whole))))
    levels = windows.square().mean(1).sqrt()
    loudest = levels.topk(max(1, round(_LOUD_SHARE * len(levels)))).values
    level = float(loudest[-1])
    return min(_LEVEL / level, _MAX_GAIN) if level else 1.0
