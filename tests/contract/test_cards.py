"""The stand-alone manager on cards of every size: two engines take turns, and neither can tell."""

import itertools

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.mizuoto_runtime.memory.policy import WHOLE_MODES
from mizuoto.mizuoto_runtime.settings import VRAM_MODES
from mizuoto.tests.contract.card import ROOMY, Card, handles_of
from mizuoto.tests.contract.subjects import differences, voice_for

NEIGHBOUR = "chatter"
STEPS = 4


class Pair:
    """The engine under test and a neighbour on one card."""

    def __init__(self, find, name, expected):
        self.card, self.names, self.expected = Card(), (name, NEIGHBOUR), expected
        self.subjects = [find(name).briefly(), find(NEIGHBOUR).briefly()]
        self.models = [self.card.load(subject) for subject in self.subjects]
        self.both = range(2)
        self.run(*self.both)
        self.least = max(least for least, *_ in self.card.memory.phases)
        weights = sum(handle.size_bytes for handle in handles_of(*self.models))
        self.everything = weights + max(working for _, working, _ in self.card.memory.phases)

    def run(self, *turns):
        """Reports of the requests, whose outputs are checked."""
        return [self._run(turn) for turn in turns]

    def _run(self, turn):
        subject = self.subjects[turn]
        found, report = self.card.run(subject, self.models[turn], subject.requests()[0])
        assert differences(found, self.expected(self.names[turn], 0, True)) == []
        return report

    def sizes(self):
        """From just the largest minimum to everything."""
        return [self.least + step * (self.everything - self.least) // STEPS for step in range(STEPS + 1)]

    def of(self, turn):
        return self.models[turn].handles


@pytest.fixture(scope="module")
def pair(find, name, expected):
    return Pair(find, name, expected)


def test_taking_turns_on_every_size_of_card(pair):
    for capacity in pair.sizes():
        pair.card.clear(pair.models, capacity)
        pair.card.memory.phases.clear()
        reports = pair.run(0, 1, 0, 1)
        assert [report.applied for report in reports] == [{}] * 4
        assert pair.card.simulated.peak_bytes <= capacity
        assert pair.card.simulated.used_bytes == sum(handle.loaded_bytes for handle in handles_of(*pair.models))
        for least, working, free in pair.card.memory.phases:
            assert free >= min(working, capacity - least), (capacity, least, working, free)
    assert all(handle.is_whole for handle in handles_of(*pair.models))


@pytest.mark.parametrize("mode", VRAM_MODES)
def test_the_mode_never_changes_results(find, name, expected, mode):  # M10
    subject, card = find(name).briefly(), Card(vram_mode=mode)
    model = card.load(subject)
    split = [handle for handle in model.handles if handle.layout.units]
    for capacity in (ROOMY, None):
        least = max((least for least, *_ in card.memory.phases), default=0)
        card.clear([model], capacity or least)
        found, _ = card.run(subject, model, subject.requests()[0])
        assert differences(found, expected(name, 0, True)) == []
        if capacity:
            assert [handle.is_whole for handle in split] == [mode not in ("low", "none")] * len(split)
        elif mode not in WHOLE_MODES:
            assert sum(handle.loaded_bytes for handle in model.handles) <= least


def test_models_in_use_stay(pair):  # S149
    for mine, theirs in itertools.permutations(pair.both):
        pair.card.clear(pair.models)
        ctx = pair.card.runtime.context()
        with ctx.use("held", pair.of(mine)):
            before = [(handle.is_whole, handle.loaded_bytes) for handle in pair.of(mine)]
            assert all(is_whole for is_whole, _ in before)
            pair.card.simulated.total_bytes = pair.card.simulated.used_bytes + pair.least
            pair.run(theirs)
            assert [(handle.is_whole, handle.loaded_bytes) for handle in pair.of(mine)] == before
        pair.run(mine)


def test_audio_that_is_taken_slowly_survives_a_neighbour(pair):  # S101
    subject, model = pair.subjects[0], pair.models[0]
    if not subject.speaks:
        pytest.skip("it gives no audio")
    for capacity in (pair.everything, pair.least):
        pair.card.clear(pair.models, capacity)
        seed, options = subject.requests()[0]
        ctx = pair.card.runtime.context(seed)
        codes = speech.talk(model, subject.text, voice_for(model, ctx), options, ctx)
        pieces = []
        for chunk in model.decode(codes, ctx.seeded(codes.segments[0].seed)):
            pieces.append(chunk.waveform)
            pair.card.simulated.total_bytes = max(capacity, pair.card.simulated.used_bytes + pair.least)
            pair.run(1)
        found = {"waveform": torch.cat(pieces, dim=-1)}
        wanted = {"waveform": pair.expected(pair.names[0], 0, True)["waveform"]}
        assert differences(found, wanted) == []
