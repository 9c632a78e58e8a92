"""AUDIO dictionaries in every form that users connect (P50, P51, P59, P61)."""

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
    ],
)
def test_what_cannot_be_used_says_why(audio, given, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        audio.from_comfy(given, "reference")
