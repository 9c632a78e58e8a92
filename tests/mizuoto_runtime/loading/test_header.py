import json
import struct

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading import header
from mizuoto.mizuoto_runtime.loading.header import StoredTensor, read_header
from mizuoto.mizuoto_runtime.loading.safetensors import read_safetensors
from safetensors import safe_open
from safetensors.torch import save_file


def entry(begin, end, shape=None, dtype="F32"):
    return {"dtype": dtype, "shape": [(end - begin) // 4] if shape is None else shape, "data_offsets": [begin, end]}


def write(path, entries, data=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_what_the_format_s_own_writer_writes(path):
    save_file({"b": torch.ones(2, 3), "a": torch.ones(5, dtype=torch.int8)}, path, {"kind": "voice"})
    found = read_header(path)
    start = path.stat().st_size - 29
    assert found.tensors == (
        StoredTensor("b", torch.float32, (2, 3), start, 24),
        StoredTensor("a", torch.int8, (5,), start + 24, 5),
    )
    assert found.metadata == {"kind": "voice"}


def test_an_empty_file_of_the_format(path):
    assert read_header(write(path, b"{}  ")).tensors == ()


DAMAGED = {
    "not utf-8": (b"{\xff}", "its header cannot be understood"),
    "not json": (b"{nonsense", "its header cannot be understood"),
    "too deep": (b'{"a":' * 200_000, "its header cannot be understood"),
    "an enormous number": (b'{"a":' + b"9" * 5000 + b"}", "its header cannot be understood"),
    "a name twice": (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        r'cannot be understood \("a" occurs twice\)',
    ),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, "its metadata are not texts"),
    "metadata in a list": ({"__metadata__": []}, "its metadata are not texts"),
    "no table": ({"a": 3}, '"a" lacks a proper type, shape or place'),
    "no dtype": ({"a": {"shape": [2], "data_offsets": [0, 8]}}, '"a" lacks'),
    "a negative size": ({"a": entry(0, 8, [-1, -2])}, '"a" lacks'),
    "a fraction": ({"a": entry(0, 8, [2.0])}, '"a" lacks'),
    "a truth": ({"a": entry(0, 4, [True])}, '"a" lacks'),
    "three offsets": ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}}, '"a" lacks'),
    "negative offsets": ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, '"a" lacks'),
    "backwards": ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, "does not fill the -8 bytes"),
    "too small": ({"a": entry(0, 8, [3])}, r'"a" of shape \(3,\) does not fill the 8 bytes'),
    "an overflow": ({"a": entry(0, 8, [2**32, 2**32, 2])}, "does not fill"),
    "endless but empty": ({"a": entry(0, 0, [0, 2**40, 2**40])}, "does not fill"),
    "overlap": ({"a": entry(0, 8), "b": entry(4, 8)}, 'tensor "b" overlaps "a"'),
    "the same place": ({"a": entry(0, 8), "b": entry(0, 8)}, 'tensor "b" overlaps "a"'),
    "a gap": ({"a": entry(0, 4), "b": entry(8, 12)}, 'tensor "b" leaves a gap after "a"'),
    "a gap in front": ({"a": entry(4, 8)}, 'tensor "a" leaves a gap after the header'),
    "a rest": ({"a": entry(0, 4)}, "4 bytes follow its last tensor"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_header_that_contradicts_itself_is_damaged(path, case):
    entries, why = DAMAGED[case]
    with pytest.raises(ModelFileError, match=f"is damaged: .*{why}.*Copy or download it again"):
        read_header(write(path, entries, bytes(8)))


def test_tensors_beyond_the_end_are_cut_off(path):
    write(path, {"a": entry(0, 4), "b": entry(4, 4000)}, bytes(100))
    size = path.stat().st_size
    with pytest.raises(ModelFileError, match=f"is cut off: {size} of at least {size + 3900:,} bytes are there"):
        read_header(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "it is the Git LFS pointer to the file"),
        (b"<!DOCTYPE html><html>", "it is a web page"),
        (b"PK\x03\x04" + bytes(range(100)), "it is a zip or PyTorch file"),
        (b"\x80\x02}q\x00." + bytes(100), "it is a pickle"),
        (b"GGUF\x03" + bytes(100), "it is a GGUF file"),
        (struct.pack("<Q", 100_000_001) + b"{", "it begins with something else"),
        (struct.pack("<Q", 4) + b"[{}]", "it begins with something else"),
        (bytes(100), "it begins with something else"),
    ],
)
def test_other_files_are_told_apart(path, content, what):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=f"is no safetensors file: {what}. Download the file itself"):
        read_header(path)


def test_an_unknown_type_is_named(path):
    with pytest.raises(ModelFileError, match=r'Tensor "a" of .* has the type F4, which this version cannot read'):
        read_header(write(path, {"a": entry(0, 8, dtype="F4")}, bytes(8)))


def test_what_the_system_refuses_is_named(path, monkeypatch):
    def refuse(*_):
        raise PermissionError("not yours")

    write(path, b"{}")
    monkeypatch.setattr(header, "open", refuse, raising=False)
    with pytest.raises(ModelFileError, match=r"cannot be read \(not yours\)"):
        read_header(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 199), value=st.integers(0, 255))
def test_one_changed_byte_is_refused_or_read_as_the_format_s_own_reader_does(path, position, value):
    save_file({"ab": torch.arange(6.0).view(2, 3), "c": torch.arange(5, dtype=torch.uint8)}, path, {"k": "v"})
    content = bytearray(path.read_bytes())
    content[position % len(content)] = value
    path.write_bytes(content)
    try:
        ours = dict(read_safetensors(path))
    except ModelFileError:
        return
    with safe_open(path, framework="pt") as file:
        assert set(file.keys()) == ours.keys()
        assert all(torch.equal(file.get_tensor(name), ours[name]) for name in ours)
