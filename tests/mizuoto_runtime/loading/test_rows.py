"""Tables of which only rows are read."""

import json
import os

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.rows import stored_rows
from safetensors.torch import save_file

NAME, SHAPE = "model.text.weight", (37, 5)


def table(dtype=torch.bfloat16):
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(0)).to(dtype)


def write(folder, tensor, name="model.safetensors"):
    save_file({"before": torch.zeros(3), NAME: tensor, "later": torch.ones(2)}, folder / name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rows_are_those_of_the_table(tmp_path, dtype):
    write(tmp_path, table(dtype))
    rows = stored_rows(tmp_path, NAME, SHAPE)
    ids = torch.tensor([[36, 0, 7], [7, 1, 36]])
    assert torch.equal(rows(ids), table(dtype)[ids])
    assert rows(torch.empty(1, 0, dtype=torch.int64)).shape == (1, 0, 5)
    assert not rows.state_dict() and not list(rows.parameters())
    for outside in (37, -1):
        with pytest.raises(IndexError, match="37 rows"):
            rows(torch.tensor([0, outside]))


def test_the_shard_of_the_index_is_read(tmp_path):
    write(tmp_path, table(), "model-00002-of-00002.safetensors")
    save_file({"other": torch.zeros(1)}, tmp_path / "model-00001-of-00002.safetensors")
    places = {"other": 1, "before": 2, NAME: 2, "later": 2}
    index = {"weight_map": {name: f"model-{number:05}-of-00002.safetensors" for name, number in places.items()}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert torch.equal(stored_rows(tmp_path, NAME, SHAPE)(torch.tensor([3])), table()[[3]])


def test_an_index_without_the_tensor_says_so(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"other": "model-00001-of-00001.safetensors"}}), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r'index\.json" lists no tensor "' + NAME):
        stored_rows(tmp_path, NAME, SHAPE)


def test_a_file_that_changed_or_is_gone_is_told(tmp_path):
    write(tmp_path, table())
    rows = stored_rows(tmp_path, NAME, SHAPE)
    os.utime(tmp_path / "model.safetensors", (1, 1))
    with pytest.raises(ModelFileError, match="was changed since it was loaded"):
        rows(torch.tensor([0]))
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match="cannot be read"):
        rows(torch.tensor([0]))


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="is missing"):
        stored_rows(tmp_path, NAME, SHAPE)
    write(tmp_path, table())
    with pytest.raises(ModelFileError, match="lacks the tensor"):
        stored_rows(tmp_path, "other", SHAPE)
    with pytest.raises(ModelFileError, match="has the shape"):
        stored_rows(tmp_path, NAME, (37, 6))


def test_no_file_stays_open(tmp_path):
    write(tmp_path, table())
    rows = stored_rows(tmp_path, NAME, SHAPE)
    rows(torch.tensor([0]))
    os.replace(tmp_path / "model.safetensors", tmp_path / "elsewhere.safetensors")
