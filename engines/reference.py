"""Reference audio, for every node that takes it: what an engine accepts, and how a recording becomes that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..mizuoto_runtime import reference
from ..mizuoto_runtime.audio import Audio, mono
from ..mizuoto_runtime.context import RequestContext
from ..mizuoto_runtime.errors import InvalidRequest
from ..mizuoto_runtime.loudness import decibels_as_factor, gain_for, integrated_loudness
from ..mizuoto_runtime.nn.resample import resample
from ..mizuoto_runtime.vad import Span
from .base import Manifest
from .excerpt import excerpt
from .transcript import Transcript

MAX_RECORDING_S = 1800.0  # in 5.1 that is 2 GB, and the voice detector needs half a minute for it
SILENCE = 1e-4  # -80 dBFS; what is quieter is the noise of a converter
PEAK_DBFS = -1.0
_CLIPPED, _NOISY_DB, _NARROW_HZ = 1e-3, 15.0, 16000  # from where on a recording is complained about
_ROUNDING_S = 0.01  # cuts fall between samples, and resampling rounds lengths up
_MAX_DIFFERENCE_S = 0.5  # between a recording and the one that a transcript is of


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to a recording.

    Attributes:
        is_trimmed: Cut off what is before and after all speech.
        loudness: LUFS that it is brought to, as far as its peak allows; None leaves it.
        max_seconds: The longest that it may be; 0 for what the engine takes.
    """

    is_trimmed: bool = True
    loudness: float | None = -20.0
    max_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A clean reference.

    Attributes:
        audio: Mono, at the engine's rate if there is one.
        transcript: The words in it; "" if unknown.
        facts: What was found and done, for the report.
    """

    audio: Audio
    transcript: str
    facts: dict[str, Any]


def check_reference(recording: Audio, manifest: Manifest) -> Audio:
    """The recording in one channel, if the engine can make a voice of it.

    Raises:
        InvalidRequest: It is silent, too short or too long, or its samples are no numbers.
    """
    _check_length(recording, manifest, "The reference recording")
    found = mono(recording)
    _check_sound([found])
    return found


def prepare(
    recordings: Sequence[Audio],
    manifest: Manifest | None,
    words: str,
    heard: Transcript | None,
    preparation: Preparation,
    ctx: RequestContext,
    hear: Callable[[Audio], str] | None = None,
) -> Prepared:
    """One clean reference out of a recording, or out of several that are joined.

    Args:
        recordings: Of one sample rate, any number of channels; none is modified.
        manifest: Of the engine that will take it: its rate and its limits. None keeps the rate.
        words: The transcript as somebody wrote it; "" if unknown.
        heard: What a recognition engine heard in the recording, which says when each word is spoken.
        preparation: What to do.
        ctx: The request; warnings go into its report.
        hear: What is said in a piece of audio. Asked where the words are unknown or no longer fit.

    Raises:
        InvalidRequest: Silence; a length that the engine does not take; or the recording had to be cut and nothing
            says which words are left.
    """
    _check_recordings(recordings, heard)
    longest = _longest(preparation, manifest)
    speech = _speech(recordings, preparation, longest, ctx)
    facts = _facts(recordings, speech, ctx)
    window = _window(speech, longest, facts, ctx)
    audio = _levelled(reference.cut(speech.audio, window.start, window.end), preparation)
    if manifest:
        _check_length(audio, manifest, "What is left of the recording" if preparation.is_trimmed else "The recording")
    facts |= _level(audio)
    audio = reference.faded(audio)
    if manifest:
        found = resample(audio.waveform, audio.sample_rate, manifest.sample_rate).contiguous()
        audio = Audio(found, manifest.sample_rate)
    facts |= {"seconds": round(audio.seconds, 3), "sample_rate": audio.sample_rate}
    is_cut = window.seconds < speech.audio.seconds
    text = _words_in(speech, window, words, heard) if is_cut else words.strip() or (heard.text if heard else "")
    if not text and hear:
        text = hear(audio).strip()
    if text is None:
        remedy = "switch word_timestamps on in the options of Transcribe" if heard else 'connect Transcribe to "heard"'
        raise InvalidRequest(
            f"The recording had to be cut to {audio.seconds:.1f} s and its transcript does not tell which words are "
            f'left; {remedy}, connect a recognition model to "listener", or cut the recording and its words yourself.'
        )
    return Prepared(audio, text, facts)


@dataclass(frozen=True, slots=True)
class _Speech:
    """Recordings trimmed and joined.

    Attributes:
        audio: Mono.
        spans: Where somebody speaks in it.
        start: Where it begins in the first recording, in seconds.
    """

    audio: Audio
    spans: list[Span]
    start: float


def _check_recordings(recordings: Sequence[Audio], heard: Transcript | None) -> None:
    """Lengths only: nothing is copied yet."""
    seconds = sum(recording.seconds for recording in recordings)
    if seconds > MAX_RECORDING_S:
        raise InvalidRequest(
            f"The recording is {seconds / 60:.0f} minutes long and the limit is {MAX_RECORDING_S / 60:.0f}; cut out a "
            "part of it, with Trim Audio Duration for example."
        )
    if heard and (len(recordings) > 1 or abs(heard.seconds - seconds) > _MAX_DIFFERENCE_S):
        what = f"recordings of {seconds:.1f} s" if len(recordings) > 1 else f"one of {seconds:.1f} s"
        raise InvalidRequest(
            f"The transcript is of a recording of {heard.seconds:.1f} s and the audio is {what}; connect what was "
            "heard in this audio."
        )


def _check_length(recording: Audio, manifest: Manifest, subject: str) -> None:
    shortest, longest = manifest.reference_seconds
    if not shortest - _ROUNDING_S <= recording.seconds <= longest + _ROUNDING_S:
        limit = f"{shortest:g} to {longest:g} s" if math.isfinite(longest) else f"at least {shortest:g} s"
        raise InvalidRequest(
            f"{subject} is {recording.seconds:.1f} s long and {manifest.name} takes {limit}; "
            f"use a clean passage of 5 to {min(15, longest):g} s."
        )


def _check_sound(recordings: Sequence[Audio]) -> None:
    if not all(math.isfinite(_peak(recording)) for recording in recordings):
        raise InvalidRequest(
            "The reference recording contains samples that are no numbers (NaN or infinite); repair it."
        )
    if not any(map(_sounds, recordings)):
        raise InvalidRequest("The reference recording is silent; record it again, or choose another passage.")


def _sounds(audio: Audio) -> bool:
    return _peak(audio) > SILENCE


def _peak(audio: Audio) -> float:
    if not audio.waveform.numel():
        return 0.0
    low, high = audio.waveform.aminmax()
    return max(-float(low), float(high))


def _longest(preparation: Preparation, manifest: Manifest | None) -> float:
    shortest, longest = manifest.reference_seconds if manifest else (0.0, math.inf)
    wanted = preparation.max_seconds or math.inf
    if manifest and wanted <= shortest:
        raise InvalidRequest(f"max_seconds is {wanted:g} and {manifest.name} takes at least {shortest:g} s; raise it.")
    return min(wanted, longest)


def _speech(recordings: Sequence[Audio], preparation: Preparation, longest: float, ctx: RequestContext) -> _Speech:
    channels = [mono(recording) for recording in recordings]
    _check_sound(channels)
    pieces: list[Audio] = []
    spans: list[Span] = []
    start = position = 0.0
    for audio in filter(_sounds, channels):
        with ctx.report.timed("voice detector"):
            found = reference.find_speech(audio, longest, ctx.check_cancel)
        kept = reference.outline(audio, found) if preparation.is_trimmed else Span(0.0, audio.seconds)
        start = start if pieces else kept.start
        spans += [Span(position + span.start - kept.start, position + span.end - kept.start) for span in found]
        position += kept.seconds + reference.PAUSE_S
        pieces.append(reference.cut(audio, kept.start, kept.end))
    if len(recordings) > 1:
        pieces = [reference.faded(_levelled(piece, preparation)) for piece in pieces]
        ctx.report.warn("batch", f"The batch of {len(recordings)} recordings became one, with pauses between them.")
    return _Speech(reference.joined(pieces), spans, start)


def _facts(recordings: Sequence[Audio], speech: _Speech, ctx: RequestContext) -> dict[str, Any]:
    """What is known about the recordings, with warnings about what a cloned voice would suffer from."""
    clipped = max(map(reference.clipped_share, recordings))
    noise = reference.noise_ratio_db(speech.audio, speech.spans)
    rate = speech.audio.sample_rate
    if not speech.spans:
        ctx.report.warn("no_speech", "No speech was found in the recording; all of it was kept.")
    if clipped > _CLIPPED:
        ctx.report.warn("clipped", f"{clipped:.1%} of the recording is clipped; record it at a lower level.")
    if noise is not None and noise < _NOISY_DB:
        ctx.report.warn("noisy", f"The noise is only {noise:.0f} dB below the voice; a cloned voice may have it, too.")
    if rate < _NARROW_HZ:
        ctx.report.warn("narrow", f"At {rate} Hz the recording sounds like a telephone; a cloned voice may, too.")
    return {
        "recorded_seconds": [round(recording.seconds, 3) for recording in recordings],
        "recorded_channels": recordings[0].waveform.shape[0],
        "recorded_sample_rate": rate,
        "start": round(speech.start, 3),
        "speech_seconds": round(sum(span.seconds for span in speech.spans), 3),
        "clipped_share": round(clipped, 6),
        "noise_below_speech_db": None if noise is None else round(noise, 1),
    }


def _window(speech: _Speech, longest: float, facts: dict[str, Any], ctx: RequestContext) -> Span:
    """All of it, or the best passage that is short enough."""
    whole = Span(0.0, speech.audio.seconds)
    if whole.seconds <= longest:
        return whole
    window = reference.best_window(speech.audio, speech.spans, max(_ROUNDING_S, longest - _ROUNDING_S))
    facts["start"] = round(speech.start + window.start, 3)
    ctx.report.warn(
        "window", f"The recording is longer than {longest:g} s; the best {window.seconds:.1f} s were taken."
    )
    return window


def _levelled(audio: Audio, preparation: Preparation) -> Audio:
    """As loud as wanted; in any case no peak stays beyond full scale, which no engine has heard in its training."""
    if preparation.loudness is not None:
        gain = gain_for(audio, preparation.loudness, PEAK_DBFS)
    else:
        gain = min(1.0, decibels_as_factor(PEAK_DBFS) / peak) if (peak := _peak(audio)) > 1.0 else 1.0
    return Audio(audio.waveform * gain, audio.sample_rate)


def _level(audio: Audio) -> dict[str, Any]:
    loudness, peak = integrated_loudness(audio), _peak(audio)
    return {
        "loudness_lufs": round(loudness, 2) if math.isfinite(loudness) else None,
        "peak_dbfs": round(20 * math.log10(peak), 2) if peak else None,
    }


def _words_in(speech: _Speech, window: Span, words: str, heard: Transcript | None) -> str | None:
    """The words of a window; "" if there never were any, None if there were and nobody knows these."""
    if heard is None:
        return None if words.strip() else ""
    voices = [Span(speech.start + span.start, speech.start + span.end) for span in speech.spans]
    return excerpt(heard, Span(speech.start + window.start, speech.start + window.end), voices)
