import io
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.pickle import read_pickle, read_pickled_tensor
from torch import nn

NO_WEIGHTS = r"cannot be read as weights \(.+\): it is damaged or another kind of file. Copy or download it again"


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def save_zip(content, path):
    torch.save(content, path)


def save_legacy(content, path):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def save_plain(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


def save_tar(content, path):
    """The layout of PyTorch before 0.1.10, with `content` where its object was."""
    with tarfile.open(path, "w") as archive:
        for name, part in (("sys_info", {"protocol_version": 1000}), ("pickle", content)):
            add(archive, name, pickle.dumps(part, protocol=2))
        for name in ("storages", "tensors"):
            add(archive, name, pickle.dumps(0, protocol=2))


def add(archive, name, content):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pth"


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "executed"


@pytest.mark.parametrize("save", [save_zip, save_legacy])
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.bfloat16])
def test_tensors_are_read_and_stand_on_their_own(path, save, dtype):
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(40, 30, generator=generator)
    content = OrderedDict(
        weight=whole, half=whole.half(), row=whole[3, 1:], turned=whole.T, again=whole, ids=torch.arange(5),
        scalar=torch.tensor(2.5), empty=torch.zeros(0, 3), parameter=nn.Parameter(torch.ones(3)),
    )  # fmt: skip
    save(content, path)
    read = dict(read_pickle(path, dtype))
    assert list(read) == list(content)
    path.write_bytes(b"")
    for name, tensor in content.items():
        wanted = tensor.to(dtype) if dtype and tensor.is_floating_point() else tensor
        assert read[name].dtype == wanted.dtype
        assert torch.equal(read[name], wanted), name
        assert read[name].is_contiguous()
        assert not read[name].requires_grad
        assert read[name].data_ptr() % 64 == 0
        assert read[name].untyped_storage().nbytes() == wanted.nbytes
    filled = [tensor.data_ptr() for tensor in read.values() if tensor.numel()]
    assert len(set(filled)) == len(filled)


def test_nested_tables_give_dotted_names(path):
    content = {"model": {"a": {"weight": torch.ones(1)}}, "b": torch.ones(2), 7: {8: torch.ones(3)}, "step": 5}
    torch.save(content, path)
    assert {name: len(tensor) for name, tensor in read_pickle(path)} == {"model.a.weight": 1, "b": 2, "7.8": 3}
    assert [name for name, _ in read_pickle(path, select=lambda name: name.startswith("model."))] == ["model.a.weight"]


def test_two_tensors_of_one_name_are_damage(path):
    torch.save({"a.b": torch.ones(1), "a": {"b": torch.ones(1)}}, path)
    with pytest.raises(ModelFileError, match=r'is damaged: it has two tensors "a\.b"'):
        list(read_pickle(path))


def test_a_table_inside_itself_is_damage(path):
    root = {"a": torch.ones(1)}
    root["again"] = {"root": root}
    torch.save(root, path)
    with pytest.raises(ModelFileError, match=r'is damaged: table "again.root" occurs twice'):
        list(read_pickle(path))


def test_a_file_that_is_one_tensor(path):
    stored = torch.arange(12.0).reshape(3, 4)
    torch.save(stored.half(), path)
    found = read_pickled_tensor(path, torch.float32)
    assert torch.equal(found, stored)
    assert found.dtype == torch.float32
    for content in ({"a": stored}, [stored], "text"):
        torch.save(content, path)
        with pytest.raises(ModelFileError, match=f"holds no tensor but a {type(content).__name__}"):
            read_pickled_tensor(path)
    torch.save(print, path)
    with pytest.raises(ModelFileError, match="was refused and nothing in it was run"):
        read_pickled_tensor(path)


@pytest.mark.parametrize("content", [torch.ones(3), [torch.ones(3)], "text"])
def test_something_else_than_a_table(path, content):
    torch.save(content, path)
    with pytest.raises(ModelFileError, match=f"holds no table of tensors but a {type(content).__name__}"):
        list(read_pickle(path))


def test_tensors_that_are_no_plain_values_are_named(path):
    torch.save({"a": torch.eye(3).to_sparse()}, path)
    with pytest.raises(ModelFileError, match=r'Tensor "a" of .* is sparse, quantised or without values'):
        list(read_pickle(path))
    torch.save({"a": torch.empty(3, device="meta")}, path)
    with pytest.raises(ModelFileError, match=r'Tensor "a" of .* without values'):
        list(read_pickle(path))


