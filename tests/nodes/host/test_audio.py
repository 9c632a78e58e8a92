"""AUDIO dictionaries in every form that users connect (P50, P51, P59, P61)."""

from collections.abc import Mapping
from importlib import import_module

import pytest
import torch
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.errors import InvalidRequest


@pytest.fixture
def audio(packages_without_comfyui):
    return import_module("mizuoto.nodes.host.audio")


def recording(waveform, rate=16000):
    return {"waveform": waveform, "sample_rate": rate}


def test_out_is_float32_contiguous_with_batch_and_channel(audio):
    given = torch.linspace(-1, 1, 20).view(2, 10).t().contiguous().t()[:1]
    out = audio.to_comfy(Audio(given, 24000))
    assert out["waveform"].shape == (1, 1, 10) and out["waveform"].dtype == torch.float32
    assert out["waveform"].is_contiguous() and out["sample_rate"] == 24000
    assert torch.equal(out["waveform"][0], given)


@pytest.mark.parametrize("shape", [(1, 1, 8), (1, 2, 8), (1, 6, 8), (1, 8), (2, 8), (8,)])
def test_in_keeps_channels_and_time(audio, shape):
    waveform = torch.rand(shape)
    got = audio.from_comfy(recording(waveform), "reference")
    channels = 1 if len(shape) == 1 else shape[-2]
    assert got.waveform.shape == (channels, 8)
    assert torch.equal(got.waveform, waveform.reshape(channels, 8))


@pytest.mark.parametrize(
    ("dtype", "full", "silence"),
    [(torch.int16, -(2**15), 0), (torch.int32, -(2**31), 0), (torch.int8, -128, 0), (torch.uint8, 0, 128)],
)
def test_integers_are_scaled_by_their_range(audio, dtype, full, silence):
    got = audio.from_comfy(recording(torch.tensor([[[full, silence]]], dtype=dtype)), "reference")
    assert got.waveform.tolist() == [[-1.0, 0.0]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_floats_become_float32(audio, dtype):
    assert audio.from_comfy(recording(torch.ones(1, 1, 4, dtype=dtype)), "reference").waveform.dtype == torch.float32


def test_the_input_is_not_shared_or_changed(audio):
    waveform = torch.ones(1, 1, 4, requires_grad=True)
    got = audio.from_comfy(recording(waveform), "reference")
    got.waveform.zero_()
    assert waveform.sum() == 4 and not got.waveform.requires_grad


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, 'Input "reference" has no sound'),
        ({"waveform": None, "sample_rate": 1}, 'Input "reference" has no sound'),
        (recording(torch.zeros(2, 1, 8)), "has 2 recordings in one batch; connect one at a time"),
        (recording(torch.zeros(1, 1, 0)), r"has no samples \(shape \(1, 1, 0\)\)"),
        (recording(torch.zeros(1, 1, 1, 8)), "has no samples"),
        (recording(torch.tensor([[[0.0, float("nan")]]])), "samples that are no numbers"),
        (recording(torch.tensor([[[0.0, float("inf")]]])), "samples that are no numbers"),
        (recording(torch.zeros(1, 1, 8), 0), "sample rate of 0 Hz"),
        (recording(torch.zeros(1, 1, 8), None), "sample rate of None Hz"),
        ({"waveform": torch.zeros(1, 1, 8)}, "sample rate of None Hz"),
        (recording(torch.zeros(1, 48000, 2)), "has 48000 channels of 2 samples"),
        (recording(torch.zeros(1, 1, 8, dtype=torch.bool)), r"holds torch\.bool and no samples"),
        (recording(torch.zeros(1, 1, 8, dtype=torch.complex64)), "holds torch.complex64"),
        (recording([0.0, 0.5]), "holds list and no samples"),
        (recording(torch.zeros(())), "has no samples"),
        (recording(torch.full((1, 1, 4), 1e300, dtype=torch.float64)), "samples that are no numbers"),
    ],
)
def test_what_cannot_be_used_says_why(audio, given, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        audio.from_comfy(given, "reference")


class Lazy(Mapping):
    """Decodes at the first look, as some loaders of videos do."""

    def __init__(self, found):
        self.found, self.looks = found, 0

    def __getitem__(self, key):
        self.looks += 1
        return self.found[key]

    def __iter__(self):
        return iter(self.found)

    def __len__(self):
        return len(self.found)


def test_any_mapping_will_do(audio):
    lazy = Lazy(recording(torch.ones(1, 2, 8)))
    assert audio.from_comfy(lazy, "reference").waveform.shape == (2, 8) and lazy.looks


def test_a_view_is_read_as_it_is_seen(audio):  # P59
    whole = torch.rand(2, 8, 3)
    view = whole.transpose(1, 2)[:1, :, ::2]
    assert not view.is_contiguous()
    assert torch.equal(audio.from_comfy(recording(view), "reference").waveform, view[0])


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.uint8])
def test_integers_stay_as_they_are(audio, dtype):  # P59
    given = torch.arange(8, dtype=dtype).reshape(1, 1, 8)
    audio.from_comfy(recording(given), "reference").waveform.zero_()
    assert given.flatten().tolist() == list(range(8))


def test_values_beyond_one_are_kept(audio):  # P59
    assert audio.from_comfy(recording(torch.full((1, 1, 4), 3.0)), "reference").waveform.max() == 3


def test_a_batch_is_a_list(audio):
    batch = torch.rand(3, 2, 8)
    found = audio.list_from_comfy(recording(batch, 8000), "audio")
    assert [each.sample_rate for each in found] == [8000] * 3
    assert all(torch.equal(each.waveform, part) for each, part in zip(found, batch, strict=True))
    assert len(audio.list_from_comfy(recording(torch.rand(8)), "audio")) == 1
    with pytest.raises(InvalidRequest, match="has no samples"):
        audio.list_from_comfy(recording(torch.rand(0, 1, 8)), "audio")


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16])
def test_two_hours_in_six_channels_are_refused_before_anything_is_copied(audio, dtype):  # P09
    endless = torch.zeros(1, 1, 1, dtype=dtype).expand(1, 6, 2 * 3600 * 48000)
    for read in (audio.from_comfy, audio.list_from_comfy):
        with pytest.raises(InvalidRequest, match=r'"reference" is 120\.0 minutes long and the limit is 30; cut'):
            read(recording(endless, 48000), "reference", 1800.0)
    batch = torch.zeros(1, 1, 1).expand(3, 1, 48000 * 900)
    with pytest.raises(InvalidRequest, match=r"is 45\.0 minutes long"):
        audio.list_from_comfy(recording(batch, 48000), "reference", 1800.0)
