"""Everything from text and recording to sound against the upstream package, same seed, bit for bit (CPU, float32)."""

from collections import defaultdict
from dataclasses import replace

import pytest
import torch
from mizuoto.engines.base import LoadSpec
from mizuoto.engines.voxcpm.engine import ENGINE
from mizuoto.tests.engines.voxcpm import models, oracle, tiny

MODES = ("continuation", "reference", "both")
LONG = 72  # patches; with the prompt, more positions than a block of the caches has
_MIN = 2


class Pair:
    """One checkpoint, ours and theirs."""

    def __init__(self, folder, scratch):
        self.model, self.upstream, self.scratch = models.load(folder), oracle.load(folder), scratch

    def assert_same(self, text=models.TEXT, mode=None, audio=None, *, seed=0, patches=5, least=_MIN, **values):
        """One take, stage by stage."""
        ours, theirs = defaultdict(list), defaultdict(list)
        values = {"steps": 4, "min_patches": least, "max_seconds": models.seconds(self.model, patches), **values}
        files, voice = self.prompt(mode, audio)
        if mode:
            values["voice_mode"] = mode
        stop = models.watch(self.model, lambda stage, tensor: ours[stage].append(tensor))
        codes = models.talk(self.model, text, voice, seed=seed, **values)
        stop()
        waveform = models.decode(self.model, codes)
        stop = oracle.watch(self.upstream, lambda stage, tensor: theirs[stage].append(tensor))
        expected = oracle.say(
            self.upstream, text, seed, **files, retry_badcase=False, min_len=least, max_len=patches,
            inference_timesteps=values["steps"], cfg_value=values.get("cfg", 2.0),
        )  # fmt: skip
        stop()
        assert_stages(ours, theirs, least)
        assert torch.equal(waveform, expected)
        assert 0.001 < waveform.abs().max() < 1.0
        return len(codes.segments[0].tensors["patches"])

    def prompt(self, mode, audio):
        """What the upstream is given of a recording, and our voice of it."""
        if mode is None:
            return {}, None
        audio = audio or models.recording()
        path = models.write(audio, self.scratch / "reference.wav")
        files = {"reference_wav_path": path} if mode in ("reference", "both") else {}
        if mode != "reference":
            files |= {"prompt_wav_path": path, "prompt_text": models.WORDS}
        return files, models.clone(self.model, audio, None if mode == "reference" else models.WORDS)


def assert_stages(ours, theirs, least):
    """Everything that ours computed; what the upstream computes besides, nobody reads."""
    for stage, made in ours.items():
        wanted = theirs[stage]
        if stage in ("encoder", "quantizer"):  # of a prompt, ours leaves out what is text
            made, wanted = ([each for each in of if each.shape[-2] == 1] for of in (made, wanted))
        if stage == "stop":  # ours asks once the end is an option
            wanted = wanted[least + 1 :]
        assert 0 <= len(wanted) - len(made) <= 1, stage
        for number, (one, other) in enumerate(zip(made, wanted, strict=False)):
            assert torch.equal(one, other), (stage, number)


@pytest.fixture
def pair(checkpoint, tmp_path):
    return lambda kind: Pair(checkpoint(kind), tmp_path)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", tiny.KINDS)
def test_without_a_voice(pair, kind, seed):
    pair(kind).assert_same(seed=seed, patches=6)


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_an_invented_voice_is_kept(pair, kind):
    """As the upstream goes on from what it said; with a style, which is for the first segment."""
    both = pair(kind)
    model, style = both.model, "(warm)" if kind == "2" else ""
    model.manifest = replace(model.manifest, max_text_size=14)
    values = {"max_seconds": models.seconds(model, 4), "style": style.strip("()"), "voice_mode": "auto"}
    codes = models.talk(model, "Hello there. How are you? Hello there.", seed=4, **values)
    lines = [
        (f"{style}{each.text}" if index == 0 else each.text, each.seed) for index, each in enumerate(spoken(codes))
    ]
    expected = oracle.say_on(both.upstream, lines, min_len=2, max_len=4, inference_timesteps=4)
    for segment, waveform in zip(spoken(codes), expected, strict=True):
        assert torch.equal(models.decode(model, replace(codes, segments=(segment,))), waveform)
    alone = models.talk(model, "Hello there.", seed=4, **values, keep_voice=False)
    assert torch.equal(alone.segments[0].tensors["patches"], codes.segments[0].tensors["patches"])


def spoken(codes):
    """Segments with words."""
    return [segment for segment in codes.segments if segment.text]


@pytest.mark.parametrize(
    ("kind", "mode"), [("0.5B", "continuation"), ("1.5", "continuation"), *(("2", mode) for mode in MODES)]
)
@pytest.mark.parametrize(("length", "seed"), [(0.7, 3), (1.6, 8), (3.0, 5)])
def test_cloned(pair, kind, mode, length, seed):
    both = pair(kind)
    rate = both.model._config.vae.sample_rate
    both.assert_same(mode=mode, audio=models.recording(length, rate), seed=seed, patches=4)


@pytest.mark.parametrize(("kind", "mode"), [("0.5B", None), ("2", "both")])
def test_long_takes(pair, kind, mode):
    made = pair(kind).assert_same(mode=mode, seed=1, patches=LONG, least=LONG, steps=2)
    assert made == LONG