@pytest.mark.parametrize("save", [save_zip, save_legacy, save_plain, save_tar])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_a_malicious_file_is_refused_and_not_executed(path, marker, save, dtype):
    save({"weight": Malicious(marker)}, path)
    with pytest.raises(ModelFileError, match=r"was refused and nothing in it was run: it .* code and not only weights"):
        list(read_pickle(path, dtype))
    assert not marker.exists()


def test_the_malicious_files_would_do_harm(path, marker):
    # Control: what the test above refuses is not harmless by mistake.
    save_zip({"weight": Malicious(marker)}, path)
    torch.load(path, weights_only=False)
    assert marker.exists()
    marker.unlink()
    save_tar({"weight": Malicious(marker)}, path)
    with tarfile.open(path) as archive:
        pickle.load(archive.extractfile("pickle"))
    assert marker.exists()


def test_what_a_file_asks_for_is_named(path):
    for content, name in ((b"cos\nsystem\n(S'exit 1'\ntR.", "os.system"), (b"c__builtin__\neval\n(S'1'\ntR.", "eval")):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=f'it asks for "{name}", which is code'):
            list(read_pickle(path))


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_newer_pickles_are_not_executed_either(path, marker):
    path.write_bytes(pickle.dumps({"weight": Malicious(marker)}, protocol=4))
    with pytest.raises(ModelFileError, match=NO_WEIGHTS):
        list(read_pickle(path))
    assert not marker.exists()


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_a_program_is_refused(path, dtype):
    class Program(nn.Module):
        def forward(self, hidden):
            return hidden + 1

    torch.jit.script(Program()).save(path)
    with pytest.raises(ModelFileError, match=r"was refused .*: it is a TorchScript program"):
        list(read_pickle(path, dtype))


def test_a_torch_that_can_be_got_round_is_not_used(path, monkeypatch):
    torch.save({"a": torch.ones(1)}, path)
    for version, is_safe in (("2.5.1+cu121", False), ("1.13.0", False), ("2.6.0", True), ("3.0.0a0+git", True)):
        monkeypatch.setattr(torch, "__version__", version)
        if is_safe:
            assert len(list(read_pickle(path))) == 1
        else:
            with pytest.raises(
                ModelFileError, match=f"PyTorch {version[:4]}.* cannot read safely. Update PyTorch to 2.6"
            ):
                list(read_pickle(path))


@pytest.mark.parametrize("save", [save_zip, save_legacy])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize("keep", [0, 1, 3, 4, 100, 0.5, -1])
def test_a_cut_off_file_is_damaged(path, save, dtype, keep):
    save({"a": torch.ones(500), "b": {"c": torch.ones(500)}}, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(ModelFileError, match=NO_WEIGHTS):
        list(read_pickle(path, dtype))


@pytest.mark.parametrize(
    "content",
    [b"version https://git-lfs.github.com/spec/v1\n", b"<!DOCTYPE html>", bytes(range(256)) * 4, b"PK\x03\x04" * 9,
     struct.pack("<Q", 2) + b"{}", b"GGUF"],
)  # fmt: skip
def test_other_files_are_damaged(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=NO_WEIGHTS):
        list(read_pickle(path))


def test_an_ordinary_zip_is_damaged(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ModelFileError, match=NO_WEIGHTS):
        list(read_pickle(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r'"absent.pth" is missing in'):
        list(read_pickle(tmp_path / "absent.pth"))


def test_nothing_of_the_process_changes(path, recwarn):
    torch.save({"a": torch.ones(5), "b": torch.ones(4)[1:]}, path)
    state = torch.get_rng_state()
    with torch.inference_mode(), torch.device("meta"):
        read = [tensor for dtype in (None, torch.float16) for _, tensor in read_pickle(path, dtype)]
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(tensor.is_meta or tensor.is_inference() for tensor in read)
    assert not recwarn.list


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.float16])
def test_no_mapping_is_left(path, dtype):
    torch.save({"a": torch.ones(5000), "b": torch.ones(5000)}, path)
    read = dict(read_pickle(path, dtype))
    assert read
    assert path.name not in Path("/proc/self/maps").read_text()
