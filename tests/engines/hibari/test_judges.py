"""What the judges say of the built-in voice: one speaker, and natural."""

import numpy as np
import pytest
from mizuoto.tests.engines.built_in import spoken
from mizuoto.tests.judge_voice import NATURAL, SAME_SPEAKER, mean_opinion_score, speaker_similarity
from mizuoto.tests.judges import SENTENCES
from mizuoto.tests.test_judges import CLIPS, clip


@pytest.fixture(scope="module")
def speech():
    return [spoken(sentence, seed) for seed, sentence in enumerate(SENTENCES)]


def test_it_is_one_speaker(speech):
    assert speaker_similarity(*speech[0], *speech[1]) >= SAME_SPEAKER
    assert speaker_similarity(*speech[2], *speech[4]) >= SAME_SPEAKER


@pytest.mark.parametrize("name", CLIPS)
def test_it_is_no_other_speaker(speech, name):
    assert speaker_similarity(*speech[0], *clip(name)) < SAME_SPEAKER


def test_it_sounds_natural(speech):
    assert np.mean([mean_opinion_score(*sentence) for sentence in speech]) >= NATURAL
