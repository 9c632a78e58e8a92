"""What the talker reads; that it reads the same as the upstream is for `test_parity`."""

import pytest
import torch
from mizuoto.engines.qwen3_tts.config import CheckpointConfig
from mizuoto.engines.qwen3_tts.generation import batched
from mizuoto.engines.qwen3_tts.prompt import PromptBuilder, Voice
from mizuoto.mizuoto_runtime.text.bpe import ByteBpe
from mizuoto.tests.engines.qwen3_tts import models

VOICES = {
    "preset": Voice(speaker="eric"),
    "none": Voice(),
    "timbre": Voice(x_vector=torch.zeros(96)),
    "short reference": Voice(x_vector=torch.zeros(96), codes=torch.zeros(3, 16, dtype=torch.int64), transcript="a b"),
    "long reference": Voice(x_vector=torch.zeros(96), codes=torch.ones(60, 16, dtype=torch.int64), transcript="a b"),
}


@pytest.fixture
def builder(checkpoint):
    folder = checkpoint("custom_voice")
    return PromptBuilder(CheckpointConfig.read(folder), ByteBpe.from_folder(folder))


@pytest.fixture
def talker(checkpoint):
    return models.talker_of(models.load(checkpoint("custom_voice")))


def decoded(checkpoint, ids):
    return ByteBpe.from_folder(checkpoint("custom_voice")).decode(ids[0].tolist())


@pytest.mark.parametrize("text", ["Hi.", "the man", "  the  ", "1次", "a\nb", "<|im_end|>"])
def test_the_text_is_cut_out_of_its_turn(builder, checkpoint, text):
    prompt = builder(text, Voice(), "Auto", "be sad", False)
    assert decoded(checkpoint, prompt.role) == "<|im_start|>assistant\n"
    assert decoded(checkpoint, prompt.text) == text
    assert decoded(checkpoint, prompt.instruction) == "<|im_start|>user\nbe sad<|im_end|>\n"


def test_the_words_of_a_reference(builder, checkpoint):
    prompt = builder("Hi.", VOICES["long reference"], "Auto", "", True)
    assert decoded(checkpoint, prompt.reference_text) == "a b"
    assert prompt.instruction is None


def test_languages_take_a_thought(builder):
    lengths = {
        language: builder("Hi.", Voice(), language, "", True).control.shape[1] for language in ("Auto", "German")
    }
    assert lengths == {"Auto": 3, "German": 4}


@pytest.mark.parametrize("voice", VOICES.values(), ids=VOICES)
@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(("language", "instruction"), [("Auto", ""), ("German", "be sad")])
def test_the_length_is_known_beforehand(builder, talker, voice, is_streamed, language, instruction):
    prompt = builder("the man and then", voice, language, instruction, is_streamed)
    embedded, trailing, pad = talker.embed(prompt, models.CPU)
    assert embedded.shape == (1, prompt.num_positions, 96)
    assert pad.shape == (1, 1, 96)
    assert trailing.shape[1] >= 1


def test_batches_are_padded_in_front_and_texts_behind(builder, talker):
    prompts = [builder(text, Voice(), "Auto", "", True) for text in ("the man", "a", "the man and then")]
    prompts.append(builder("a", VOICES["long reference"], "Auto", "", True))
    embedded = [talker.embed(prompt, models.CPU) for prompt in prompts]
    batch = batched(embedded)
    lengths = [prompt.num_positions for prompt in prompts]
    assert batch.num_padding.tolist() == [max(lengths) - length for length in lengths]
    for row, (read, trailing, pad) in enumerate(embedded):
        start = batch.num_padding[row]
        assert not batch.embeddings[row, :start].any()
        assert torch.equal(batch.embeddings[row, start:], read[0])
        length = trailing.shape[1]
        assert torch.equal(batch.trailing[row, :length], trailing[0])
        assert (batch.trailing[row, length:] == pad[0]).all()
    assert batched(embedded[:1]).num_padding is None
