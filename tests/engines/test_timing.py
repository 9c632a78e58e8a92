from itertools import pairwise

import pytest
import torch
from mizuoto.engines.base import Option, Options
from mizuoto.engines.cues import TimedText
from mizuoto.engines.joining import SILENCE
from mizuoto.engines.recording import Take
from mizuoto.engines.timing import OVERLAP, SHIFT, STRICT, Fit, faster, speak_at
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import InvalidRequest, NothingToSay
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings
from mizuoto.tests.engines.dummy import MANIFEST

RATE = 8000
SPEED = Option("speed", 1.0, "Pace.", low=0.5, high=1.8)


class Reader:
    """Needs as many tenths of a second as a text has characters, and brings silence along at both ends."""

    def __init__(self):
        self.calls = []

    def __call__(self, cue, seed, speed):
        text = cue.text
        if not text.isascii():
            raise NothingToSay(text)
        self.calls.append((text, seed, round(speed, 3)))
        seconds = len(text) / 10 / speed
        tone = 0.1 * torch.cos(torch.arange(round(seconds * RATE)) * 0.5)
        silence = torch.zeros(round(0.3 * RATE))
        waveform = torch.cat([silence, tone, silence])[None]
        return Audio(waveform, RATE), [Take(text, "", 0, seed, 0.0, waveform.shape[-1] / RATE)]


def cues(*entries):
    return [TimedText(start, end, text, number) for number, (start, end, text) in enumerate(entries, 1)]


def spoken(found, fit=Fit(), option=None, seed=5):  # noqa: B008 - frozen
    ctx, reader = Runtime(Settings()).context(seed), Reader()
    audio, takes = speak_at(found, fit, reader, option, ctx)
    return audio, takes, reader.calls, ctx.report


def onsets(audio):
    """Seconds at which sound begins after at least 50 ms of silence."""
    loud = (audio.waveform[0].abs() > SILENCE).nonzero()[:, 0]
    first = [int(loud[0]), *(int(after) for before, after in pairwise(loud) if after - before > 400)]
    return [at / RATE for at in first]


def test_every_cue_sounds_at_its_time_and_the_length_is_exact():
    audio, takes, calls, _ = spoken(cues((0.5, 2.0, "a" * 8), (2.5, 4.0, "b" * 5), (9.0, 12.34, "c" * 3)))
    assert onsets(audio) == pytest.approx([0.5, 2.5, 9.0], abs=0.001)
    assert audio.waveform.shape[-1] == round(12.34 * RATE)
    assert [(take.start, take.line) for take in takes] == [(0.5, 1), (2.5, 2), (9.0, 3)]
    assert [speed for *_, speed in calls] == [1.0] * 3
    assert len({seed for _, seed, _ in calls}) == 3 and calls[0][1] == 5


def test_a_changed_cue_leaves_the_others():
    one, *_ = spoken(cues((0, 1, "aaaa"), (1, 2, "bbbb"), (2, 3, "cccc")))
    other, *_ = spoken(cues((0, 1, "aaaa"), (1, 2, "bb"), (2, 3, "cccc")))
    assert torch.equal(one.waveform[:, :RATE], other.waveform[:, :RATE])
    assert torch.equal(one.waveform[:, 2 * RATE :], other.waveform[:, 2 * RATE :])


LONG = ((0.0, 1.0, "a" * 15), (1.0, 2.0, "bbb"))


def test_too_long_a_cue_is_spoken_faster():
    audio, _, calls, report = spoken(cues(*LONG), option=SPEED)
    assert [speed for *_, speed in calls] == [1.0, pytest.approx(1.545), 1.0]
    assert onsets(audio)[0] == 0.0
    assert audio.waveform.shape[-1] == 2 * RATE
    assert report.warnings == []


def test_no_faster_than_the_engine_can():
    _, _, calls, report = spoken(cues((0.0, 0.5, "a" * 30), (0.5, 2.0, "bbb")), option=SPEED)
    assert max(speed for *_, speed in calls) == 1.8
    assert report.warnings[0]["items"] == ["cue 2"]


def test_shift_lets_the_next_cue_wait():
    audio, takes, _, report = spoken(cues(*LONG), Fit(SHIFT, speeds=False), SPEED)
    assert takes[1].start == 1.5
    assert audio.waveform.shape[-1] == 2 * RATE
    assert (report.warnings[0]["code"], report.warnings[0]["items"]) == ("shifted", ["cue 2"])


