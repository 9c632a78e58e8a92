import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.safetensors import read_safetensors
from safetensors.torch import save_file


@pytest.fixture
def path(tmp_path):
    tensors = {
        "odd": torch.arange(3, dtype=torch.uint8),  # the next one starts unaligned in the file
        "half": torch.arange(10, dtype=torch.float16).view(2, 5),
        "single": torch.arange(10, dtype=torch.float32),
        "ids": torch.arange(4),
        "flag": torch.tensor(True),
        "empty": torch.zeros(0, 3),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_stored_types_are_kept(path):
    read = dict(read_safetensors(path))
    assert {name: tensor.dtype for name, tensor in read.items()} == {
        "odd": torch.uint8,
        "half": torch.float16,
        "single": torch.float32,
        "ids": torch.int64,
        "flag": torch.bool,
        "empty": torch.float32,
    }
    assert torch.equal(read["half"], torch.arange(10, dtype=torch.float16).view(2, 5))
    assert read["empty"].shape == (0, 3)
    assert read["flag"].item() is True


def test_only_floating_point_is_converted(path):
    read = dict(read_safetensors(path, torch.bfloat16))
    assert {read[name].dtype for name in ("half", "single", "empty")} == {torch.bfloat16}
    assert (read["odd"].dtype, read["ids"].dtype) == (torch.uint8, torch.int64)


def test_tensors_are_aligned_and_outlive_the_file(path):
    read = dict(read_safetensors(path))
    path.write_bytes(b"")
    assert all(tensor.data_ptr() % 64 == 0 for tensor in read.values())
    read["single"].add_(1.0)
    assert read["single"].sum() == 55


def test_tensors_come_one_at_a_time(path):
    reader = read_safetensors(path)
    name, _ = next(reader)
    assert name in {"odd", "half", "single", "ids", "flag", "empty"}
    with pytest.raises(KeyError, match="the consumer's own"):
        for _ in reader:
            raise KeyError("the consumer's own")


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_a_cut_off_file_is_damaged(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match=r"cannot be read .* damaged or incomplete: copy or download it again"):
        list(read_safetensors(path))


def test_another_format_is_damaged(path):
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)) * 4)
    with pytest.raises(ModelFileError, match="cannot be read"):
        list(read_safetensors(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r'"absent.safetensors" is missing in .*; copy it there again'):
        list(read_safetensors(tmp_path / "absent.safetensors"))
    with pytest.raises(ModelFileError, match="is missing"):
        list(read_safetensors(tmp_path))
