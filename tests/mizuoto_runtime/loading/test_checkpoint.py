import json

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.checkpoint import read_checkpoint, read_checkpoint_folder, read_index
from safetensors.torch import save_file

SHARDS = {
    "model-00001-of-00002.safetensors": {"a.weight": torch.ones(2), "b.weight": torch.ones(3)},
    "model-00002-of-00002.safetensors": {"b.bias": torch.ones(4), "c": torch.arange(3)},
}
INDEX = "model.safetensors.index.json"


def write_index(folder, weight_map):
    text = weight_map if isinstance(weight_map, str) else json.dumps({"metadata": {}, "weight_map": weight_map})
    (folder / INDEX).write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for shard, tensors in SHARDS.items():
        save_file(tensors, folder / shard)
    write_index(folder, {name: shard for shard, tensors in SHARDS.items() for name in tensors})
    return folder


def test_shards_are_read_as_one(folder):
    read = dict(read_checkpoint_folder(folder, torch.bfloat16))
    assert {name: (len(tensor), tensor.dtype) for name, tensor in read.items()} == {
        "a.weight": (2, torch.bfloat16),
        "b.weight": (3, torch.bfloat16),
        "b.bias": (4, torch.bfloat16),
        "c": (3, torch.int64),
    }


def test_a_single_file_comes_first(folder):
    save_file({"whole": torch.ones(1)}, folder / "model.safetensors")
    assert [name for name, _ in read_checkpoint_folder(folder)] == ["whole"]


def test_other_stems(folder):
    save_file({"x": torch.ones(1)}, folder / "audiovae.safetensors")
    assert [name for name, _ in read_checkpoint_folder(folder, stem="audiovae")] == ["x"]
    with pytest.raises(
        ModelFileError, match=r'holds neither "vocoder.safetensors" nor "vocoder.safetensors.index.json"'
    ):
        list(read_checkpoint_folder(folder, stem="vocoder"))


def test_a_missing_shard_is_named_before_anything_is_read(folder):
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r'"model-00002-of-00002.safetensors" of "model.*json" is missing in '):
        next(read_checkpoint_folder(folder))


def test_many_missing_shards_are_counted(folder):
    write_index(folder, {f"t{index}": f"{index}.safetensors" for index in range(5)})
    with pytest.raises(ModelFileError, match=r'"0.safetensors", "1.safetensors", "2.safetensors" and 2 more of'):
        next(read_checkpoint_folder(folder))


def test_shards_without_a_selected_tensor_are_not_needed(folder):
    (folder / "model-00002-of-00002.safetensors").unlink()
    read = dict(read_checkpoint_folder(folder, select=lambda name: name == "a.weight"))
    assert read.keys() == {"a.weight"}


@pytest.mark.parametrize(
    ("shard", "tensors", "what"),
    [
        ("model-00001-of-00002.safetensors", {"a.weight": torch.ones(2)}, 'has no tensor "b.weight"'),
        ("model-00002-of-00002.safetensors", {**SHARDS["model-00002-of-00002.safetensors"], "d": torch.ones(1)},
         'has an unlisted tensor "d"'),
        ("model-00002-of-00002.safetensors", {**SHARDS["model-00002-of-00002.safetensors"], "a.weight": torch.ones(1)},
         'has an unlisted tensor "a.weight"'),
    ],
)  # fmt: skip
def test_shards_that_disagree_with_the_index_are_named_before_anything_is_read(folder, shard, tensors, what):
    save_file(tensors, folder / shard)
    with pytest.raises(ModelFileError, match=f'{shard}" {what}, against "{INDEX}": they belong to different downloads'):
        next(read_checkpoint_folder(folder))


def test_a_cut_off_shard_is_named_before_anything_is_read(folder):
    last = folder / "model-00002-of-00002.safetensors"
    last.write_bytes(last.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match=r'model-00002-of-00002.safetensors" is cut off'):
        next(read_checkpoint_folder(folder))


@pytest.mark.parametrize(
    "shard",
    ["../secret.safetensors", "/secret.safetensors", "sub/secret.safetensors", "..\\secret.safetensors",
     "C:secret.safetensors", "model.safetensors:secret.safetensors", "secret\0.safetensors", "..", "", 3, None,
     ["secret.safetensors"], "secret.pth"],
)  # fmt: skip
def test_shards_outside_the_folder_are_refused(folder, shard):
    save_file({"a": torch.ones(1)}, folder.parent / "secret.safetensors")
    write_index(folder, {"a": shard})
    with pytest.raises(
        ModelFileError, match=r'was refused: it looks for "a" in .*, which is no .safetensors file beside'
    ):
        next(read_checkpoint_folder(folder))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": ["a"]}', "\ufeff{}", '{"a":' * 100_000,
     '{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}'],
)  # fmt: skip
def test_a_damaged_index_says_so(folder, text):
    write_index(folder, text)
    with pytest.raises(ModelFileError, match=r"index.json\" is damaged: it .*Copy or download it again"):
        read_index(folder / INDEX)


def test_links_to_elsewhere_are_the_user_s_own(folder):
    # Download caches lay a model out as links to a common store.
    shard = folder / "model-00001-of-00002.safetensors"
    moved = shard.rename(folder.parent / "blob")
    try:
        shard.symlink_to(moved)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert len(dict(read_checkpoint_folder(folder))) == 4


def test_any_checkpoint(folder):
    assert len(dict(read_checkpoint(folder))) == 4
    single = folder / "model-00001-of-00002.safetensors"
    assert dict(read_checkpoint(single, torch.float16))["a.weight"].dtype == torch.float16
    torch.save({"x": torch.ones(2), "y": torch.ones(2)}, folder / "model.pth")
    assert [name for name, _ in read_checkpoint(folder / "model.pth", None, lambda name: name == "y")] == ["y"]


def test_no_checkpoint(folder):
    with pytest.raises(
        ModelFileError, match=r"is no checkpoint: the files that can be read end in .bin, .ckpt, .pt, .pth"
    ):
        read_checkpoint(folder / INDEX)
    with pytest.raises(ModelFileError, match=r'"absent.pth" is missing in'):
        read_checkpoint(folder / "absent.pth")