@pytest.mark.parametrize(
    ("kind", "rate", "channels"), [("0.5B", 44100, 2), ("0.5B", 24000, 1), ("2", 44100, 2), ("2", 22050, 1)]
)
def test_recordings_at_other_rates(pair, kind, rate, channels):
    pair(kind).assert_same(mode="continuation", audio=models.recording(1.1, rate, channels), patches=3)


@pytest.mark.parametrize(
    "values", [{"cfg": 3.5, "steps": 25}, {"cfg": 0.0, "steps": 50}, {"steps": 1}], ids=["25 steps", "50", "1"]
)
def test_diffusion_options(pair, values):
    pair("2").assert_same(seed=5, patches=2, **values)


@pytest.mark.parametrize("text", ["Hi\n\tthere,  you.", "你好世界，世界 早上", "早上好吗？ Hi", "é"])
def test_texts(pair, text):
    pair("2").assert_same(text, patches=3)


CHANGES = {
    "0.5B": {"lm_config.use_mup": None, "lm_config.no_rope": True},
    "2": {
        **{"lm_config.max_position_embeddings": 4096, "residual_lm_no_rope": None},
        **{"dit_config.dit_mean_mode": True, "audio_vae_config.out_sample_rate": 24000},
    },
}


@pytest.mark.parametrize("kind", CHANGES)
def test_other_configurations(tmp_path, kind):
    """Scaled branches without positions; the other frequencies, positions everywhere, steps of told length."""
    tiny.build(tmp_path / "model", kind, changes=CHANGES[kind])
    Pair(tmp_path / "model", tmp_path).assert_same(mode="continuation", patches=3)


@pytest.mark.parametrize("kind", ["0.5B", "2"])
def test_bfloat16(tmp_path, kind):
    """The talker in the type of the official checkpoints, the codec in float32."""
    tiny.build(tmp_path / "model", kind, changes={"dtype": "bfloat16"})
    both = Pair(tmp_path / "model", tmp_path)
    both.model = ENGINE.load(LoadSpec("x", tmp_path / "model", models.CPU, torch.bfloat16), models.RUNTIME)
    both.assert_same(mode="continuation")


def test_style_and_description(pair):
    both = pair("2")
    voice = both.model.design_voice("a deep old voice", models.RUNTIME.context())
    values = {"max_seconds": models.seconds(both.model, 4), "style": " (calm) "}
    codes = models.talk(both.model, voice=voice, **values)
    expected = oracle.say(
        both.upstream, f"(a deep old voice, calm){models.TEXT}", 0, retry_badcase=False, max_len=4,
        inference_timesteps=4,
    )  # fmt: skip
    assert torch.equal(models.decode(both.model, codes), expected)


def test_a_style_takes_only_the_sound_of_a_recording(pair):
    both = pair("2")
    files, _ = both.prompt("reference", None)
    codes = models.talk(both.model, voice=models.clone(both.model), style="calm", max_seconds=0.7)
    expected = oracle.say(
        both.upstream, f"(calm){models.TEXT}", 0, **files, retry_badcase=False, max_len=4, inference_timesteps=4
    )
    assert torch.equal(models.decode(both.model, codes), expected)


def test_streamed_as_the_upstream_streams(pair):
    both = pair("2")
    codes = models.talk(both.model, max_seconds=models.seconds(both.model, 6), stream_patches=1)
    pieces = [chunk.waveform[0] for chunk in both.model.decode(codes, models.RUNTIME.context())]
    expected = oracle.say(both.upstream, models.TEXT, 0, stream=True, max_len=6, inference_timesteps=4)
    assert len(pieces) == len(expected) > 3
    assert all(map(torch.equal, pieces, expected))


def test_adapters(tmp_path, checkpoint):
    folder = tmp_path / "model"
    tiny.build(folder)
    plain = models.decode(models.load(folder), models.talk(models.load(folder), max_seconds=0.7))
    model = models.load(folder)
    tiny.write_lora(folder, tiny.model_config("2", 1))
    expected = oracle.say(
        oracle.load(folder, folder), models.TEXT, 0, retry_badcase=False, max_len=4, inference_timesteps=4
    )
    assert torch.equal(models.decode(model, models.talk(model, max_seconds=0.7)), expected)
    assert not torch.equal(plain, expected)
    assert torch.equal(models.decode(model, models.talk(model, max_seconds=0.7, lora="off")), plain)


def test_a_retried_take_is_that_of_the_next_seed(pair):
    both = pair("2")
    ctx = models.RUNTIME.context(4)
    values = {"length_ratio": 1.0, "min_patches": 4, "max_seconds": models.seconds(both.model, 6)}
    codes = models.talk(both.model, "Hi.", ctx=ctx, attempts=3, **values)
    assert codes.segments[0].seed == 6
    limits = {"min_len": 4, "max_len": 6, "inference_timesteps": 4}
    expected = oracle.say(both.upstream, "Hi.", 6, retry_badcase=False, **limits)
    assert torch.equal(models.decode(both.model, codes), expected)
    told = next(warning for warning in ctx.report.warnings if warning["code"] == "retried")
    assert [item[-8:] for item in told["items"]] == [" seed 4)", " seed 5)"]
