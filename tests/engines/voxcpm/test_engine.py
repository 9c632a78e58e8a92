"""The contract's corners: voices and codes from anywhere, limits, streams, adapters."""

from dataclasses import replace

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.voices import clone_voice
from mizuoto.engines.voxcpm import engine
from mizuoto.engines.voxcpm.manifest import MANIFEST
from mizuoto.mizuoto_runtime.errors import EngineError, InvalidRequest, ModelFileError, Unsupported
from mizuoto.tests.engines.voxcpm import models, tiny


@pytest.fixture(scope="module")
def first(checkpoint):
    return models.load(checkpoint("1.5"))


@pytest.fixture(scope="module")
def second(checkpoint):
    return models.load(checkpoint("2"))


@pytest.fixture(scope="module")
def voice(second):
    return models.clone(second)


def test_manifests_are_narrowed_to_the_checkpoint(first, second):
    assert (first.manifest.tasks, first.manifest.sample_rate) == (("tts", "clone"), 44100)
    assert (second.manifest.tasks, second.manifest.sample_rate) == (MANIFEST.tasks, 48000)
    assert first.manifest.languages == ("zh", "en")
    assert len(second.manifest.languages) == 30


def test_the_same_seed_says_the_same_and_another_something_else(second):
    one, same, other = (models.talk(second, seed=seed, max_seconds=0.7).segments[0].tensors for seed in (1, 1, 2))
    assert torch.equal(one["patches"], same["patches"])
    assert not torch.equal(one["patches"], other["patches"])


def test_a_voice_survives_its_file(second, voice, tmp_path):
    voice.save(tmp_path / "voice.safetensors")
    again = VoicePrompt.load(tmp_path / "voice.safetensors")
    codes = (models.talk(second, voice=each, max_seconds=0.5) for each in (voice, again))
    assert torch.equal(*(models.decode(second, each) for each in codes))


def test_the_usual_mode_depends_on_what_is_known(second, voice):
    def said(voice, **values):
        return models.talk(second, voice=voice, max_seconds=0.5, **values).segments[0].tensors["patches"]

    assert torch.equal(said(voice), said(voice, voice_mode="both"))
    bare = models.clone(second, transcript=None)
    assert torch.equal(said(bare), said(bare, voice_mode="reference"))
    assert not torch.equal(said(voice), said(bare))


def test_the_first_version_needs_the_words(first):
    with pytest.raises(InvalidRequest, match='write them into "transcript", or load VoxCPM 2'):
        models.clone(first, transcript=" ")


REFUSED = {
    "reference": (None, {"voice_mode": "continuation"}, "the words of the recording of .* are unknown"),
    "read aloud": (models.WORDS, {"voice_mode": "both", "style": "calm"}, "a style would be read aloud there"),
}


@pytest.mark.parametrize(("transcript", "values", "told"), REFUSED.values(), ids=REFUSED)
def test_modes_that_cannot_be_are_refused(second, transcript, values, told):
    with pytest.raises(InvalidRequest, match=told):
        models.talk(second, voice=models.clone(second, transcript=transcript), **values)


def test_what_the_first_version_does_not_follow_is_refused(first):
    with pytest.raises(InvalidRequest, match="knows no references of their own"):
        models.talk(first, voice=models.clone(first), voice_mode="reference")
    with pytest.raises(Unsupported, match="follows no style"):
        models.talk(first, style="calm")
    with pytest.raises(InvalidRequest, match="a description, which only VoxCPM 2 follows"):
        models.talk(first, voice=VoicePrompt("voxcpm", "old", facts={"description": "an old voice"}))


