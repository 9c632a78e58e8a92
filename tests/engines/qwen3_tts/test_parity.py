"""Everything from text to sound against the upstream package, under the same seed, bit for bit (CPU, float32).

A batch equals the upstream's batch of the same texts, not the texts said one by one: both draw for all rows at once.
"""

from dataclasses import dataclass

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.qwen3_tts.engine import ENGINE
from mizuoto.tests.engines.qwen3_tts import models, oracle, tiny

TEXT = "The cat sat on the mat and then it ran away."
METHODS = {
    "base": "generate_voice_clone",
    "custom_voice": "generate_custom_voice",
    "voice_design": "generate_voice_design",
}
FRAMES = 5
ENDS_EARLY = 0  # a seed under which one row of the batch ends before the others


@dataclass
class Said:
    """What a model said: codes [T, codebooks] and hidden states [T, hidden_size] a text, the first one's waveform."""

    codes: list
    hidden: list
    waveform: torch.Tensor


class Pair:
    """One checkpoint, ours and theirs."""

    def __init__(self, folder, kind):
        self.model, self.upstream, self.kind = models.load(folder), oracle.load(folder), kind

    def ours(self, texts, voice, seed, frames, **values):
        hidden = []
        with models.hooked(models.talker_of(self.model).decoder, lambda *call: hidden.append(call[-1][:, -1:].clone())):
            found = speech.talk_list(
                self.model,
                [(text, seed) for text in texts],
                voice,
                models.options(frames, batch_size=len(texts), **values),
                models.RUNTIME.context(seed),
            )
        codes = [each.segments[0].tensors["codes"] for each in found]
        states = torch.cat(hidden, dim=1)
        waveform = speech.decode(self.model, found[0], models.RUNTIME.context()).waveform[0]
        return Said(codes, [states[row, : len(of)] for row, of in enumerate(codes)], waveform)

    def theirs(self, texts, seed, frames, **arguments):
        inner = type(self.upstream.model)
        generate, found = inner.generate, {}

        def keep(*args, **kwargs):
            found["codes"], found["hidden"] = generate(*args, **kwargs)
            return found["codes"], found["hidden"]

        with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng(devices=[]):
            patch.setattr(inner, "generate", keep)
            torch.manual_seed(seed)  # noqa: TID251 - the upstream draws from the global generator
            waveforms, sample_rate = getattr(self.upstream, METHODS[self.kind])(
                text=texts if len(texts) > 1 else texts[0], max_new_tokens=frames + 1, **arguments
            )
        assert sample_rate == ENGINE.manifest.sample_rate
        return Said(list(found["codes"]), list(found["hidden"]), torch.from_numpy(waveforms[0]))

    def assert_same(self, arguments, voice, *, texts=(TEXT,), seed=0, frames=FRAMES, **values):
        mine = self.ours(list(texts), voice, seed, frames, **values)
        expected = self.theirs(list(texts), seed, frames, **arguments)
        for name in ("codes", "hidden"):
            for one, other in zip(getattr(mine, name), getattr(expected, name), strict=True):
                assert torch.equal(one, other), name
        if len(texts) == 1:  # in a batch, the upstream decodes all rows at once
            assert torch.equal(mine.waveform, expected.waveform)
            assert 0.001 < mine.waveform.abs().max() < 1.0
        return mine


@pytest.fixture
def pair(checkpoint):
    return lambda kind, size="1b7": Pair(checkpoint(kind, size), kind)


def cloning(transcript):
    return {
        "ref_audio": (models.reference().waveform[0].numpy(), 24000),
        "ref_text": transcript,
        "x_vector_only_mode": transcript is None,
    }


@pytest.mark.parametrize(
    ("transcript", "size", "seed"),
    [("the hello", "1b7", 0), ("the hello", "1b7", 1), (None, "1b7", 2), (None, "0b6", 0)],
)
def test_clone(pair, transcript, size, seed):
    both = pair("base", size)
    voice = models.voice_for(both.model, "base", transcript)
    both.assert_same({**cloning(transcript), "language": "English"}, voice, seed=seed, language="English")


