"""Every stage against the upstream package on one checkpoint, bit for bit (CPU, float32, greedy).

Which of upstream's attentions is right, and where, stands in `oracle`.
"""

import numpy as np
import pytest
import torch
from mizuoto.engines.qwen3_asr.audio_encoder import num_positions
from mizuoto.engines.qwen3_asr.engine import mel_filters
from mizuoto.engines.qwen3_asr.generation import Choices, generate
from mizuoto.engines.qwen3_asr.manifest import LANGUAGE_NAMES
from mizuoto.mizuoto_runtime.lm.sampling import Sampling
from mizuoto.mizuoto_runtime.nn.whisper_mel import whisper_log_mel
from mizuoto.tests.engines.qwen3_asr import models, oracle, tiny

ENDS = 6  # a seed under which texts of noise come to an end
ONE_WINDOW, LONGER = (0.05, 0.99, 3.0, 8.0), (8.3, 16.0, 35.0)
TOKENS = 32


@pytest.fixture
def folder(checkpoint):
    return checkpoint(seed=ENDS)


def features(waveform):
    return whisper_log_mel(torch.from_numpy(waveform), mel_filters(128))


def embedded(folder, waveform):
    with torch.inference_mode():
        return models.module(models.load(folder), "audio_encoder")(features(waveform)).clone()


@pytest.mark.parametrize("seconds", [*ONE_WINDOW, *LONGER, 201 / 16000, 0.1234])
def test_features(folder, seconds):
    waveform = oracle.speech(seconds)
    assert torch.equal(features(waveform), oracle.features(folder, waveform))


@pytest.mark.parametrize("seconds", [*ONE_WINDOW, *LONGER])
def test_sound(folder, seconds):
    waveform = oracle.speech(seconds)
    mine, mel = embedded(folder, waveform), features(waveform)
    assert mine.shape == (num_positions(mel.shape[1]), tiny.TEXT["hidden_size"])
    assert torch.equal(mine, oracle.embedded(folder, mel))
    assert torch.equal(mine, oracle.embedded(folder, mel, "sdpa")) == (seconds in ONE_WINDOW)


@pytest.mark.parametrize("num_frames", [1, 9, 99, 100, 101, 799, 800, 3507])
def test_number_of_positions(num_frames):
    from qwen_asr.core.transformers_backend.processing_qwen3_asr import _get_feat_extract_output_lengths

    assert num_positions(num_frames) == _get_feat_extract_output_lengths(num_frames)


@pytest.mark.parametrize("context", ["", "the hello", "Mozuku, 水雲\n"])
@pytest.mark.parametrize("language", [None, "English"])
def test_prompt(folder, context, language):
    waveform = oracle.speech(3.0)
    prompt = models.load(folder)._prompt(context, language)
    pads = [tiny.write_tokenizer(folder)["<|audio_pad|>"]] * num_positions(300)
    mine = [*prompt.before[0].tolist(), *pads, *prompt.after[0].tolist()]
    assert mine == oracle.prompt_ids(folder, waveform, context, language)
    assert prompt.num_positions + len(pads) == len(mine)


def ours(folder, waveform, context, language, tokens):
    """(ids, scores of each step, last state of the prompt)."""
    model, states, scores = models.load(folder), [], []
    decoder = models.module(model, "decoder")
    choices = Choices(Sampling(do_sample=False), tokens, model._prompt.eos_ids)
    with (
        models.hooked(decoder.head, lambda *call: scores.append(call[-1].clone())),
        models.hooked(decoder.body, lambda *call: states.append(call[-1][:, -1].clone())),
        torch.inference_mode(),
    ):
        sound = embedded(folder, waveform)
        written = generate(decoder, model._prompt(context, language), sound, choices, None, lambda written: None)
    return written.ids, torch.cat(scores), states[0]


def theirs(folder, waveform, context, language, tokens):
    """The same; scores of the first step are computed from the last state alone, as transformers 5 does."""
    upstream, states = oracle.load(folder), []
    text = upstream._build_text_prompt(context=context, force_language=language)
    inputs = upstream.processor(text=[text], audio=[waveform], return_tensors="pt")
    thinker = upstream.model.thinker
    with models.hooked(thinker.model, lambda *call: states.append(call[-1].last_hidden_state[:, -1].clone())):
        out = upstream.model.generate(**inputs, max_new_tokens=tokens, output_logits=True)
    ids = out.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    with torch.no_grad():
        first = thinker.lm_head(states[0])
    assert torch.allclose(first, out.logits[0], atol=1e-4)
    return ids, torch.cat((first, *out.logits[1:])), states[0]


@pytest.mark.parametrize(
    ("seconds", "context", "language", "is_tied"),
    [
        (0.05, "", None, True),
        (3.0, "the hello", None, True),
        (3.0, "", "English", True),
        (35.0, "", None, True),
        (35.0, "names", "German", False),
    ],
)
def test_tokens(checkpoint, seconds, context, language, is_tied):
    folder = checkpoint(seed=ENDS, is_tied=is_tied)
    request = (folder, oracle.speech(seconds), context, language, TOKENS)
    (mine, scores, state), (expected, their_scores, their_state) = ours(*request), theirs(*request)
    ends = tiny.eos_ids(tiny.write_tokenizer(folder))
    assert mine == [token for token in expected if token not in ends]
    assert len(set(mine)) > 3
    assert torch.equal(state, their_state)
    assert torch.equal(scores, their_scores)


def test_other_sound_gives_other_tokens(folder):
    first, second = (ours(folder, oracle.speech(3.0, seed), "", None, TOKENS)[0] for seed in (0, 1))
    assert first != second


@pytest.mark.parametrize(
    ("seconds", "context", "language"), [(0.05, "", None), (3.0, "the hello", "fr"), (35.0, "", None)]
)
def test_transcript(folder, seconds, context, language):
    waveform = 1.7 * oracle.speech(seconds) / np.abs(oracle.speech(seconds)).max()  # louder than can be
    upstream = oracle.load(folder)
    upstream.max_new_tokens = TOKENS
    (expected,) = upstream.transcribe((waveform, 16000), context, LANGUAGE_NAMES.get(language))
    mine = models.transcribe(models.load(folder), waveform, language, prompt=context, max_new_tokens=TOKENS)
    assert mine.text == expected.text != ""
    assert mine.language == (language or "")
    assert (mine.engine, mine.seconds) == ("qwen3_asr", len(waveform) / 16000)


def test_transcript_of_pieces(folder, monkeypatch):
    monkeypatch.setattr("qwen_asr.inference.qwen3_asr.MAX_ASR_INPUT_SECONDS", 12)
    waveform, upstream = oracle.speech(31.0), oracle.load(folder)
    upstream.max_new_tokens = TOKENS
    (expected,) = upstream.transcribe((waveform, 16000))
    mine = models.transcribe(models.load(folder), waveform, max_chunk_seconds=12.0, max_new_tokens=TOKENS)
    assert "".join(passage.text for passage in mine.passages) == expected.text
    assert len(mine.passages) == 3
    ends = [passage.end for passage in mine.passages]
    assert [passage.start for passage in mine.passages] == [0.0, *ends[:-1]]
    assert ends[-1] == 31.0
