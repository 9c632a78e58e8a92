import pytest
import torch
from mizuoto.engines.joining import FADE_S, SILENCE, Sound, join
from mizuoto.mizuoto_runtime.text.pauses import CLAUSE_PAUSE_S, SENTENCE_PAUSE_S

RATE = 1000


def tone(seconds, silence_before=0.0, silence_after=0.0):
    """[1, T] with faint noise where nothing sounds."""
    before, sound, after = (round(part * RATE) for part in (silence_before, seconds, silence_after))
    noise = torch.rand(1, before + sound + after, generator=torch.Generator().manual_seed(0)) * SILENCE * 0.9
    noise[:, before : before + sound] = torch.sin(torch.arange(sound) * 0.7 + 0.5) * 0.5 + 0.1
    return noise


def sounds(parts, texts):
    return [part if isinstance(part, float) else Sound(part, text) for part, text in zip(parts, texts, strict=True)]


def test_one_segment_comes_back_as_it_is():
    only = tone(0.1, 0.3, 0.3)
    waveform, places = join([Sound(only, "One.")], RATE)
    assert waveform is only
    assert places == [(0, 700)]


@pytest.mark.parametrize("silence", [0.0, 0.05, 0.6])
def test_pauses_neither_stack_nor_vanish(silence):
    parts = [tone(0.2, silence, silence) for _ in range(3)]
    joined, _ = join(sounds(parts, ["One.", "two,", "three."]), RATE)
    loud = (joined[0].abs() > SILENCE).nonzero()[:, 0]
    gaps = [int(gap) - 1 for gap in loud.diff() if gap > 20]
    assert gaps == pytest.approx([SENTENCE_PAUSE_S * RATE, CLAUSE_PAUSE_S * RATE], abs=2)  # a fade begins at zero
    assert loud[0] == pytest.approx(silence * RATE, abs=1)  # the ends stay
    assert joined.shape[-1] - 1 - loud[-1] == pytest.approx(silence * RATE, abs=1)


@pytest.mark.parametrize("seconds", [0.05, 2.0])
def test_a_pause_that_the_text_asks_for_takes_the_place_of_the_usual_one(seconds):
    parts = [0.3, tone(0.2, 0.1, 0.1), seconds, tone(0.2, 0.1, 0.1), 0.7]
    joined, places = join(sounds(parts, ["", "One.", "", "Two.", ""]), RATE)
    assert places == [(300, 500), (500 + round(seconds * RATE), 700 + round(seconds * RATE))]
    assert joined.shape[-1] == places[1][1] + 700
    silent = torch.ones(joined.shape[-1], dtype=torch.bool)
    for start, end in places:
        silent[start:end] = False
    assert not joined[0, silent].any()


def test_what_sounds_is_kept_to_the_sample():
    parts = [tone(0.2, 0.1, 0.1), tone(0.3, 0.1, 0.1)]
    joined, places = join(sounds(parts, ["One.", "Two."]), RATE)
    fade = round(FADE_S * RATE)
    assert places == [(0, 300), (300 + round(SENTENCE_PAUSE_S * RATE), 700 + round(SENTENCE_PAUSE_S * RATE))]
    for part, (start, end), kept in zip(parts, places, [slice(0, 300), slice(100, 500)], strict=True):
        assert torch.equal(joined[0, start:end][fade:-fade], part[0, kept][fade:-fade])
    assert not joined[:, places[0][1] : places[1][0]].any()


def test_no_joint_is_a_click():
    cut = torch.full((1, 400), 0.8)  # sounds up to its edges
    joined, _ = join(sounds([cut.clone(), cut.clone(), 0.2, cut.clone()], ["in the", "middle", "", "cut"]), 24000)
    assert joined.diff().abs().max() <= 0.8 / (FADE_S * 24000) * 1.01


def test_soft_edges_are_left_alone():
    soft = torch.sin(torch.linspace(0, torch.pi, 500))[None] * 0.5
    joined, places = join(sounds([soft.clone(), soft.clone()], ["One.", "Two."]), 24000)
    loud = soft[:, (soft[0].abs() > SILENCE).nonzero()[0, 0] :]
    assert torch.equal(joined[:, places[1][0] :], loud)


def test_the_waveforms_are_taken_out_so_that_memory_is_free():
    parts = sounds([tone(0.1), tone(0.1)], ["a", "b"])
    join(parts, RATE)
    assert [part.waveform for part in parts] == [None, None]


def test_a_segment_of_silence_only_takes_no_time():
    joined, places = join(sounds([tone(0.2), torch.zeros(1, 500), tone(0.2)], ["One.", "Two.", "Three."]), RATE)
    assert places[1][0] == places[1][1]
    assert joined.shape[-1] == 400 + 2 * round(SENTENCE_PAUSE_S * RATE)
