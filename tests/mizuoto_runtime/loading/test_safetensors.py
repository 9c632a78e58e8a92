import os
from pathlib import Path

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading import safetensors
from mizuoto.mizuoto_runtime.loading.header import DTYPES, read_header
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
    with pytest.raises(KeyError, match=r"the consumer's own"):
        for _ in reader:
            raise KeyError("the consumer's own")


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_a_cut_off_file_says_so(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(
        ModelFileError, match=r"is cut off: [\d,]+ of at least [\d,]+ bytes .* Copy or download it again"
    ):
        next(read_safetensors(path))


def test_a_file_that_shrinks_while_it_is_read_is_cut_off(path):
    reader = read_safetensors(path)
    next(reader)
    size = path.stat().st_size
    os.truncate(path, size - 1)
    with pytest.raises(ModelFileError, match=f"is cut off: {size - 1} of at least {size} bytes"):
        list(reader)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r'"absent.safetensors" is missing in .*; copy it there again'):
        list(read_safetensors(tmp_path / "absent.safetensors"))
    with pytest.raises(ModelFileError, match=r"is missing"):
        list(read_safetensors(tmp_path))


@pytest.mark.parametrize("positioned", [True, False])
@pytest.mark.parametrize("dtype", [None, torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_type_is_read_with_the_bits_of_torch(tmp_path, monkeypatch, positioned, dtype):
    if not positioned:
        monkeypatch.delattr(os, "preadv", raising=False)  # as on Windows
    monkeypatch.setattr(safetensors, "STAGE_BYTES", 1003)  # no multiple of any element: many parts, the last one short
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(7, 611, generator=generator) * 100
    kinds = [kind for kind in DTYPES.values() if kind != torch.bool]
    tensors = {str(kind): noise.abs().to(kind) for kind in kinds} | {"bool": noise > 0}
    save_file(tensors, tmp_path / "all.safetensors")
    read = dict(read_safetensors(tmp_path / "all.safetensors", dtype))
    assert read.keys() == tensors.keys()
    for name, stored in tensors.items():
        wanted = stored.to(dtype) if dtype is not None and stored.is_floating_point() else stored
        assert read[name].dtype == wanted.dtype
        assert torch.equal(read[name].view(torch.uint8), wanted.view(torch.uint8)), name


def test_reads_that_come_in_pieces_are_put_together(path, monkeypatch):
    whole = dict(read_safetensors(path))
    monkeypatch.setattr(
        safetensors, "_read_at", lambda file, view, offset: os.preadv(file.fileno(), [view[:3]], offset)
    )
    assert all(torch.equal(tensor, whole[name]) for name, tensor in read_safetensors(path))


def test_tensors_come_in_the_order_of_the_file_and_only_those_selected(path):
    offsets = {tensor.name: tensor.offset for tensor in read_header(path).tensors}
    assert [name for name, _ in read_safetensors(path)] == sorted(offsets, key=offsets.__getitem__)
    assert {name for name, _ in read_safetensors(path, select=lambda name: name.startswith("f"))} == {"flag"}


def test_nothing_of_the_process_changes(path):
    state = torch.get_rng_state()
    with torch.inference_mode(), torch.device("meta"):
        read = dict(read_safetensors(path, torch.float64))
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(tensor.is_meta or tensor.is_inference() for tensor in read.values())


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_neither_a_mapping_nor_an_open_file_is_left(path):
    kept = dict(read_safetensors(path))
    abandoned = read_safetensors(path)
    next(abandoned)
    abandoned.close()
    assert kept
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert path.name not in {Path(os.readlink(entry)).name for entry in _open_files()}


def _open_files():
    return [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_the_peak_is_the_final_bytes(tmp_path, dtype):
    save_file({f"t{index}": torch.zeros(8 << 20) for index in range(4)}, tmp_path / "big.safetensors")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _status("VmRSS")
    read = dict(read_safetensors(tmp_path / "big.safetensors", dtype))
    final = sum(tensor.nbytes for tensor in read.values())
    assert _status("VmHWM") - before <= 1.05 * final + (4 << 20)


def _status(field):
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) << 10
