import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.nn.ecapa import AttentivePooling, EcapaConfig, SpeakerEncoder


@pytest.fixture(scope="module")
def encoder():
    module = SpeakerEncoder(EcapaConfig(10, 16, (16, 16, 16, 32), (5, 3, 3, 1), (1, 2, 3, 1), 8, 8, 4))
    ops.init_random(module, torch.Generator().manual_seed(0), std=0.2)
    return module.requires_grad_(False)


@pytest.mark.parametrize("length", [7, 30])
def test_one_vector_a_recording(length, encoder):
    mel = torch.randn(3, 16, length, generator=torch.Generator().manual_seed(length))
    embedding = encoder(mel)
    assert embedding.shape == (3, 10)
    assert torch.allclose(encoder(mel[1:2]), embedding[1:2], atol=1e-6)
    assert not torch.allclose(embedding[0], embedding[1], atol=1e-3)


def test_equal_frames_pool_to_themselves():
    pooling = AttentivePooling(6, 4).requires_grad_(False)
    ops.init_random(pooling, torch.Generator().manual_seed(0))
    frame = torch.randn(1, 6, 1, generator=torch.Generator().manual_seed(1))
    mean, deviation = pooling(frame.expand(-1, -1, 9)).chunk(2, dim=1)
    assert torch.allclose(mean, frame, atol=1e-6)
    assert deviation.abs().max() < 1e-5


def test_published_files_state_the_size_only():
    assert EcapaConfig.from_json({"enc_dim": 1024, "sample_rate": 24000}) == EcapaConfig(1024)
    config = {"enc_dim": 8, "enc_channels": [16, 16, 32], "enc_kernel_sizes": [5, 3, 1], "enc_dilations": [1, 2, 1]}
    assert EcapaConfig.from_json(config).channels == (16, 16, 32)


def test_bad_files_are_refused():
    with pytest.raises(ModelFileError, match='"enc_dim"'):
        EcapaConfig.from_json({})
    with pytest.raises(ModelFileError, match="differ in length"):
        EcapaConfig.from_json({"enc_dim": 8, "enc_channels": [16, 16]})
