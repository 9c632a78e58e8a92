import json

import pysubs2
import pytest
import torch
from mizuoto.engines.recording import Take
from mizuoto.engines.timeline import lines, to_json, to_subtitles
from mizuoto.mizuoto_runtime.audio import Audio

TAKES = [
    Take("Good morning.", "Anna", 1, 5, 0.0, 1.0),
    Take("Did you sleep well?", "Anna", 1, 6, 1.5, 2.5),
    Take("No.", "Ben", 2, 7, 3.0, 3.5),
]
AUDIO = Audio(torch.arange(4000.0)[None], 1000)


def test_json():
    assert json.loads(to_json(TAKES))[2] == {
        "text": "No.", "speaker": "Ben", "line": 2, "seed": 7, "start": 3.0, "end": 3.5,
    }  # fmt: skip


def test_subtitles_name_the_speakers_where_there_are_several():
    found = pysubs2.SSAFile.from_string(to_subtitles(TAKES))
    assert [(event.start, event.end, event.plaintext) for event in found] == [
        (0, 1000, "Anna: Good morning."), (1500, 2500, "Anna: Did you sleep well?"), (3000, 3500, "Ben: No."),
    ]  # fmt: skip
    assert "Anna" not in to_subtitles(TAKES[:2])


def test_lines_are_cut_out_of_the_recording():
    found = lines(AUDIO, TAKES)
    assert [(float(line.waveform[0, 0]), line.waveform.shape[-1]) for line in found] == [(0.0, 2500), (3000.0, 500)]
    assert {line.sample_rate for line in found} == {1000}


@pytest.mark.parametrize("rate", [24000, 48000, 44100])
def test_lines_are_right_to_the_sample(rate):
    samples = torch.arange(rate * 2, dtype=torch.float64)[None]
    places = [(start, start + 7) for start in range(1, rate * 2 - 7, 977)]
    takes = [Take("x", "", 0, 0, round(start / rate, 6), round(end / rate, 6)) for start, end in places]
    found = lines(Audio(samples, rate), takes)
    assert [(int(line.waveform[0, 0]), line.waveform.shape[-1]) for line in found] == [
        (start, 7) for start, _ in places
    ]


def test_a_line_is_a_copy():
    audio = Audio(torch.ones(1, 4000), 1000)
    lines(audio, TAKES)[0].waveform.zero_()
    assert audio.waveform.all()


def test_without_lines_every_segment_is_one():
    plain = [Take("One.", "", 0, 0, 0.0, 1.0), Take("Two.", "", 0, 0, 1.5, 2.0)]
    assert [line.seconds for line in lines(AUDIO, plain)] == [1.0, 0.5]
