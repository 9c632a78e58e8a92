from unittest import mock

import pytest
import torch
from mizuoto.engines.f5_tts import prompt
from mizuoto.engines.f5_tts.symbols import Vocabulary
from mizuoto.engines.f5_tts.voice import voice_of
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.tests.engines.f5_tts import models, oracle


@pytest.fixture
def model(checkpoint):
    return models.load(checkpoint())


@pytest.fixture
def vocabulary(checkpoint):
    return Vocabulary(checkpoint() / "vocab.txt")


@pytest.mark.parametrize("words", ["This is the reference.", "no stop", "你好。"])
@pytest.mark.parametrize(("seconds", "speed"), [(0.7, 1.0), (3.0, 1.4), (11.9, 0.5)])
def test_pieces_are_as_long_as_upstreams(model, words, seconds, speed):
    voice, text = voice_of(models.voice(model, words, seconds=seconds)), "Hello there."
    with mock.patch.object(prompt, "split", return_value=[text]) as ours:
        prompt.chunks(text, voice, speed)
    recording = (models.reference(seconds).waveform, 24000)
    with (
        mock.patch.object(oracle.utils_infer, "chunk_text", return_value=[]) as theirs,
        mock.patch.object(oracle.utils_infer.torchaudio, "load", return_value=recording),
        mock.patch("builtins.print"),
    ):
        oracle.utils_infer.infer_process("", oracle.with_stop(words), text, None, None, show_info=str, speed=speed)
    assert ours.call_args.args[1] == max(16, theirs.call_args.kwargs["max_chars"])


def test_nothing_is_lost_between_pieces(model):
    text = "One two three, four five six seven. " * 12
    pieces = prompt.chunks(text, voice_of(models.voice(model, "Hi.", seconds=2.0)), 1.0)
    assert " ".join(pieces) == text.strip()
    assert len(pieces) > 5


def test_a_duration_is_shared_by_length():
    assert prompt.durations(["abcd", "你好"], 10.0) == [4.0, 6.0]
    assert prompt.durations(["abcd", "ab"], 0.0) == [0.0, 0.0]


def test_more_than_the_model_has_positions_for_is_refused(model, vocabulary):
    voice = voice_of(models.voice(model, "Hi.", seconds=9.0))
    with pytest.raises(InvalidRequest, match=r"would become \d+ s long and F5-TTS can make 87 s at once; shorten"):
        prompt.continuation("x" * 60, voice, vocabulary, 1.0, 0.0)


@pytest.mark.parametrize(("start", "end"), [(0.5, 0.2), (0.1, 9.0), (0.3, 0.3)])
def test_a_part_outside_the_reference_is_refused(model, start, end):
    with pytest.raises(InvalidRequest, match=r"and the reference of the voice is 0\.70 s long; set edit_start"):
        models.talk(model, "Hi.", models.voice(model), edit_start=start, edit_end=end)


def test_an_edit_leaves_the_rest_as_it_was(model):
    voice = models.voice(model)
    mel = models.talk(model, "Hi.", voice, edit_start=0.2, edit_end=0.4, edit_seconds=0.5, steps=1).segments[0].tensors
    start, end, blank = 19, 38, 47  # frames, 93.75 a second
    before, after = mel["mel"][:start], mel["mel"][start + blank :][: len(voice.tensors["mel"]) - end]
    assert torch.equal(before, voice.tensors["mel"][:start])
    assert torch.equal(after, voice.tensors["mel"][end:])
