import pytest
import torch
from mizuoto.engines.joining import CLAUSE_PAUSE_S, SENTENCE_PAUSE_S, SILENCE, WORD_PAUSE_S, join, pause_after

RATE = 1000


def tone(seconds, silence_before=0.0, silence_after=0.0):
    """[1, T] with faint noise where nothing sounds."""
    before, sound, after = (round(part * RATE) for part in (silence_before, seconds, silence_after))
    noise = torch.rand(1, before + sound + after, generator=torch.Generator().manual_seed(0)) * SILENCE * 0.9
    noise[:, before : before + sound] = torch.sin(torch.arange(sound) * 0.7 + 0.5) * 0.5 + 0.1
    return noise


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("End.", SENTENCE_PAUSE_S),
        ('He said "end!"', SENTENCE_PAUSE_S),
        ("终于。", SENTENCE_PAUSE_S),
        ("first, ", CLAUSE_PAUSE_S),
        ("一，", CLAUSE_PAUSE_S),
        ("cut in the", WORD_PAUSE_S),
        ("", WORD_PAUSE_S),
    ],
)
def test_the_pause_follows_the_text(text, seconds):
    assert pause_after(text) == seconds


def test_one_segment_comes_back_as_it_is():
    only = tone(0.1, 0.3, 0.3)
    assert join([only], ["One."], RATE) is only


@pytest.mark.parametrize("silence", [0.0, 0.05, 0.6])
def test_pauses_neither_stack_nor_vanish(silence):
    parts = [tone(0.2, silence, silence) for _ in range(3)]
    joined = join(list(parts), ["One.", "two,", "three."], RATE)
    loud = (joined[0].abs() > SILENCE).nonzero()[:, 0]
    gaps = [int(gap) - 1 for gap in loud.diff() if gap > 20]
    assert gaps == [round(SENTENCE_PAUSE_S * RATE), round(CLAUSE_PAUSE_S * RATE)]
    assert loud[0] == round(silence * RATE)  # the ends stay
    assert joined.shape[-1] - 1 - loud[-1] == round(silence * RATE)


def test_what_sounds_is_kept_to_the_sample_and_the_joint_is_no_click():
    parts = [tone(0.2, 0.1, 0.1), tone(0.3, 0.1, 0.1)]
    joined = join(list(parts), ["One.", "Two."], RATE)
    start, rest = round(0.3 * RATE), round((0.3 + SENTENCE_PAUSE_S) * RATE)
    assert torch.equal(joined[:, :start], parts[0][:, :start])
    assert torch.equal(joined[:, rest:], parts[1][:, round(0.1 * RATE) :])
    assert not joined[:, start:rest].any()


def test_the_list_is_emptied_so_that_memory_is_free():
    parts = [tone(0.1), tone(0.1)]
    join(parts, ["a", "b"], RATE)
    assert not parts
