"""Folders as users have them: complete, shared, incomplete, of other models."""

import shutil

import pytest
import torch
from mizuoto import engines
from mizuoto.engines.f5_tts.files import find_weights
from mizuoto.engines.f5_tts.manifest import MANIFEST
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.f5_tts import models, tiny
from safetensors.torch import load_file, save_file

FILE = "model_1250000.safetensors"


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of a checkpoint, to be changed."""
    return shutil.copytree(checkpoint(), tmp_path / "F5TTS_v1_Base")


def mel(folder):
    model = models.load(folder)
    return models.talk(model, "Hi there, you.", models.voice(model), steps=1).segments[0].tensors["mel"]


def test_a_folder_is_recognised_by_its_weights(folder):
    assert engines.recognise(folder) is MANIFEST
    (folder / "vocab.txt").unlink()
    assert MANIFEST.recognise(folder)
    (folder / FILE).rename(folder / "other.bin")
    assert not MANIFEST.recognise(folder)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 40, b"PK\x03\x04 no archive", b"\x10" + b"\0" * 7 + b'{"transformer."}']
)
@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_other_files_are_not_recognised(tmp_path, content, suffix):
    (tmp_path / f"model{suffix}").write_bytes(content)
    assert not MANIFEST.recognise(tmp_path)
    assert not MANIFEST.recognise(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["model_900.safetensors", "model_1000.safetensors"], "model_1000.safetensors"),
        (["model_1000.safetensors", "model_1000.pt"], "model_1000.safetensors"),
        (["model_1000.safetensors", "model_last.pt"], "model_last.pt"),
        (["model_50.safetensors", "pretrained_model_1250000.safetensors"], "model_50.safetensors"),
        (["model_50.safetensors", "model_70.ckpt"], "model_50.safetensors"),
    ],
)
def test_of_several_files_the_newest_counts(checkpoint, tmp_path, names, chosen):
    files = {".safetensors": checkpoint() / FILE}
    files[".pt"] = files[".ckpt"] = checkpoint("F5TTS_v1_Custom", file="model_last.pt") / "model_last.pt"
    for name in names:
        shutil.copy(files[name[name.rindex(".") :]], tmp_path / name)
    assert find_weights(tmp_path).path.name == chosen


def test_names_without_the_averages_prefix(folder):
    expected = mel(folder)
    plain = {name.removeprefix("ema_model."): tensor for name, tensor in load_file(folder / FILE).items()}
    save_file(plain, folder / FILE)
    assert torch.equal(mel(folder), expected)


def test_a_training_without_averages(folder):
    expected = mel(folder)
    plain = {name.removeprefix("ema_model."): tensor for name, tensor in load_file(folder / FILE).items()}
    (folder / FILE).unlink()
    torch.save({"model_state_dict": plain, "optimizer_state_dict": {"state": {}}}, folder / "model_last.pt")
    assert torch.equal(mel(folder), expected)


def test_the_vocoder_may_be_shared(folder):
    expected = models.load(folder)
    shutil.move(folder / "vocos-mel-24khz", folder.parent / "vocos-mel-24khz")
    found = models.load(folder)
    codes = models.talk(found, "Hi there, you.", models.voice(found), steps=1)
    assert torch.equal(models.waveform(found, codes)[0], models.waveform(expected, codes)[0])


def test_without_a_vocoder_both_places_are_named(folder):
    shutil.rmtree(folder / "vocos-mel-24khz")
    with pytest.raises(ModelFileError, match=r'no vocoder: neither "vocos-mel-24khz" in it nor .* beside it .* Copy'):
        models.load(folder)


@pytest.mark.parametrize("file", ["vocab.txt", "vocos-mel-24khz/pytorch_model.bin"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(ModelFileError, match=file.rpartition("/")[2]):
        models.load(folder)


@pytest.mark.parametrize("file", [FILE, "vocos-mel-24khz/pytorch_model.bin"])
def test_a_truncated_file_is_named(folder, file):
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match=file.rpartition("/")[2]):
        models.load(folder)


def test_a_vocabulary_of_another_model_is_refused(folder):
    with open(folder / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("ü\n")
    with pytest.raises(ModelFileError, match="has 87 symbols and its weights are for 86; they belong to different"):
        models.load(folder)


@pytest.mark.parametrize(
    ("name", "shape", "match"),
    [
        ("transformer_blocks.1.ff.ff.2.bias", None, '"blocks.1.feed_forward.project.bias" is missing'),
        ("transformer_blocks.1.extra.weight", (3,), "is not part of this architecture"),
        ("input_embed.proj.weight", (64, 300), "holds no F5-TTS transformer for 100 mels"),
        ("rotary_embed.inv_freq", (0,), "holds no F5-TTS transformer"),
        ("time_embed.time_mlp.0.weight", None, "holds no F5-TTS transformer"),
    ],
)
def test_weights_that_do_not_fit_are_named(folder, name, shape, match):
    tensors = load_file(folder / FILE)
    key = f"ema_model.transformer.{name}"
    tensors.pop(key, None)
    save_file({**tensors, **({key: torch.zeros(shape)} if shape else {})}, folder / FILE)
    with pytest.raises(ModelFileError, match=match):
        models.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("MelSpectrogramFeatures", "EncodecFeatures", "is no Vocos for mels: the feature_extractor"),
        ("sample_rate: 24000", "sample_rate: 44100", '"sample_rate" 44100, and only 24000'),
        ("padding: center", "padding: odd", "\"padding\": 'odd'; only center, same"),
        ("num_layers: 2", "num_layers: 3", "does not fit Vocos"),
        ("backbone:", "- backbone", "config.yaml.*cannot be understood"),
    ],
)
def test_another_vocoder_is_refused(folder, old, new, match):
    path = folder / "vocos-mel-24khz" / "config.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ModelFileError, match=match):
        models.load(folder)


def test_loading_changes_nothing_else(checkpoint):
    before = snapshot()
    models.load(checkpoint())
    assert snapshot() == before


def test_the_tiny_vocabulary_fits():
    assert len(set(tiny.SYMBOLS)) == len(tiny.SYMBOLS) == 86
