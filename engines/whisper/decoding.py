"""One window of audio as tokens and text, attempted at rising temperatures until an attempt is good enough.

Source: DecodingTask, openai-whisper 20250625 decoding.py, and decode_with_fallback in transcribe.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .beam import BeamSearch
from .model import DecoderState, WhisperModel
from .rules import TokenRules
from .search import Search, SingleSearch
from .settings import Settings


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was read out of a window.

    Attributes:
        ids: Tokens, times among them.
        text: Their text, no spaces around it.
        avg_logprob: Mean log probability of a token, the end of text counted.
        no_speech_prob: Probability that nobody speaks.
        temperature: Of the draws; 0 if there were none.
    """

    ids: tuple[int, ...]
    text: str
    avg_logprob: float
    no_speech_prob: float
    temperature: float

    @property
    def compression_ratio(self) -> float:
        """Bytes of the text over those that zlib needs for it; high where it repeats itself."""
        data = self.text.encode()
        return len(data) / len(zlib.compress(data))


def decode(model: WhisperModel, features: torch.Tensor, context: Sequence[int], settings: Settings) -> Attempt:
    """The first attempt at a window that does not fail, or the last one.

    Args:
        model: Within its decoding phase.
        features: [1, 1500, d].
        context: Tokens written before the window; the last ones that fit are read.
        settings: The temperatures, and when an attempt has failed.
    """
    attempts = (attempt_at(model, features, context, temperature, settings) for temperature in settings.temperatures)
    for attempt in attempts:
        if not has_failed(attempt, settings):
            break
    return attempt


def has_failed(attempt: Attempt, settings: Settings) -> bool:
    """Whether an attempt repeats itself or is too improbable, and is no silence."""
    if is_improbable(attempt, settings):
        return attempt.no_speech_prob <= settings.no_speech_threshold
    return is_repetitive(attempt, settings)


def is_repetitive(attempt: Attempt, settings: Settings) -> bool:
    """Whether the text says the same again and again."""
    return attempt.compression_ratio > settings.compression_ratio_threshold


def is_improbable(attempt: Attempt, settings: Settings) -> bool:
    """Whether the model itself hardly believes the tokens."""
    return attempt.avg_logprob < settings.logprob_threshold


def is_silent(attempt: Attempt, settings: Settings) -> bool:
    """Whether the window is to be taken for silence and its text left out."""
    return (
        attempt.no_speech_prob > settings.no_speech_threshold and not attempt.avg_logprob > settings.logprob_threshold
    )


def attempt_at(
    model: WhisperModel, features: torch.Tensor, context: Sequence[int], temperature: float, settings: Settings
) -> Attempt:
    """One attempt at a window; beam search at temperature 0 if settings ask for it, otherwise one row.

    Args:
        model: Within its decoding phase.
        features: [1, 1500, d].
        context: Tokens written before the window.
        temperature: Of the draws; 0 for none.
        settings: Language, task and beam size.
    """
    tokens, num_positions = model.tokens, model.config.max_positions
    is_beam = temperature == 0 and settings.beam_size > 1
    num_rows = settings.beam_size if is_beam else 1
    state = model.start(features, num_rows)
    search: Search
    if is_beam:
        search = BeamSearch(num_rows, tokens.eot, state.reorder)
    else:
        search = SingleSearch(temperature, tokens.eot, model.generator)
    before = list(context)[-(num_positions // 2 - 1) :]
    if before:
        before.insert(0, tokens.sot_prev)
    ids = [*before, *tokens.start(settings.language, settings.task)]
    no_speech_prob = _write(model, state, search, ids, sot_index=len(before))
    candidates = search.candidates()
    best = max(candidates, key=lambda candidate: candidate.sum_logprob / len(candidate.ids))
    return Attempt(
        ids=best.ids,
        text=tokens.decode(best.ids).strip(),
        avg_logprob=best.sum_logprob / (len(best.ids) + 1),
        no_speech_prob=no_speech_prob,
        temperature=temperature,
    )


def _write(model: WhisperModel, state: DecoderState, search: Search, ids: Sequence[int], sot_index: int) -> float:
    """Let `search` write after `ids` until it is over or the positions are used up; the probability of no speech."""
    num_positions = model.config.max_positions
    new = torch.tensor(ids, device=model.device).expand(len(search.rows), -1)
    logits = state.logits(new)
    no_speech_prob = float(logits[0, sot_index].softmax(-1)[model.tokens.no_speech])
    rules = TokenRules(model.tokens, logits.shape[-1], logits.device)
    for written in range(1, num_positions // 2 + 1):
        model.check_cancel()
        scores = logits[:, -1]
        rules.apply(scores, search.rows)
        if search.advance(scores) or written == num_positions // 2 or len(ids) + written > num_positions:
            break
        new = torch.tensor([row[-1:] for row in search.rows], device=model.device)
        logits = state.logits(new)
    return no_speech_prob