def test_overlap_lets_both_sound():
    audio, takes, _, report = spoken(cues(*LONG), Fit(OVERLAP), None)
    assert [take.start for take in takes] == [0.0, 1.0]
    first, second = (0.1 * torch.cos(torch.arange(length) * 0.5) for length in (12000, 2400))
    assert torch.equal(audio.waveform[0, 8000:10400], first[8000:10400] + second)
    assert report.warnings == []


def test_strict_names_the_cue_that_is_too_long():
    with pytest.raises(InvalidRequest, match=r'Cue 1, "a{15}", is still heard when the next one begins'):
        spoken(cues(*LONG), Fit(STRICT), None)
    spoken(cues(*LONG), Fit(STRICT), SPEED)


def test_strict_refuses_a_last_cue_that_outlasts_the_file():
    with pytest.raises(InvalidRequest, match=r"Cue 1, .* is still heard when its time, and that of the file, is over"):
        spoken(cues((0.0, 0.5, "a" * 20)), Fit(STRICT), None)


def test_a_cue_that_cannot_be_said_stays_silent():
    audio, takes, _, _ = spoken(cues((0.0, 1.0, "aaa"), (1.0, 2.0, "好"), (2.0, 3.0, "bbb"), (3.0, 5.0, "好")))
    assert [take.line for take in takes] == [1, 3]
    assert audio.seconds == 5.0
    with pytest.raises(NothingToSay):
        spoken(cues((0.0, 1.0, "好")))


def test_the_last_speech_may_be_longer_than_the_file():
    audio, *_ = spoken(cues((0.0, 0.5, "a" * 20)))
    assert audio.seconds == pytest.approx(2.0, abs=0.001)


def test_cues_at_the_same_time_and_without_length():
    audio, takes, _, _ = spoken(cues((1.0, 1.0, "aaa"), (1.0, 3.0, "bbb")))
    assert [take.start for take in takes] == [1.0, pytest.approx(1.3, abs=1e-3)]
    assert audio.seconds == 3.0


@pytest.mark.parametrize("policy", [SHIFT, OVERLAP])
def test_a_cue_is_told_with_the_time_at_which_it_will_sound(policy):
    told = []
    ctx = Runtime(Settings()).context(5, on_segment=told.append)
    _, takes = speak_at(cues(*LONG), Fit(policy, speeds=False), Reader(), SPEED, ctx)
    assert (
        [segment.start for segment in told] == [take.start for take in takes] == [0.0, 1.5 if policy == SHIFT else 1.0]
    )


def test_a_sum_of_voices_is_not_clipped():
    audio, *_ = spoken(cues(*((0.0, 1.0, "aaaa") for _ in range(30))), Fit(OVERLAP))
    assert audio.waveform.abs().max() <= 1.0


def test_an_unknown_policy_is_refused():
    with pytest.raises(
        InvalidRequest, match=r'policy is "shfit"; choose one of shift, overlap, strict\. Did you mean "shift"'
    ):
        Fit("shfit")


def test_the_users_own_speed_counts():
    manifest = type(MANIFEST)(**{**{name: getattr(MANIFEST, name) for name in MANIFEST.__slots__}, "options": (SPEED,)})
    assert faster(Options("dummy", {"speed": 1.2}), manifest, 1.25).values == {"speed": 1.5}
    assert faster(None, manifest, 3.0).values == {"speed": 1.8}
    assert faster(None, manifest, 1.0) is None
    assert faster(None, MANIFEST, 1.5) is None


def test_every_cue_is_told_once_as_it_is_in_the_recording():
    told, found = [], cues((0.0, 1.0, "a" * 20), (3.0, 5.0, "b" * 5))
    ctx = Runtime(Settings()).context(5, on_segment=told.append)
    audio, takes = speak_at(found, Fit(), Reader(), SPEED, ctx)
    assert [(segment.number, segment.total, segment.text) for segment in told] == [(1, 2, "a" * 20), (2, 2, "b" * 5)]
    for segment, take in zip(told, takes, strict=True):
        assert segment.start == take.start
        start = round(take.start * RATE)
        samples = segment.audio.waveform
        assert torch.equal(samples, audio.waveform[:, start : start + samples.shape[1]])
    assert told[1].seconds == pytest.approx(sum(segment.audio.seconds for segment in told))
