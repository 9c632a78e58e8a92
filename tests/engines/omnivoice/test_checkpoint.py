"""Folders as users have them: complete, incomplete, of other models."""

import json
import shutil

import pytest
import torch
from mizuoto import engines
from mizuoto.engines.omnivoice.keys import NOWHERE, rename_codec, rename_model
from mizuoto.engines.omnivoice.manifest import MANIFEST
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.omnivoice import models
from safetensors.torch import load_file, save_file


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of the checkpoint, to be changed."""
    return shutil.copytree(checkpoint, tmp_path / "model")


def edit(path, change):
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def test_it_is_recognised_by_its_configuration(folder):
    assert engines.recognise(folder) is MANIFEST
    edit(folder / "config.json", lambda config: config.update(model_type="qwen3"))
    assert engines.recognise(folder) is None
    with pytest.raises(ModelFileError, match=r'"model" is no OmniVoice model.* "qwen3"'):
        models.load(folder)


def test_loading_draws_nothing_and_copies_every_weight_once(checkpoint):
    before = snapshot()
    model = models.load(checkpoint)
    assert snapshot() == before
    stored = [load_file(checkpoint / "model.safetensors"), load_file(checkpoint / "audio_tokenizer/model.safetensors")]
    used = sum(t.nbytes for name, t in stored[0].items() if rename_model(name)[0] != NOWHERE)
    used += sum(t.nbytes * len(rename_codec(name)) for name, t in stored[1].items())
    gain = stored[1]["semantic_model.encoder.pos_conv_embed.conv.parametrizations.weight.original0"]
    assert sum(handle.size_bytes for handle in model.handles) == used - gain.nbytes
    assert all(key.startswith("decoder_semantic") or "codebook" in key or key.startswith("fc1") for key in
               (name for name in stored[1] if not rename_codec(name)))  # fmt: skip


def test_half_precision_is_the_talkers_alone(checkpoint):
    model = models.load(checkpoint, torch.bfloat16)
    dtypes = [{parameter.dtype for parameter in handle.module.parameters()} for handle in model.handles]
    assert dtypes == [{torch.float32}, {torch.bfloat16}, {torch.float32}]
    waveform = models.say(model, "Hi there.", models.clone(model, torch.randn(24000), "one"), steps=3)[1]
    assert waveform.isfinite().all()


@pytest.mark.parametrize("layout", ["weight_g", "plain"])
def test_older_spellings_of_the_position_weight(folder, model, layout):
    path = folder / "audio_tokenizer" / "model.safetensors"
    tensors, lead = load_file(path), "semantic_model.encoder.pos_conv_embed.conv."
    gain, direction = (tensors.pop(f"{lead}parametrizations.weight.original{n}") for n in (0, 1))
    if layout == "plain":
        tensors[f"{lead}weight"] = torch._weight_norm(direction, gain, 2)
    else:
        tensors |= {f"{lead}weight_g": gain, f"{lead}weight_v": direction}
    save_file(tensors, path)
    found, expected = (models.part(each, "voice").state_dict() for each in (models.load(folder), model))
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "audio_tokenizer/config.json", "audio_tokenizer/model.safetensors"]
)
def test_a_missing_or_cut_file_is_named(folder, file):
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match=file.rpartition("/")[2]):
        models.load(folder)
    (folder / file).unlink()
    with pytest.raises(ModelFileError, match=file.partition("/")[0]):
        models.load(folder)


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("config.json", {"audio_mask_id": 33}, '"audio_mask_id" 33 among 33 codes'),
        ("config.json", {"num_audio_codebook": 4}, "8 codebooks of 32 codes and the model 4 of 32"),
        ("audio_tokenizer/config.json", {"model_type": "dac"}, 'holds a "dac" and the model needs'),
        ("audio_tokenizer/config.json", {"sample_rate": 16000}, '"sample_rate" 16000'),
        ("audio_tokenizer/config.json", {"strides": [2, 1]}, r'"strides" \[2, 1\]'),
        ("audio_tokenizer/config.json", {"target_bandwidths": []}, '"target_bandwidths"'),
        ("audio_tokenizer/config.json", {"kernel_size": 5}, "does not fit VoiceEncoder"),
    ],
)
def test_another_architecture_is_refused(folder, file, change, sentence):
    edit(folder / file, lambda config: config.update(change))
    with pytest.raises(ModelFileError, match=sentence):
        models.load(folder)


def test_another_hop_is_refused(folder):
    ratios = {"downsampling_ratios": [8, 5, 4, 2]}
    edit(folder / "audio_tokenizer/config.json", lambda config: config["acoustic_model_config"].update(ratios))
    with pytest.raises(ModelFileError, match="320 samples of a frame instead of 960"):
        models.load(folder)


def test_a_foreign_tensor_is_named(folder):
    path = folder / "model.safetensors"
    save_file({**load_file(path), "vocoder.weight": torch.zeros(1)}, path)
    with pytest.raises(ModelFileError, match=r'has a tensor "vocoder\.weight", which OmniVoice has not'):
        models.load(folder)
