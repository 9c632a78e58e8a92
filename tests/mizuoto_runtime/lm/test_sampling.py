"""The sampler against transformers' processors: equal scores, equal draws."""

from __future__ import annotations

import math

import pytest
import torch

transformers = pytest.importorskip("transformers")

from mizuoto.mizuoto_runtime.errors import InvalidRequest  # noqa: E402
from mizuoto.mizuoto_runtime.lm.sampling import Sampler, Sampling, warped  # noqa: E402

CPU = torch.device("cpu")
STEPS = 25


def rows(batch, vocab_size, seed, *, levels=None, scale=3.0):
    """Random logits; with `levels` few different values, so that many tie."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(batch, vocab_size, generator=generator) * scale
    return drawn if levels is None else (drawn * levels / scale).round() * scale / levels


def processors(sampling, suppressed=(), eos_ids=(), min_new_tokens=0):
    """What `generate` puts together for the same settings."""
    steps = transformers.LogitsProcessorList()
    if sampling.repetition_penalty != 1.0:
        steps.append(transformers.RepetitionPenaltyLogitsProcessor(sampling.repetition_penalty))
    if min_new_tokens:
        steps.append(transformers.MinNewTokensLengthLogitsProcessor(0, min_new_tokens, list(eos_ids)))
    if suppressed:
        steps.append(transformers.SuppressTokensLogitsProcessor(list(suppressed)))
    if not sampling.do_sample:
        return steps
    if sampling.temperature != 1.0:
        steps.append(transformers.TemperatureLogitsWarper(sampling.temperature))
    if sampling.top_k:
        steps.append(transformers.TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1.0:
        steps.append(transformers.TopPLogitsWarper(sampling.top_p))
    return steps


def theirs(logits, sampling, seed, **rules):
    """[B, T] tokens that transformers chooses for [T, B, V] logits."""
    steps, generator = processors(sampling, **rules), torch.Generator().manual_seed(seed)
    ids = torch.zeros(logits.shape[1], 0, dtype=torch.int64)
    for row in logits:
        scores = steps(ids, row.clone())
        if sampling.do_sample:
            chosen = torch.multinomial(scores.softmax(-1), 1, generator=generator)
        else:
            chosen = scores.argmax(-1, keepdim=True)
        ids = torch.cat((ids, chosen), 1)
    return ids


def ours(logits, sampling, seed, **rules):
    sampler, generator = Sampler(sampling, *logits.shape[1:], CPU, **rules), torch.Generator().manual_seed(seed)
    return torch.stack([sampler.pick(row, generator) for row in logits], 1)


CASES = {
    "plain": Sampling(),
    "talker": Sampling(temperature=0.9, top_k=50, repetition_penalty=1.05),
    "both": Sampling(temperature=0.8, top_k=20, top_p=0.9, repetition_penalty=1.3),
    "top-p": Sampling(top_p=0.7),
    "top-p 0": Sampling(top_p=0.0),
    "top-p 0 of few": Sampling(top_k=5, top_p=0.0),
    "top-p almost 1": Sampling(top_k=7, top_p=1 - 1e-7),
    "top-k 1": Sampling(top_k=1),
    "top-k beyond": Sampling(top_k=10_000, top_p=0.8),
    "rewarded": Sampling(temperature=1.7, repetition_penalty=0.7),
    "greedy": Sampling(do_sample=False, temperature=0.3, top_k=3, repetition_penalty=1.5),
}


@pytest.mark.parametrize("levels", [None, 4], ids=["distinct", "tied"])
@pytest.mark.parametrize("sampling", CASES.values(), ids=CASES.keys())
def test_draws_equal_transformers(sampling, levels):
    for seed in range(8):
        logits = torch.stack([rows(2, 97, 100 * seed + step, levels=levels) for step in range(STEPS)])
        assert torch.equal(ours(logits, sampling, seed), theirs(logits, sampling, seed))


@pytest.mark.parametrize("levels", [None, 2, 6, 40], ids=str)
@pytest.mark.parametrize("sampling", CASES.values(), ids=CASES.keys())
def test_scores_equal_transformers(sampling, levels):
    only_warps = Sampling(True, sampling.temperature, sampling.top_k, sampling.top_p)
    for seed in range(30):
        scores = rows(3, 301, seed, levels=levels)
        expected = processors(only_warps)(torch.zeros(3, 0, dtype=torch.int64), scores.clone())
        assert torch.equal(warped(scores, only_warps), expected)


@pytest.mark.parametrize("sampling", CASES.values(), ids=CASES.keys())
def test_suppressed_and_early_ends_equal_transformers(sampling):
    rules = {"suppressed": [*range(60, 90), 95], "eos_ids": [3, 92], "min_new_tokens": 6}
    logits = torch.stack([rows(3, 97, step) for step in range(STEPS)])
    logits[..., [3, 92]] += 12.0  # the ends are what every row would say
    found = ours(logits, sampling, 5, **rules)
    assert torch.equal(found, theirs(logits, sampling, 5, **rules))
    is_end = (found == 3) | (found == 92)
    assert not is_end[:, :6].any()
    assert is_end[:, 6:].any()


def test_fewer_tokens_than_top_k_are_left():
    sampling = Sampling(top_k=50, top_p=0.9)
    rules = {"suppressed": range(5, 97)}
    logits = torch.stack([rows(2, 97, step) for step in range(STEPS)])
    assert torch.equal(ours(logits, sampling, 1, **rules), theirs(logits, sampling, 1, **rules))


def test_every_score_ties():
    for sampling in (Sampling(top_k=5), Sampling(top_k=5, top_p=0.5), Sampling(top_p=0.5)):
        logits = torch.ones(STEPS, 2, 33)
        assert torch.equal(ours(logits, sampling, 2), theirs(logits, sampling, 2))


@pytest.mark.parametrize("vocab_size", [3072, 65_536])
def test_large_vocabularies_and_halved_logits_equal_transformers(vocab_size):
    sampling = Sampling(temperature=0.9, top_k=50, top_p=0.95, repetition_penalty=1.05)
    logits = torch.stack([rows(1, vocab_size, step) for step in range(STEPS)]).bfloat16()  # rounds to many ties
    assert torch.equal(ours(logits, sampling, 7), theirs(logits.float(), sampling, 7))


def test_logits_stay_as_they_are_and_the_generator_alone_is_used():
    logits, before = rows(1, 97, 0), torch.get_rng_state()
    kept = logits.clone()
    Sampler(CASES["both"], 1, 97, CPU, suppressed=[1]).pick(logits, torch.Generator().manual_seed(0))
    assert torch.equal(logits, kept)
    assert torch.equal(torch.get_rng_state(), before)


def test_penalty_turns_the_row_that_chose_the_token_and_no_other():
    sampler = Sampler(Sampling(do_sample=False, repetition_penalty=10.0), 2, 3, CPU)
    first = torch.tensor([[4.0, 3.0, 0.0], [3.0, 4.0, 0.0]])
    assert sampler.pick(first, None).tolist() == [0, 1]
    assert sampler.pick(torch.tensor([[4.0, 3.0, 0.0]] * 2), None).tolist() == [1, 0]
    assert sampler.pick(torch.tensor([[-1.0, -9.0, -8.0]] * 2), None).tolist() == [2, 2]  # -10, -90, -8


@pytest.mark.parametrize(
    "values", [{"temperature": 0.0}, {"top_k": -1}, {"top_p": 1.5}, {"top_p": math.nan}, {"repetition_penalty": 0.0}]
)
def test_value_out_of_range_is_named(values):
    with pytest.raises(InvalidRequest, match=next(iter(values))):
        Sampling(**values)
