import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.nn.dac import DacConfig, DacDecoder, DacEncoder
from transformers import DacConfig as HfConfig
from transformers import DacModel

JSON = {
    **{"encoder_hidden_size": 4, "decoder_hidden_size": 48, "hidden_size": 32, "downsampling_ratios": [2, 3, 4]},
    **{"upsampling_ratios": [4, 3, 2], "n_codebooks": 1, "codebook_size": 16, "codebook_dim": 8},
}


@pytest.fixture(scope="module")
def reference():
    model = DacModel(HfConfig(**JSON)).eval().requires_grad_(False)
    ops.init_random(model, torch.Generator().manual_seed(0), std=0.1)
    for name, parameter in model.named_parameters():
        if name.endswith("alpha"):
            parameter.add_(1.0)
    return model


@pytest.fixture(scope="module")
def halves(reference):
    config = DacConfig.from_json(JSON)
    encoder, decoder = DacEncoder(config), DacDecoder(config)
    encoder.load_state_dict(reference.encoder.state_dict())
    decoder.load_state_dict(reference.decoder.state_dict())
    return encoder.requires_grad_(False), decoder.requires_grad_(False)


@pytest.mark.parametrize("length", [24, 25, 480, 1009])
def test_both_halves_equal_transformers(reference, halves, length):
    encoder, decoder = halves
    waveform = torch.randn(2, 1, length, generator=torch.Generator().manual_seed(length))
    latent = encoder(waveform)
    assert torch.equal(latent, reference.encoder(waveform))
    assert latent.shape == (2, 32, encoder.num_frames(length))
    sound = decoder(latent)
    assert torch.equal(sound, reference.decoder(latent))
    assert 0.01 < sound.abs().max() < 1.0


def test_a_whole_unbounded_decoder_gives_every_sample(reference, halves):
    config = DacConfig.from_json(JSON)
    decoder = DacDecoder(config, is_whole=True, is_bounded=False).requires_grad_(False)
    decoder.load_state_dict(halves[1].state_dict())
    latent = torch.randn(1, 32, 7, generator=torch.Generator().manual_seed(1))
    sound = decoder(latent)
    assert config.hop_length == 24 and sound.shape == (1, 1, 7 * 24)
    assert halves[1](latent).shape[-1] < 7 * 24  # as published, the odd stride loses some
    for module in reference.decoder.modules():
        if isinstance(module, torch.nn.ConvTranspose1d):
            module.output_padding = (module.stride[0] % 2,)
    whole = reference.decoder(latent)
    assert torch.equal(sound.tanh(), whole) and not torch.equal(sound, whole)


def test_every_unit_is_a_part(halves):
    for module in halves:
        parts = [module.get_submodule(name) for name in module.memory_units()]
        assert len({id(part) for part in parts}) == len(parts) > 9


def test_a_shape_that_is_none():
    with pytest.raises(ModelFileError, match="downsampling_ratios"):
        DacConfig.from_json({**JSON, "downsampling_ratios": [0]})
    with pytest.raises(ModelFileError, match="hidden_size"):
        DacConfig.from_json({**JSON, "hidden_size": 0})
