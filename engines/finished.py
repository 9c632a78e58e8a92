"""Segments that were spoken before: found again by everything that makes their sound."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import replace

import torch

from ..mizuoto_runtime.byte_cache import ByteCache
from .artifacts import Segment, VoicePrompt
from .script import Group, Utterance

Sound = tuple[Segment, torch.Tensor, int]
"""A segment with its waveform [1, T] and sample rate."""
Sounds = dict[int, list[Sound]]
"""Place in a group -> its segments; what could not be said is missing."""
SegmentCache = ByteCache[Sounds]


class FinishedSegments:
    """What a cache knows of the segments of one model.

    Args:
        cache: Of one loaded model, so that the key need not tell checkpoint, precision and device; None keeps nothing.
    """

    def __init__(self, cache: SegmentCache | None) -> None:
        self._cache = cache
        self._voices: dict[int, str] = {}
        self.num_found = 0

    def find(self, group: Group) -> Sounds | None:
        """The sounds of a group that was spoken alike before."""
        sounds = None if self._cache is None else self._cache.get(self._key(group))
        if sounds is None:
            return None
        self.num_found += len(group.utterances)
        return {
            at: [(group.utterances[at].signed(segment), waveform.clone(), rate) for segment, waveform, rate in of]
            for at, of in sounds.items()
        }

    def keep(self, group: Group, sounds: Sounds) -> None:
        """Remember the sounds of a group, of which all were said."""
        if self._cache is None or len(sounds) < len(group.utterances):
            return
        # Only the sound: codes would need memory, too, and nobody asks for them. A copy, in and out: whoever gets a
        # recording of one segment may write into it.
        bare = {
            at: [(replace(segment, tensors={}), waveform.clone(), rate) for segment, waveform, rate in of]
            for at, of in sounds.items()
        }
        num_bytes = sum(waveform.nbytes for of in bare.values() for _, waveform, _ in of)
        self._cache.put(self._key(group), bare, num_bytes)

    def _key(self, group: Group) -> Hashable:
        """Texts, voice, options and seed: utterances of one group share their draws."""
        opening = group.utterances[0].opening
        return self._facts(group.utterances), None if opening is None else self._facts((opening,))

    def _facts(self, utterances: Sequence[Utterance]) -> Hashable:
        first, texts = utterances[0], tuple(utterance.text for utterance in utterances)
        return texts, first.seed, tuple(sorted(first.options.items())), self._digest(first.voice)

    def _digest(self, voice: VoicePrompt | None) -> str:
        if voice is None:
            return ""
        if id(voice) not in self._voices:
            self._voices[id(voice)] = _digest(voice)
        return self._voices[id(voice)]


def _digest(voice: VoicePrompt) -> str:
    digest = hashlib.blake2b(repr((voice.engine, voice.name, sorted(voice.facts.items()))).encode())
    for name, tensor in sorted(voice.tensors.items()):
        digest.update(repr((name, tensor.dtype, tuple(tensor.shape))).encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