@pytest.mark.parametrize(
    ("size", "speaker", "language", "instruction"),
    [("0b6", "Vivian", "English", ""), ("1b7", "Eric", "Auto", "sad"), ("0b6", "Dylan", "Chinese", "")],
)
def test_preset(pair, size, speaker, language, instruction):
    both = pair("custom_voice", size)
    voice = models.preset_voice(both.model.manifest, speaker)
    arguments = {"speaker": speaker, "language": language, "instruct": instruction}
    both.assert_same(arguments, voice, seed=5, language=language, instruction=instruction)


@pytest.mark.parametrize("description", ["a deep old voice", None])
def test_design(pair, description):
    both = pair("voice_design")
    voice = models.design(both.model, description) if description else None
    both.assert_same({"instruct": description or ""}, voice, seed=9)


@pytest.mark.parametrize(
    ("kind", "mode", "transcript", "text"),
    [
        ("base", "whole", "the hello", TEXT),
        ("base", "whole", None, "Hi."),
        ("base", "streamed", "the hello", "Hi."),  # fewer tokens than the reference has frames
        ("base", "streamed", None, "Hi."),  # fewer tokens than the take has frames
        ("custom_voice", "streamed", None, "Hi."),
        ("voice_design", "streamed", None, TEXT),
    ],
)
def test_text_modes_that_are_not_the_default(pair, kind, mode, transcript, text):
    both = pair(kind)
    voice = models.voice_for(both.model, kind, transcript)
    arguments = {
        "base": cloning(transcript),
        "custom_voice": {"speaker": "Ryan"},
        "voice_design": {"instruct": ""},
    }[kind]
    both.assert_same(
        {**arguments, "non_streaming_mode": mode == "whole"}, voice, texts=[text], seed=4, frames=8, text_mode=mode
    )


def test_greedy(pair):
    both = pair("custom_voice")
    arguments = {"speaker": "Ryan", "do_sample": False, "subtalker_dosample": False}
    voice = models.voice_for(both.model, both.kind)
    both.assert_same(arguments, voice, frames=8, temperature=0.0, subtalker_temperature=0.0)


def test_sampling_options(pair):
    both = pair("custom_voice")
    chosen = {
        **{"temperature": 1.3, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.4},
        **{"subtalker_temperature": 0.6, "subtalker_top_k": 9, "subtalker_top_p": 0.7},
    }
    voice = models.voice_for(both.model, both.kind)
    both.assert_same({"speaker": "ryan", **chosen}, voice, seed=2, frames=8, **chosen)


BATCH = (TEXT, "Hi.", "A longer one than that, and then a little more of it.")


@pytest.mark.parametrize(("kind", "transcript"), [("custom_voice", None), ("base", "the hello")])
def test_batch(pair, kind, transcript):
    """Prompts of three lengths, and texts that are read along for as many frames."""
    both = pair(kind)
    arguments = cloning(transcript) if kind == "base" else {"speaker": "ryan"}
    both.assert_same(arguments, models.voice_for(both.model, kind, transcript), texts=BATCH, seed=6, frames=8)


def test_a_row_of_a_batch_that_ends_leaves_the_others_alone(pair):
    both = pair("custom_voice", "0b6")
    voice = models.voice_for(both.model, both.kind)
    mine = both.assert_same({"speaker": "ryan"}, voice, texts=BATCH, seed=ENDS_EARLY, frames=14)
    assert len({len(codes) for codes in mine.codes}) > 1


def test_past_the_second_decode_chunk(tmp_path, monkeypatch):
    """More than 300 frames, far beyond the codec's window of 72; of two codebooks, since the upstream is slow."""
    monkeypatch.setattr(tiny, "NUM_CODEBOOKS", 2)
    monkeypatch.setitem(tiny.CODEC_DECODER, "num_quantizers", 2)
    tiny.build(tmp_path, "voice_design", size="0b6")
    both = Pair(tmp_path, "voice_design")
    eos = both.upstream.model.config.talker_config.codec_eos_token_id
    never = models.hooked(both.upstream.model.talker.codec_head, lambda *call: models.without(call[-1], eos))
    with never, models.endless(both.model):
        mine = both.assert_same({"instruct": ""}, None, seed=1, frames=304)
    assert len(mine.codes[0]) == 304
