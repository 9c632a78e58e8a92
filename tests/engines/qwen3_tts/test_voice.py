"""Which voices a kind of checkpoint takes, and what it says about the others."""

import pytest
import torch
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.qwen3_tts.config import CheckpointConfig
from mizuoto.engines.qwen3_tts.options import manifest_of
from mizuoto.engines.qwen3_tts.voice import voice_of
from mizuoto.engines.voices import clone_voice, design_voice, preset_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.tests.engines.qwen3_tts import models, tiny

SIZE = 96  # of the larger tiny talker
CLONE = VoicePrompt("qwen3_tts", "me", {"x_vector": torch.ones(SIZE)})
DESIGN = VoicePrompt("qwen3_tts", "a deep voice", facts={"description": "a deep voice"})
PRESET = VoicePrompt("qwen3_tts", "Ryan")


@pytest.fixture
def voice(checkpoint):
    """(voice, kind of checkpoint) -> what it means there."""

    def found(prompt, kind):
        config = CheckpointConfig.read(checkpoint(kind))
        return voice_of(prompt, config, manifest_of(config))

    return found


@pytest.mark.parametrize(
    ("prompt", "kind", "told"),
    [
        (None, "base", "speaks with a cloned voice only: connect a Voice Prompt node"),
        (PRESET, "base", "speaks with a cloned voice only"),
        (DESIGN, "base", "speaks with a cloned voice only"),
        (CLONE, "custom_voice", '"me" is cloned from a recording, which a custom_voice model cannot use; load .* Base'),
        (DESIGN, "custom_voice", '"a deep voice" is a description.*; load a Qwen3-TTS VoiceDesign model'),
        (CLONE, "voice_design", '"me" is cloned from a recording'),
        (PRESET, "voice_design", '"Ryan" is a preset.* load a Qwen3-TTS CustomVoice model'),
    ],
)
def test_voices_of_another_kind(voice, prompt, kind, told):
    with pytest.raises(InvalidRequest, match=told):
        voice(prompt, kind)


def test_voices_of_another_size(voice):
    prompt = VoicePrompt("qwen3_tts", "me", {"x_vector": torch.ones(SIZE // 2)})
    with pytest.raises(InvalidRequest, match='"me" was made by a Qwen3-TTS model of another size; make it again'):
        voice(prompt, "base")


def test_codes_without_their_words(voice):
    prompt = VoicePrompt("qwen3_tts", "me", {**CLONE.tensors, "codes": torch.zeros(3, 16, dtype=torch.int64)})
    with pytest.raises(InvalidRequest, match="without its words; make it again with a transcript"):
        voice(prompt, "base")


def test_voices_of_their_own_kind(voice):
    assert torch.equal(voice(CLONE, "base").x_vector, torch.ones(SIZE))
    assert voice(PRESET, "custom_voice").speaker == "ryan"
    assert voice(None, "custom_voice").speaker == "vivian"
    assert voice(None, "voice_design").speaker == voice(DESIGN, "voice_design").speaker == ""


@pytest.mark.parametrize("name", ["Rian", "ryan "])
def test_unknown_presets_name_the_close_ones(checkpoint, voice, name):
    manifest = manifest_of(CheckpointConfig.read(checkpoint("custom_voice")))
    with pytest.raises(InvalidRequest, match=f'no voice "{name}"; it has Vivian, Serena.*Ryan'):
        preset_voice(manifest, name)
    with pytest.raises(InvalidRequest, match="Did you mean"):
        voice(VoicePrompt("qwen3_tts", "Rian"), "custom_voice")


@pytest.mark.parametrize("transcript", [None, "", " \n"])
def test_without_words_only_the_timbre_is_kept(checkpoint, transcript):
    voice = models.voice_for(models.load(checkpoint("base")), "base", transcript)
    assert set(voice.tensors) == {"x_vector"}
    assert voice.facts == {}


def test_with_words_the_codes_are_kept_too(checkpoint):
    voice = models.voice_for(models.load(checkpoint("base")), "base", "the hello")
    assert voice.tensors["x_vector"].shape == (SIZE,)
    assert voice.tensors["codes"].shape == (19, 16)  # 1.5 s
    assert voice.facts == {"transcript": "the hello"}


def test_a_saved_voice_says_the_same(checkpoint, tmp_path):
    model = models.load(checkpoint("base"))
    voice = models.voice_for(model, "base")
    voice.save(tmp_path / "me.safetensors")
    again = VoicePrompt.load(tmp_path / "me.safetensors")
    assert torch.equal(models.say(model, "Hi.", voice), models.say(model, "Hi.", again))


@pytest.mark.parametrize(("seconds", "told"), [(0.2, "takes 0.5 to 60 s"), (61, "61.0 s long")])
def test_recordings_too_short_or_too_long(checkpoint, seconds, told):
    with pytest.raises(InvalidRequest, match=told):
        clone_voice(models.load(checkpoint("base")), models.reference(seconds), None, "", models.RUNTIME.context())


def test_silent_recordings(checkpoint):
    silence = Audio(torch.zeros(1, 24000), 24000)
    with pytest.raises(InvalidRequest, match="is silent"):
        clone_voice(models.load(checkpoint("base")), silence, None, "", models.RUNTIME.context())


def test_only_base_models_clone_and_only_design_models_design(checkpoint):
    ctx = models.RUNTIME.context()
    for kind in ("custom_voice", "voice_design"):
        with pytest.raises(Unsupported, match="clones no voices"):
            clone_voice(models.load(checkpoint(kind)), models.reference(), None, "", ctx)
    for kind in ("custom_voice", "base"):
        with pytest.raises(Unsupported, match="designs no voices"):
            design_voice(models.load(checkpoint(kind)), "deep", ctx)


TABLE = torch.randint(tiny.CODEBOOK_SIZE, (4, 16), generator=torch.Generator().manual_seed(0))


def with_code(code):
    """The codes of a reference with one of them changed."""
    table = TABLE.clone()
    table[1, 2] = code
    return table


@pytest.mark.parametrize(
    "tensors",
    [
        {"x_vector": torch.full((SIZE,), torch.nan)},
        {"x_vector": torch.ones(SIZE, dtype=torch.int64)},
        {"x_vector": torch.ones(1, SIZE)},
        {"codes": with_code(tiny.CODEBOOK_SIZE)},
        {"codes": with_code(-1)},
        {"codes": TABLE.float()},
        {"codes": TABLE[:, :8]},
        {"codes": TABLE[:0]},
        {"codes": TABLE[0]},
    ],
)
def test_damaged_voices_are_refused_before_a_card_sees_them(voice, tensors):
    prompt = VoicePrompt("qwen3_tts", "me", {**CLONE.tensors, **tensors}, {"transcript": "Hi."})
    with pytest.raises(InvalidRequest, match='"me" is damaged; make it again'):
        voice(prompt, "base")


def test_sound_codes_are_taken(voice):
    prompt = VoicePrompt("qwen3_tts", "me", {**CLONE.tensors, "codes": TABLE}, {"transcript": "Hi."})
    assert torch.equal(voice(prompt, "base").codes, TABLE)
