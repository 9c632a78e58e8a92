"""Outlines of recordings."""

import pytest
import torch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.outline import LOUDEST, outline

RATE = 8000


def test_loud_and_silent_parts_are_where_they_are():
    samples = torch.zeros(2, 10 * RATE)
    samples[1, 5 * RATE :] = -0.5
    drawn = outline(Audio(samples, RATE))
    assert len(drawn) == 200
    assert drawn[:100] == [0] * 100 and set(drawn[100:]) == {round(LOUDEST / 2)}


@pytest.mark.parametrize(("seconds", "num"), [(1, 80), (30, 600), (3600, 1200)])
def test_no_more_and_no_less_than_a_picture_needs(seconds, num):
    assert len(outline(Audio(torch.zeros(1, seconds * 100), 100))) == num


def test_few_samples_and_none():
    assert outline(Audio(torch.tensor([[0.5, -2.0, 0.0]]), RATE)) == [50, LOUDEST, 0]
    assert outline(Audio(torch.zeros(1, 0), RATE)) == []