DAMAGES = {
    "channels": lambda patches: patches[..., :8],
    "empty": lambda patches: patches[:0],
    "infinite": lambda patches: patches / 0,
    "integers": lambda patches: patches.long(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_voices_and_codes_are_refused(second, voice, damage):
    tensors = {name: damage(patches) for name, patches in voice.tensors.items()}
    with pytest.raises(InvalidRequest, match='The voice "clone" is damaged'):
        models.talk(second, voice=replace(voice, tensors=tensors))
    codes = models.talk(second, max_seconds=0.3)
    segment = codes.segments[0]
    tensors = {**segment.tensors, "patches": damage(segment.tensors["patches"])}
    with pytest.raises(InvalidRequest, match="of another VoxCPM model, or damaged"):
        models.decode(second, replace(codes, segments=(replace(segment, tensors=tensors),)))


@pytest.mark.parametrize("size", [torch.tensor(-1), torch.tensor(0.5), torch.tensor([1, 2])])
def test_a_damaged_chunk_size_is_refused(second, size):
    codes = models.talk(second, max_seconds=0.3)
    tensors = {**codes.segments[0].tensors, "stream_patches": size}
    with pytest.raises(InvalidRequest, match="of another VoxCPM model, or damaged"):
        models.decode(second, replace(codes, segments=(replace(codes.segments[0], tensors=tensors),)))


def test_a_voice_of_another_version_is_refused(first, voice):
    with pytest.raises(InvalidRequest, match="made by another version of VoxCPM; make it again with this model"):
        models.talk(first, voice=voice)


@pytest.mark.parametrize("seconds", [0.2, 61.0])
def test_recordings_of_other_lengths_are_refused(second, seconds):
    with pytest.raises(InvalidRequest, match=r"VoxCPM takes 0.5 to 60 s"):
        clone_voice(second, models.recording(seconds, 8000), None, "", models.RUNTIME.context())


@pytest.mark.parametrize("mode", ["continuation", "reference"])
@pytest.mark.parametrize("size", [1, 3, 256])
def test_a_stream_gives_the_whole_in_pieces(second, voice, mode, size):
    """Also behind a recording, which the upstream's own stream forgets."""
    values = {"voice": voice, "voice_mode": mode, "max_seconds": 0.8}
    whole = models.decode(second, models.talk(second, **values))
    codes = models.talk(second, **values, stream_patches=size)
    pieces = [chunk.waveform[0] for chunk in second.decode(codes, models.RUNTIME.context())]
    patches = len(codes.segments[0].tensors["patches"])
    assert len(pieces) == -(-patches // size)
    torch.testing.assert_close(torch.cat(pieces), whole, rtol=0, atol=2e-6)


@pytest.mark.parametrize("size", [1, 5])
def test_the_first_version_streams_as_well(first, size):
    """Going on from the layers' memory, and not in windows as the upstream, whose stream differs by a tenth."""
    values = {"voice": models.clone(first), "max_seconds": 1.2, "min_patches": 4}
    whole = models.decode(first, models.talk(first, **values))
    found = models.decode(first, models.talk(first, **values, stream_patches=size))
    torch.testing.assert_close(found, whole, rtol=0, atol=2e-6)


@pytest.mark.parametrize("at_limit", ["warn", "fail"])
def test_a_take_that_does_not_end_is_told(second, at_limit):
    ctx = models.RUNTIME.context()
    values = {"max_seconds": 0.5, "min_patches": 100, "at_limit": at_limit, "ctx": ctx}
    if at_limit == "fail":
        with pytest.raises(EngineError, match="cut because it did not come to an end"):
            models.talk(second, **values)
        return
    assert len(models.talk(second, **values).segments[0].tensors["patches"]) == 3
    assert [warning["code"] for warning in ctx.report.warnings] == ["cut_off"]


def test_a_prompt_that_fills_the_model_is_refused(tmp_path):
    tiny.build(tmp_path, changes={"max_length": 40})
    model = models.load(tmp_path)
    with pytest.raises(InvalidRequest, match=r"take \d+ positions of the model and it has 40; shorten the text"):
        models.talk(model, "word " * 20)
    most = models.talk(model, "Hello, hello, hello, hello.", min_patches=500)
    assert len(most.segments[0].tensors["patches"]) == 12  # one of 29 positions is the sign that audio begins


def test_control_tokens_in_a_text_are_left_out(second):
    ctx = models.RUNTIME.context()
    marked = models.talk(second, "Hi<|audio_start|> there.</s>", ctx=ctx, max_seconds=0.5)
    plain = models.talk(second, "Hi there.", max_seconds=0.5)
    assert torch.equal(marked.segments[0].tensors["patches"], plain.segments[0].tensors["patches"])
    assert ctx.report.warnings[0]["code"] == "control_tokens"


def test_the_transcript_as_text_is_noticed(second, voice):
    ctx = models.RUNTIME.context()
    models.talk(second, models.WORDS, voice, ctx=ctx, max_seconds=0.5)
    assert "same_text" in [warning["code"] for warning in ctx.report.warnings]


def test_memory_that_runs_out_may_be_answered_with_chunks(second, monkeypatch):
    monkeypatch.setattr(engine, "SHORT_PATCHES", 2)
    codes = models.talk(second, max_seconds=0.8, min_patches=9, steps=1)
    whole = models.decode(second, codes)
    ctx = models.RUNTIME.context()
    ctx.run = lambda phase, handles, fn, working_bytes=0, generators=(), fallback=None: fallback[1]()
    (chunk,) = second.decode(codes, ctx)
    torch.testing.assert_close(chunk.waveform[0], whole, rtol=0, atol=2e-6)


def test_numbers_that_overflow_end_in_a_plain_error(tmp_path):
    tiny.build(tmp_path)
    model = models.load(tmp_path)
    with torch.no_grad():
        models.talker_of(model).feat_decoder.estimator.out_proj.bias.fill_(torch.inf)
    with pytest.raises(EngineError, match="numbers overflowed in float32"):
        models.talk(model, max_seconds=0.5)


class TestAdapters:
    @pytest.fixture
    def model(self, tmp_path):
        tiny.build(tmp_path / "model")
        tiny.write_lora(tmp_path / "model" / "anna", tiny.model_config("2", 1), seed=2)
        tiny.write_lora(tmp_path / "outside", tiny.model_config("2", 1))
        return models.load(tmp_path / "model")

    def say(self, model, lora):
        return models.talk(model, max_seconds=0.3, lora=lora).segments[0].tensors["patches"]

    def test_one_by_name(self, model):
        plain, named = self.say(model, "auto"), self.say(model, "anna")
        assert not torch.equal(plain, named)
        assert torch.equal(named, self.say(model, "anna/lora_weights.safetensors"))
        assert torch.equal(plain, self.say(model, "off"))

    @pytest.mark.parametrize(
        "name", ["../outside", "/etc/passwd", "anna/../../outside", "C:\\x.ckpt", "..\\outside", "."]
    )
    def test_none_outside_of_the_folder(self, model, name):
        with pytest.raises(InvalidRequest, match="must be a file inside the folder of the model"):
            self.say(model, name)

    def test_no_link_out_of_the_folder(self, model, tmp_path):
        (tmp_path / "model" / "link").symlink_to(tmp_path / "outside")
        with pytest.raises(InvalidRequest, match="must be a file inside the folder of the model"):
            self.say(model, "link")

    def test_one_that_is_missing_names_those_there_are(self, model):
        with pytest.raises(InvalidRequest, match=r'no adapter "ana"; it has adapter, anna\. Did you mean "anna"\?'):
            self.say(model, "ana")

    def test_one_of_another_model_is_refused(self, model, tmp_path):
        config = tiny.model_config("2", 1)
        config["lm_config"]["hidden_size"] = 32
        tiny.write_lora(tmp_path / "model", config)
        with pytest.raises(ModelFileError, match="it was trained for another model or version"):
            self.say(model, "auto")


def test_several_segments_are_each_said_from_their_own_seed(second):
    second.manifest = replace(second.manifest, max_text_size=8)
    codes = speech.talk(second, "One. Two.", None, models.options(max_seconds=0.3), models.RUNTIME.context(7))
    second.manifest = replace(second.manifest, max_text_size=400)
    assert [segment.text for segment in codes.segments] == ["One.", "Two."]
    assert codes.segments[0].seed == 7 != codes.segments[1].seed
