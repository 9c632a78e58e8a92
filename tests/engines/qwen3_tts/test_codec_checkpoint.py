"""The tiny checkpoints are what the upstream takes for its own."""

import json

import pytest
import torch
from mizuoto.engines.qwen3_tts import keys
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.checkpoint import read_checkpoint_folder
from mizuoto.tests.engines.qwen3_tts import oracle, tiny

TEXT = "The cat sat."


def speak(model, kind, **options):
    """The upstream's waveform, drawn from the global generator, which is then as before."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(3)
        return draw(model, kind, **options)


def draw(model, kind, **options):
    shared = {"text": TEXT, "language": "English", "max_new_tokens": 8, **options}
    if kind == "base":
        return model.generate_voice_clone(ref_audio=(oracle.noise(0.5), 24000), ref_text="the hello", **shared)[0][0]
    if kind == "custom_voice":
        return model.generate_custom_voice(speaker="Eric", **shared)[0][0]
    return model.generate_voice_design(instruct="deep", **shared)[0][0]


@pytest.mark.parametrize(("kind", "size"), [("base", "0b6"), ("custom_voice", "1b7"), ("voice_design", "1b7")])
def test_upstream_speaks_with_it(kind, size, tmp_path):
    tiny.build(tmp_path, kind, size=size, shards=2 if size == "1b7" else 1)
    waveform = speak(oracle.load(tmp_path), kind)
    assert len(waveform) > 1920
    assert 0.01 < abs(waveform).max() < 1
    assert not (waveform == speak(oracle.load(tmp_path), kind, text="Other words")).all()


def test_no_upstream_weight_is_left_as_it_was_made(tmp_path):
    """A tensor that a checkpoint lacks is drawn anew by the upstream at every load."""
    tiny.build(tmp_path, "base", size="1b7")
    found, again = (oracle.load.__wrapped__(tmp_path).model for _ in range(2))
    for one, other in ((found, again), (found.speech_tokenizer.model, again.speech_tokenizer.model)):
        assert one.state_dict().keys() == other.state_dict().keys()
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())


def test_seeds_dtypes_and_shards(tmp_path):
    folders = [tmp_path / name for name in "abcd"]
    for folder, options in zip(folders, ({}, {"seed": 1}, {"dtype": torch.bfloat16}, {"shards": 3}), strict=True):
        tiny.build(folder, **options)
    first, second, half, sharded = (dict(read_checkpoint_folder(folder)) for folder in folders)
    name = "talker.model.layers.0.mlp.up_proj.weight"
    assert not torch.equal(first[name], second[name])
    assert torch.equal(first[name].bfloat16(), half[name])
    assert first.keys() == sharded.keys()
    assert all(torch.equal(first[key], sharded[key]) for key in first)
    assert len(list(folders[3].glob("model-*-of-00003.safetensors"))) == 3


def test_only_the_larger_talker_has_a_projection(tmp_path):
    for size in ("0b6", "1b7"):
        tiny.build(tmp_path / size, size=size)
    small, large = (dict(read_checkpoint_folder(tmp_path / size)) for size in ("0b6", "1b7"))
    assert {key.rpartition(".")[0] for key in large.keys() - small.keys()} == {
        "talker.code_predictor.small_to_mtp_projection"
    }


def test_unknown_kind(tmp_path):
    with pytest.raises(ValueError, match="kind must be one of"):
        tiny.build(tmp_path, "clone")


def test_every_key_has_a_place(tmp_path):
    tiny.build(tmp_path, "base")
    places = {}
    for source in (tmp_path, tmp_path / "speech_tokenizer"):
        for key, _ in read_checkpoint_folder(source):
            places.setdefault(keys.rename(key), []).append(key)
    assert {component for component, _ in places} == {"talker", "voice", "codec", keys.NOWHERE}
    assert all(len(found) == 1 for found in places.values())


def test_a_foreign_key_is_refused():
    with pytest.raises(ModelFileError, match='a tensor "thinker'):
        keys.rename("thinker.layers.0")


def test_the_larger_model_follows_instructions(tmp_path):
    tiny.build(tmp_path, size="1b7")
    assert json.loads((tmp_path / "config.json").read_text())["tts_model_size"] == "1b7"
