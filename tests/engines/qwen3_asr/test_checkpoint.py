"""Folders as users have them: complete, in shards, of the other layout, incomplete, of other models."""

import json
import shutil

import pytest
import torch
from mizuoto.engines import recognise
from mizuoto.engines.qwen3_asr.config import CheckpointConfig
from mizuoto.engines.qwen3_asr.engine import ENGINE
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.qwen3_asr import models, oracle, tiny
from safetensors.torch import load_file, save_file


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of a checkpoint, to be changed."""
    return shutil.copytree(checkpoint(), tmp_path / "model")


def edit(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def edit_weights(folder, change):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def text_of(folder):
    return models.transcribe(models.load(folder), oracle.speech(1.0), max_new_tokens=12).text


def test_shards_give_what_one_file_gives(checkpoint, tmp_path):
    tiny.build(tmp_path / "sharded", shards=3)
    assert text_of(tmp_path / "sharded") == text_of(checkpoint()) != ""


@pytest.mark.parametrize("is_tied", [True, False])
def test_the_other_layout_gives_the_same(checkpoint, is_tied):
    assert text_of(checkpoint(layout="hf", is_tied=is_tied)) == text_of(checkpoint(is_tied=is_tied))


@pytest.mark.parametrize("layout", ["thinker", "hf"])
def test_folders_are_recognised(checkpoint, layout):
    assert recognise(checkpoint(layout=layout)) is ENGINE.manifest


def test_tied_weights_are_one_and_are_read_once(folder):
    edit_weights(folder, lambda tensors: tensors.update({"thinker.lm_head.weight": torch.zeros(1, 1)}))
    decoder = models.module(models.load(folder), "decoder")
    assert decoder.head.weight is decoder.embedding.weight


def test_loading_draws_nothing_and_changes_nothing(checkpoint):
    before = snapshot()
    models.load(checkpoint())
    assert snapshot() == before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(checkpoint, dtype):
    model = models.load(checkpoint(), dtype)
    assert {parameter.dtype for handle in model.handles for parameter in handle.module.parameters()} == {dtype}
    assert models.transcribe(model, oracle.speech(9.0), max_new_tokens=5).passages


@pytest.mark.parametrize(
    ("listed", "tags"), [(["German", "english"], ("en", "de")), (["Klingon"], None), ([], None), (None, None)]
)
def test_languages_are_those_of_the_checkpoint(folder, listed, tags):
    edit(folder, lambda config: config.update(support_languages=listed))
    assert models.load(folder).manifest.languages == (tags or ENGINE.manifest.languages)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "vocab.json", "merges.txt"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(ModelFileError, match=file):
        models.load(folder)


def test_a_missing_tokenizer_configuration_is_named(folder):
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ModelFileError, match=r"tokenizer_config\.json"):
        models.load(folder)


def test_a_truncated_file_is_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ModelFileError, match=r"model\.safetensors.* is cut off"):
        models.load(folder)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("thinker.audio_tower.layers.1.fc1.bias", r"AudioEncoder: \"layers\.1\.fc1\.bias\""),
        ("thinker.model.layers.0.mlp.up_proj.weight", r"TextDecoder: \"body\.layers\.0\.mlp\.up_proj\.weight\""),
        ("thinker.model.embed_tokens.weight", r"TextDecoder: \"embedding\.weight\""),
    ],
)
def test_a_missing_tensor_is_named(folder, name, place):
    edit_weights(folder, lambda tensors: tensors.pop(name))
    with pytest.raises(ModelFileError, match=rf'"model" does not fit {place} is missing\. It belongs to another'):
        models.load(folder)


@pytest.mark.parametrize("name", ["thinker.audio_tower.conv2d1.weight", "thinker.model.norm.weight"])
def test_a_wrong_shape_is_named(folder, name):
    edit_weights(folder, lambda tensors: tensors.update({name: torch.zeros(3, 5)}))
    with pytest.raises(ModelFileError, match=r"has shape \(3, 5\) instead of"):
        models.load(folder)


@pytest.mark.parametrize("name", ["thinker.visual.weight", "thinker.model.layers.2.mlp.up_proj.weight", "unknown"])
def test_a_strange_tensor_is_named(folder, name):
    edit_weights(folder, lambda tensors: tensors.update({name: torch.zeros(2)}))
    with pytest.raises(ModelFileError, match="is not part of this architecture"):
        models.load(folder)


@pytest.mark.parametrize("token", ["<asr_text>", "<|audio_start|>", "<|im_end|>"])
def test_a_tokenizer_of_another_model_is_refused(folder, token):
    path = folder / "tokenizer_config.json"
    path.write_text(path.read_text(encoding="utf-8").replace(token, "<|other|>"), encoding="utf-8")
    with pytest.raises(ModelFileError, match=rf'has no token "{token}"'.replace("|", r"\|")):
        models.load(folder)


def test_another_model_is_refused(folder):
    edit(folder, lambda config: config.update(model_type="qwen3_omni"))
    with pytest.raises(ModelFileError, match=r'"model" is no Qwen3-ASR model: its config\.json says "qwen3_omni"'):
        models.load(folder)
    assert not ENGINE.manifest.recognise(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["thinker_config"].update(model_type="qwen3_forced_aligner"),
        lambda config: config.update(architectures=["Qwen3ASRForTokenClassification"]),
    ],
)
def test_the_forced_aligner_is_refused(folder, change):
    edit(folder, change)
    with pytest.raises(ModelFileError, match=r'"model" is the forced aligner, .* load Qwen3-ASR-0\.6B'):
        models.load(folder)
    assert not ENGINE.manifest.recognise(folder)


@pytest.mark.parametrize(
    ("part", "key"),
    [
        *(("audio_config", key) for key in ("d_model", "n_window_infer", "num_mel_bins", "output_dim")),
        *(("text_config", key) for key in ("hidden_size", "vocab_size", "max_position_embeddings")),
    ],
)
def test_a_missing_key_is_named(folder, part, key):
    edit(folder, lambda config: config["thinker_config"][part].pop(key))
    with pytest.raises(ModelFileError, match=f'has no "{key}"'):
        CheckpointConfig.read(folder)


@pytest.mark.parametrize("part", ["audio_config", "text_config"])
def test_a_missing_part_is_named(folder, part):
    edit(folder, lambda config: config["thinker_config"].pop(part))
    with pytest.raises(ModelFileError, match=f'has no "{part}"'):
        CheckpointConfig.read(folder)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("n_window", 100, '"n_window" 100, and only 50'),
        ("activation_function", "relu", "'relu', and only 'gelu'"),
        ("n_window_infer", 850, '"n_window_infer" 850, which do not divide'),
        ("encoder_attention_heads", 5, '"d_model" 64 for 5 heads'),
        ("output_dim", 96, "gives 96 channels and the decoder takes 64"),
    ],
)
def test_another_encoder_is_refused(folder, key, value, told):
    edit(folder, lambda config: config["thinker_config"]["audio_config"].update({key: value}))
    with pytest.raises(ModelFileError, match=told):
        CheckpointConfig.read(folder)
