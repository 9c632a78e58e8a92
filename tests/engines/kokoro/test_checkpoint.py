import copy
import json
import shutil
import warnings

import pytest
import torch
from mizuoto.engines import recognise
from mizuoto.engines.kokoro.checkpoint import find_weights, read_components, read_weights
from mizuoto.engines.kokoro.config import CheckpointConfig
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.tests.engines.kokoro import tiny
from safetensors.torch import save_file

WEIGHTS = "kokoro-v1_0.pth"


@pytest.fixture
def folder(tiny_folder, tmp_path):
    """A copy that may be spoilt."""
    shutil.copytree(tiny_folder, tmp_path / "own")
    return tmp_path / "own"


def changed(folder, change):
    """Rewrite the weights of a checkpoint by `change`, a function of its parts."""
    parts = torch.load(folder / WEIGHTS, weights_only=True)
    torch.save(change(parts) or parts, folder / WEIGHTS)


def state_of(folder):
    components = read_components(folder, CheckpointConfig.read(folder))
    return {**components.talker.state_dict(), **components.decoder.state_dict()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_folder_is_recognised(tiny_folder, tmp_path):
    assert recognise(tiny_folder).id == "kokoro"
    assert recognise(tmp_path) is None
    (tmp_path / "config.json").write_text("[")
    assert recognise(tmp_path) is None


def test_weights_are_those_that_weight_norm_makes_of_the_files(tiny_folder):
    plain = tiny.weights(tiny.CONFIG, torch.Generator().manual_seed(0))
    found = read_weights(tiny_folder / WEIGHTS)
    assert found.keys() == {name for name in plain if not name.startswith("bert.pooler.")}
    for name, weight in found.items():
        torch.testing.assert_close(weight, plain[name])
    layer = torch.nn.Conv1d(64, 64, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = torch.nn.utils.weight_norm(layer)
    stored = torch.load(tiny_folder / WEIGHTS, weights_only=True)["text_encoder"]
    for end in ("weight_g", "weight_v", "bias"):
        getattr(layer, end).data = stored[f"module.cnn.0.0.{end}"]
    layer(torch.zeros(1, 64, 9))
    assert torch.equal(found["text_encoder.cnn.0.0.weight"], layer.weight)


def test_other_layouts_hold_the_same(tiny_folder, folder):
    expected = state_of(tiny_folder)
    changed(folder, lambda parts: {part: {name[7:]: t for name, t in own.items()} for part, own in parts.items()})
    assert same(state_of(folder), expected)
    (folder / WEIGHTS).unlink()
    flat = {name: tensor.clone() for name, tensor in read_weights(tiny_folder / WEIGHTS).items()}
    flat["bert.embeddings.position_ids"] = torch.arange(512)[None]
    flat["decoder.encode.norm1.norm.weight"], flat["decoder.encode.norm1.norm.bias"] = torch.ones(66), torch.zeros(66)
    save_file(flat, folder / "kokoro.safetensors")
    assert same(state_of(folder), expected)


def test_a_trained_norm_is_refused(folder):
    def train(parts):
        parts["decoder"]["module.encode.norm1.norm.bias"] = torch.full((66,), 0.1)

    changed(folder, train)
    with pytest.raises(ModelFileError, match=r'trained "decoder.encode.norm1.norm.bias"'):
        state_of(folder)


def test_files_of_another_model(folder):
    changed(folder, lambda parts: parts | {"mel_style_encoder": {"module.weight": torch.zeros(2)}})
    with pytest.raises(ModelFileError, match=r'no Kokoro checkpoint: it has a tensor "mel_style_encoder.weight"'):
        state_of(folder)


def test_a_part_that_is_missing(folder):
    changed(folder, lambda parts: {part: own for part, own in parts.items() if part != "bert_encoder"})
    with pytest.raises(ModelFileError, match=r'does not fit Talker: "bert_encoder.weight" is missing'):
        state_of(folder)


def test_one_file_of_weights(folder):
    shutil.copy(folder / WEIGHTS, folder / "kokoro-v1_1-zh.pth")
    with pytest.raises(ModelFileError, match=r'"own" holds 2 files of weights'):
        find_weights(folder)
    (folder / WEIGHTS).unlink()
    assert find_weights(folder).name == "kokoro-v1_1-zh.pth"
    (folder / "kokoro-v1_1-zh.pth").unlink()
    with pytest.raises(ModelFileError, match=r'"own" holds no file of weights \(\*.pth, \*.safetensors\)'):
        find_weights(folder)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("hidden_dim",), None, 'has no "hidden_dim"'),
        (("n_layer",), 0, 'says "n_layer": 0'),
        (("plbert", "hidden_size"), "64", 'says "hidden_size"'),
        (("istftnet", "resblock_dilation_sizes"), 3, "no list of lists"),
        (("istftnet", "resblock_dilation_sizes"), [3], "no list of sizes"),
        (("istftnet", "upsample_kernel_sizes"), [20], "do not pair up"),
        (("istftnet", "gen_istft_hop_size"), 10, "takes 40 frames a second instead of 80"),
        (("vocab", "a"), 178, 'phoneme "a" the id 178'),
        (("vocab",), [], "no object"),
    ],
)
def test_configurations_that_make_no_sense(tmp_path, path, value, sentence):
    config = copy.deepcopy(tiny.CONFIG)
    owner = config
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelFileError, match=sentence):
        CheckpointConfig.read(tmp_path)
