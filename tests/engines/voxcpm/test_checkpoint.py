"""Folders as users have them: of three versions, incomplete, of other models."""

import json
import shutil

import pytest
import torch
from mizuoto import engines
from mizuoto.engines.voxcpm.config import CheckpointConfig
from mizuoto.engines.voxcpm.tokens import TextTokens
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.checkpoint import read_checkpoint
from mizuoto.tests.engines.voxcpm import models, tiny
from safetensors.torch import save_file


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of a checkpoint of the second version, to be changed."""
    return shutil.copytree(checkpoint("2"), tmp_path / "model")


def edit(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_every_version_is_recognised(checkpoint, kind):
    assert engines.recognise(checkpoint(kind)).id == "voxcpm"


def test_the_first_version_need_not_say_its_name(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("1.5"), tmp_path / "model")
    edit(folder, lambda config: config.pop("architecture"))
    assert engines.recognise(folder).id == "voxcpm"
    assert not CheckpointConfig.read(folder).is_second


@pytest.mark.parametrize("text", ["[1]", "{}", '{"architecture": "voxcpm3"}', "{", '{"architecture": null}'])
def test_other_folders_are_not(tmp_path, text):
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert engines.manifests()["voxcpm"].recognise(tmp_path) is False


def test_files_may_be_of_either_format(folder):
    expected = models.talk(models.load(folder), max_seconds=0.3).segments[0].tensors["patches"]
    torch.save(dict(read_checkpoint(folder / "model.safetensors")), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    codec = {key.removeprefix("state_dict."): tensor for key, tensor in read_checkpoint(folder / "audiovae.pth")}
    save_file(codec, folder / "audiovae.safetensors")
    (folder / "audiovae.pth").unlink()
    assert torch.equal(models.talk(models.load(folder), max_seconds=0.3).segments[0].tensors["patches"], expected)


def test_a_codec_inside_the_model_is_passed_over(folder):
    tensors = dict(read_checkpoint(folder / "model.safetensors"))
    save_file({**tensors, "audio_vae.encoder.fc_mu.bias": torch.zeros(3)}, folder / "model.safetensors")
    models.load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "audiovae.pth"])
def test_a_missing_file_is_named_with_its_alternatives(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=f'"model" has neither "{name.split(".")[0]}.safetensors" nor .*again'):
        models.load(folder)


def test_a_missing_tensor_is_named(folder):
    tensors = dict(read_checkpoint(folder / "model.safetensors"))
    del tensors["stop_head.weight"]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ModelFileError, match=r'"stop_head\.weight" is missing'):
        models.load(folder)


def test_a_codec_of_another_version_is_refused(folder, checkpoint):
    shutil.copy(checkpoint("1.5") / "audiovae.pth", folder / "audiovae.pth")
    with pytest.raises(ModelFileError, match="belongs to another model or version"):
        models.load(folder)


CHANGES = {
    "architecture": (lambda config: config.update(architecture="voxcpm3"), '"architecture": .voxcpm3.*only voxcpm, '),
    "no lm": (lambda config: config.pop("lm_config"), 'no "lm_config"'),
    "heads": (lambda config: config["lm_config"].update(num_key_value_heads=3), "4 query heads cannot share 3"),
    "frames": (lambda config: config.update(feat_dim=8), r"\(8 and 16 channels\)"),
    "factors": (lambda config: config["lm_config"]["rope_scaling"].update(short_factor=[1]), "of 8 numbers above 0"),
    "tokens": (lambda config: config["lm_config"].update(vocab_size=9), "belong to different downloads"),
}


@pytest.mark.parametrize(("change", "told"), CHANGES.values(), ids=CHANGES)
def test_configurations_that_cannot_be_are_refused(folder, change, told):
    edit(folder, change)
    with pytest.raises(ModelFileError, match=told):
        models.load(folder)


def test_a_key_that_the_publishers_code_does_not_know_changes_nothing(folder):
    edit(folder, lambda config: config["dit_config"].update(mean_mode=True))
    assert not CheckpointConfig.read(folder).mean_mode
    edit(folder, lambda config: config["dit_config"].update(dit_mean_mode=True))
    assert CheckpointConfig.read(folder).mean_mode


def test_chinese_words_are_split_and_their_mark_goes_with_them(checkpoint):
    tokens = TextTokens.from_folder(checkpoint("2"))
    vocab = json.loads((checkpoint("2") / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert tokens("你好") == [vocab["你"], vocab["好"]]
    assert tokens("，世界") == [vocab["▁"], vocab["，世界"]]  # not of Han characters only
    assert tokens("早上") == [vocab["▁"], vocab["早"], vocab["上"]]
