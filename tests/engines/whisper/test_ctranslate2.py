"""CTranslate2's own converter writes what is read here; files that lie about themselves cost one sentence."""

import json
import shutil
import struct
import tracemalloc
from dataclasses import replace
from functools import cache

import pytest
import torch
from ctranslate2.converters import TransformersConverter
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.engines.whisper import ctranslate2
from mizuoto.engines.whisper.checkpoint import read_components
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.tests.engines.whisper.test_checkpoint import assert_same, states


@pytest.fixture(scope="module")
def converted(checkpoint, tmp_path_factory):
    """Quantisation -> folder that CTranslate2 made of the tiny checkpoint."""

    @cache
    def folder(quantization):
        made = tmp_path_factory.mktemp("ctranslate2") / "model"
        TransformersConverter(str(checkpoint())).convert(str(made), quantization=quantization)
        return made

    return folder


def test_float32_gives_the_weights_of_the_hugging_face_folder(checkpoint, converted):
    assert_same(states(converted("float32")), states(checkpoint()))
    ours, theirs = (read_components(folder, torch.float32).config for folder in (converted("float32"), checkpoint()))
    assert ours == replace(theirs, is_multilingual=False)  # which is told by the size of the vocabulary there


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(checkpoint, converted, dtype):
    name = str(dtype).removeprefix("torch.")
    expected = {key: tensor.to(dtype).float() for key, tensor in states(checkpoint()).items()}
    assert_same(states(converted(name)), expected)


@pytest.mark.parametrize("name", ["int8", "int8_float16"])
def test_eight_bits_are_scaled_back(checkpoint, converted, name):
    found, expected = states(converted(name)), states(checkpoint())
    assert found.keys() == expected.keys()
    for key, tensor in expected.items():
        difference = (found[key] - tensor).abs().flatten(1) if tensor.dim() > 1 else (found[key] - tensor).abs()
        step = tensor.abs().flatten(1).amax(-1, keepdim=True) / 127 if tensor.dim() > 1 else 0.0
        assert (difference <= 0.51 * step + 1e-3 * tensor.abs().max()).all(), key


def test_sixteen_bits_are_refused(converted):
    with pytest.raises(
        ModelFileError, match=r"quantised in a way that cannot be undone .* is int16.*Convert the model"
    ):
        states(converted("int16"))


def start(version=6, spec="WhisperSpec", count=1):
    return struct.pack("<I", version) + text(spec) + struct.pack("<II", 3, count)


def text(name):
    return struct.pack("<H", len(name) + 1) + name.encode() + b"\0"


def array(name, shape, kind, data, size=None):
    head = struct.pack(f"<B{len(shape)}IBI", len(shape), *shape, kind, len(data) if size is None else size)
    return text(name) + head + data


NO_ALIAS = struct.pack("<I", 0)
ALIEN = {
    "empty": (b"", "is cut off: 0 of at least 4 bytes"),
    "version": (start(version=3), "no CTranslate2 model of format 6"),
    "pickle": (b"\x80\x02}q\x00.", "no CTranslate2 model of format 6"),
    "another model": (start(spec="TransformerSpec"), 'is a "TransformerSpec" model'),
    "name": (start() + struct.pack("<H", 3) + b"\xff\xfe\0", "is no text"),
    "rank": (start() + text("a") + b"\xff", '"a" has 255 dimensions'),
    "kind": (start() + array("a", (1,), 9, b"1234"), "contradict each other"),
    "size": (start() + array("a", (2,), 0, b"1234"), "contradict each other"),
    "giant": (start() + array("a", (2**31, 2**31, 4), 0, b"", size=2**32 - 1), "contradict each other"),
    "beyond the end": (start() + array("a", (2**28,), 0, b"", size=2**30), "is cut off"),
    "many": (start(count=2**32 - 1) + array("a", (1,), 0, b"1234"), "is cut off"),
    "aliases": (start(count=0) + struct.pack("<I", 2**32 - 1), "is cut off"),
    "alias of nothing": (start(count=0) + struct.pack("<I", 1) + text("a") + text("b"), '"a" stands for "b"'),
    "twice": (start(count=2) + 2 * array("a", (1,), 0, b"1234") + NO_ALIAS, "two of its arrays have one name"),
    "relu": (start() + array("decoder/activation", (), 1, b"\0") + NO_ALIAS, 'has "decoder/activation" 0'),
}


@pytest.mark.parametrize(("data", "message"), ALIEN.values(), ids=ALIEN)
def test_files_that_cannot_be_are_one_sentence_and_no_memory(tmp_path, data, message):
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            ctranslate2.read_file(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@given(st.floats(0.0, 0.999))
@settings(max_examples=25, deadline=None)
def test_every_cut_is_noticed_before_anything_is_read(converted, tmp_path_factory, share):
    whole = (converted("float16") / "model.bin").read_bytes()
    path = tmp_path_factory.mktemp("cut") / "model.bin"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match="cut off"):
        ctranslate2.read_file(path)


def test_what_a_file_lacks_is_named(tmp_path):
    (tmp_path / "model.bin").write_bytes(start() + array("encoder/num_heads", (), 2, b"\4\0") + NO_ALIAS)
    with pytest.raises(ModelFileError, match="does not state the number of attention heads"):
        read_components(tmp_path, torch.float32)
    heads = [array(f"{part}/num_heads", (), 2, b"\4\0") for part in ("encoder", "decoder")]
    (tmp_path / "model.bin").write_bytes(start(count=2) + b"".join(heads) + NO_ALIAS)
    with pytest.raises(ModelFileError, match='"encoder/conv1/weight" has the shape'):
        read_components(tmp_path, torch.float32)


def test_scales_must_fit(converted, tmp_path):
    folder = shutil.copytree(converted("int8"), tmp_path / "model")
    path = folder / "model.bin"
    name = b"encoder/layer_0/ffn/linear_0/weight_scale"
    path.write_bytes(path.read_bytes().replace(name, name[:-1] + b"x"))
    with pytest.raises(ModelFileError, match=r'cannot be undone \("encoder/layer_0/ffn/linear_0/weight" is int8\)'):
        states(folder)


def test_alignment_heads_come_from_the_configuration(converted, tmp_path):
    folder = shutil.copytree(converted("float16"), tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"alignment_heads": [[0, 1]]}))
    assert read_components(folder, torch.float32).config.alignment_heads == ((0, 1),)
    (folder / "config.json").unlink()
    assert len(read_components(folder, torch.float32).config.alignment_heads) == 4
