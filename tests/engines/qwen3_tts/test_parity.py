"""Everything from text to sound against the upstream package, under the same seed, bit for bit (CPU, float32)."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.qwen3_tts.engine import ENGINE
from mizuoto.engines.voices import clone_voice, design_voice, preset_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.qwen3_tts import oracle, tiny

TEXT = "The cat sat on the mat and then it ran away."
CPU = torch.device("cpu")
RUNTIME = Runtime()
SETTINGS = {"stop_loops": False}


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """(kind, size) -> folder of a tiny checkpoint."""
    made = {}

    def folder(kind, size="1b7"):
        if (kind, size) not in made:
            made[kind, size] = tmp_path_factory.mktemp("qwen") / f"{kind}-{size}"
            tiny.build(made[kind, size], kind, size=size)
        return made[kind, size]

    return folder


def loaded(folder):
    with torch.inference_mode(False):
        return ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), RUNTIME)


def ours(model, voice, seed, frames, text=TEXT, **options):
    """(codes of the first segment, waveform)."""
    values = {**SETTINGS, "max_seconds": frames / 12.5, "decoding": "exact", **options}
    ctx = RUNTIME.context(seed)
    codes = speech.talk(model, text, voice, Options("qwen3_tts", values), ctx)
    assert len(codes.segments) == 1
    return codes.segments[0].tensors["codes"], speech.decode(model, codes, RUNTIME.context()).waveform[0]


def theirs(function, seed, frames, **arguments):
    """(codes, waveform) of an upstream call."""
    torch.manual_seed(seed)
    found = {}
    model = function.__self__.model
    generate = type(model).generate

    def keep(self, *args, **kwargs):
        result = generate(self, *args, **kwargs)
        found["codes"] = result[0]
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "generate", keep)
        waveforms, sample_rate = function(max_new_tokens=frames + 1, **arguments)
    assert sample_rate == 24000
    return [codes for codes in found["codes"]], [torch.from_numpy(waveform) for waveform in waveforms]


def assert_same(mine, upstream):
    codes, waveform = mine
    assert torch.equal(codes, upstream[0][0])
    assert torch.equal(waveform, upstream[1][0])
    assert 0.001 < waveform.abs().max() < 1.0


def reference(seconds=1.5):
    return oracle.noise(seconds, seed=3)


def as_audio(samples):
    return Audio(torch.from_numpy(np.ascontiguousarray(samples))[None], 24000)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("transcript", ["the hello", None])
def test_clone(checkpoint, seed, transcript):
    folder = checkpoint("base")
    model, upstream = loaded(folder), oracle.load(folder)
    voice = clone_voice(model, as_audio(reference()), transcript, "", RUNTIME.context())
    expected = theirs(
        upstream.generate_voice_clone,
        seed,
        30,
        text=TEXT,
        language="English",
        ref_audio=(reference(), 24000),
        ref_text=transcript,
        x_vector_only_mode=transcript is None,
    )
    assert_same(ours(model, voice, seed, 30, language="English"), expected)


@pytest.mark.parametrize("size", ["0b6", "1b7"])
@pytest.mark.parametrize(("speaker", "language"), [("Vivian", "English"), ("Eric", "Auto"), ("Dylan", "Chinese")])
def test_preset(checkpoint, size, speaker, language):
    folder = checkpoint("custom_voice", size)
    model, upstream = loaded(folder), oracle.load(folder)
    instruction = "sad" if size == "1b7" else ""
    voice = preset_voice(model.manifest, speaker)
    expected = theirs(
        upstream.generate_custom_voice, 5, 25, text=TEXT, language=language, speaker=speaker, instruct=instruction
    )
    assert_same(ours(model, voice, 5, 25, language=language, instruction=instruction), expected)


@pytest.mark.parametrize("description", ["a deep old voice", None])
def test_design(checkpoint, description):
    folder = checkpoint("voice_design")
    model, upstream = loaded(folder), oracle.load(folder)
    voice = design_voice(model, description, RUNTIME.context()) if description else None
    expected = theirs(upstream.generate_voice_design, 9, 25, text=TEXT, instruct=description or "")
    assert_same(ours(model, voice, 9, 25), expected)


@pytest.mark.parametrize("kind", tiny.KINDS)
@pytest.mark.parametrize("mode", ["whole", "streamed"])
def test_text_modes(checkpoint, kind, mode):
    folder = checkpoint(kind)
    model, upstream = loaded(folder), oracle.load(folder)
    arguments, voice = call_of(kind, model)
    expected = theirs(
        getattr(upstream, arguments.pop("method")), 4, 20, text=TEXT, non_streaming_mode=mode == "whole", **arguments
    )
    assert_same(ours(model, voice, 4, 20, text_mode=mode), expected)


def call_of(kind, model):
    """(arguments of the upstream call, our voice) of the plainest request to a kind of checkpoint."""
    if kind == "base":
        voice = clone_voice(model, as_audio(reference()), "the hello", "", RUNTIME.context())
        return {"method": "generate_voice_clone", "ref_audio": (reference(), 24000), "ref_text": "the hello"}, voice
    if kind == "custom_voice":
        return {"method": "generate_custom_voice", "speaker": "vivian"}, preset_voice(model.manifest, "vivian")
    return {"method": "generate_voice_design", "instruct": "old"}, design_voice(model, "old", RUNTIME.context())


def test_greedy(checkpoint):
    folder = checkpoint("custom_voice")
    model, upstream = loaded(folder), oracle.load(folder)
    expected = theirs(
        upstream.generate_custom_voice,
        0,
        30,
        text=TEXT,
        speaker="ryan",
        do_sample=False,
        subtalker_dosample=False,
    )
    assert_same(
        ours(model, preset_voice(model.manifest, "Ryan"), 0, 30, temperature=0.0, subtalker_temperature=0.0), expected
    )


def test_sampling_options(checkpoint):
    folder = checkpoint("custom_voice")
    model, upstream = loaded(folder), oracle.load(folder)
    chosen = {
        **{"temperature": 1.3, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.4},
        **{"subtalker_temperature": 0.6, "subtalker_top_k": 9, "subtalker_top_p": 0.7},
    }
    expected = theirs(upstream.generate_custom_voice, 2, 25, text=TEXT, speaker="ryan", **chosen)
    assert_same(ours(model, preset_voice(model.manifest, "Ryan"), 2, 25, **chosen), expected)


@contextmanager
def eos_forbidden(model, upstream):
    """Both models speak until they are stopped."""
    eos = upstream.model.config.talker_config.codec_eos_token_id

    def never(module, inputs, logits):
        logits[..., eos] = -torch.inf
        return logits

    heads = [upstream.model.talker.codec_head, model.handles[0].module.codec_head]
    hooks = [head.register_forward_hook(never) for head in heads]
    yield
    for hook in hooks:
        hook.remove()


def test_past_the_second_decode_chunk(checkpoint):
    """More than 300 frames, far beyond the codec's window of 72."""
    folder = checkpoint("voice_design", "0b6")
    model, upstream = loaded(folder), oracle.load(folder)
    with eos_forbidden(model, upstream):
        expected = theirs(upstream.generate_voice_design, 1, 310, text=TEXT, instruct="")
        codes, waveform = ours(model, None, 1, 310)
    assert len(codes) == 310
    assert_same((codes, waveform), expected)


def test_batch(checkpoint):
    """Several texts at once equal the upstream's batch of the same texts."""
    folder = checkpoint("custom_voice")
    model, upstream = loaded(folder), oracle.load(folder)
    texts = [TEXT, "Hi.", "A longer one than that, and then a little more of it."]
    values = {**SETTINGS, "max_seconds": 2.0, "decoding": "exact", "batch_size": 3}
    voice = preset_voice(model.manifest, "Ryan")
    found = speech.talk_list(
        model, [(text, 6) for text in texts], voice, Options("qwen3_tts", values), RUNTIME.context(6)
    )
    expected, _ = theirs(upstream.generate_custom_voice, 6, 25, text=texts, speaker="ryan")
    for mine, upstreams in zip(found, expected, strict=True):
        assert torch.equal(mine.segments[0].tensors["codes"], upstreams)
