import json
from dataclasses import FrozenInstanceError

import pytest
import torch
from mizuoto.engines.artifacts import FORMAT, Codes, Segment, VoicePrompt, require_engine
from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError
from safetensors.torch import save_file

BASE = torch.arange(12.0).view(3, 4)
TENSORS = {
    "hidden": BASE,
    "turned": BASE.t(),  # not contiguous, and shares memory with the one before
    "codes": torch.tensor([[1, 2], [3, 4]]),
    "half": torch.ones(3, dtype=torch.bfloat16),
    "mask": torch.tensor([True, False]),
    "scalar": torch.tensor(2.5),
    "nothing": torch.zeros(0, 4),
    "deep.er": torch.ones(1),
}
VOICE = VoicePrompt("dummy", "Größe 声", TENSORS, {"transcript": "Wörter\n声"})
CODES = Codes(
    "dummy",
    24_000,
    tuple(Segment(f"text {i}\n", 2**64 - 1 - i, {"frames": torch.full((2,), i), **TENSORS}) for i in range(12)),
)


def same(first, second):
    assert set(first) == set(second)
    for name, tensor in first.items():
        assert second[name].dtype == tensor.dtype
        assert torch.equal(second[name], tensor)


def test_a_voice_comes_back(tmp_path):
    VOICE.save(tmp_path / "voice.safetensors")
    read = VoicePrompt.load(tmp_path / "voice.safetensors")
    assert (read.engine, read.name, read.facts) == (VOICE.engine, VOICE.name, VOICE.facts)
    same(VOICE.tensors, read.tensors)


def test_codes_come_back_in_order(tmp_path):
    CODES.save(tmp_path / "codes.safetensors")
    read = Codes.load(tmp_path / "codes.safetensors")
    assert (read.engine, read.sample_rate) == ("dummy", 24_000)
    assert [(s.text, s.seed) for s in read.segments] == [(s.text, s.seed) for s in CODES.segments]
    for written, found in zip(CODES.segments, read.segments, strict=True):
        same(written.tensors, found.tensors)


@pytest.mark.parametrize(
    "artifact", [VoicePrompt("dummy", "preset"), Codes("dummy", 8000, ()), Codes("d", 1, CODES.segments[:1])]
)
def test_artifacts_without_tensors_or_segments(tmp_path, artifact):
    artifact.save(tmp_path / "x.safetensors")
    read = type(artifact).load(tmp_path / "x.safetensors")
    assert read.engine == artifact.engine
    assert len(getattr(read, "segments", ())) == len(getattr(artifact, "segments", ()))
    assert dict(getattr(read, "tensors", {})) == {}


def test_what_is_read_stands_alone(tmp_path):
    path = tmp_path / "voice.safetensors"
    VOICE.save(path)
    read = VoicePrompt.load(path)
    path.write_bytes(b"")
    read.tensors["hidden"].zero_()
    assert torch.equal(VOICE.tensors["hidden"], BASE)


def test_tensors_of_a_phase_can_be_saved(tmp_path):
    with torch.inference_mode():
        voice = VoicePrompt("dummy", "x", {"hidden": torch.ones(2, requires_grad=True) * 2})
    voice.save(tmp_path / "x.safetensors")
    assert not VoicePrompt.load(tmp_path / "x.safetensors").tensors["hidden"].requires_grad


def test_artifacts_are_frozen():
    for artifact, name in ((VOICE, "engine"), (CODES, "segments"), (CODES.segments[0], "seed")):
        with pytest.raises(FrozenInstanceError):
            setattr(artifact, name, None)


def test_one_kind_is_not_another(tmp_path):
    VOICE.save(tmp_path / "voice")
    CODES.save(tmp_path / "codes")
    with pytest.raises(ModelFileError, match=r"voice\" is no codes file of this pack; choose one"):
        Codes.load(tmp_path / "voice")
    with pytest.raises(ModelFileError, match=r"codes\" is no voice file of this pack"):
        VoicePrompt.load(tmp_path / "codes")


@pytest.mark.parametrize("metadata", [None, {"format": FORMAT}, {"format": "other-1", "kind": "voice"}])
def test_strange_files_are_no_voices(tmp_path, metadata):
    save_file({"x": torch.ones(1)}, tmp_path / "x.safetensors", metadata=metadata)
    with pytest.raises(ModelFileError, match="is no voice file of this pack"):
        VoicePrompt.load(tmp_path / "x.safetensors")


def test_a_file_of_another_version_says_so(tmp_path):
    metadata = {"format": "mizuoto-9", "kind": "voice", "data": "{}"}
    save_file({"x": torch.ones(1)}, tmp_path / "x.safetensors", metadata=metadata)
    with pytest.raises(ModelFileError, match=r"^\"x\.safetensors\" was saved by another version .*mizuoto-9"):
        VoicePrompt.load(tmp_path / "x.safetensors")


@pytest.mark.parametrize("data", [None, "{", json.dumps({"name": "x"}), json.dumps(["x"])])
def test_damaged_metadata(tmp_path, data):
    metadata = {"format": FORMAT, "kind": "voice", **({} if data is None else {"data": data})}
    save_file({"x": torch.ones(1)}, tmp_path / "x.safetensors", metadata=metadata)
    with pytest.raises(ModelFileError, match=r"is damaged .*; save it again from the node that made it"):
        VoicePrompt.load(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    "data", [{"engine": "d", "sample_rate": 1}, {"engine": "d", "sample_rate": 1, "segments": [{}]}]
)
def test_damaged_metadata_of_codes(tmp_path, data):
    metadata = {"format": FORMAT, "kind": "codes", "data": json.dumps(data)}
    save_file({"x": torch.ones(1)}, tmp_path / "x.safetensors", metadata=metadata)
    with pytest.raises(ModelFileError, match="is damaged"):
        Codes.load(tmp_path / "x.safetensors")


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_cut_off_files(tmp_path, keep):
    path = tmp_path / "voice.safetensors"
    VOICE.save(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match=r"cannot be read .*; save it again from the node that made it"):
        VoicePrompt.load(path)


def test_missing_files(tmp_path):
    for path in (tmp_path / "absent.safetensors", tmp_path):
        with pytest.raises(ModelFileError, match="cannot be read") as caught:
            Codes.load(path)
        assert str(tmp_path.parent) not in str(caught.value)  # clients must not learn where things lie (S4)


def test_another_engine_is_refused():
    require_engine(VOICE, "dummy")
    with pytest.raises(InvalidRequest, match='The voice came from engine "dummy" but the model is "other"; use one'):
        require_engine(VOICE, "other")
    with pytest.raises(InvalidRequest, match="The codes came from"):
        require_engine(CODES, "other")
