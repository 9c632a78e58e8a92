"""Both versions of the codec against the upstream package, bit for bit, and streams against the whole."""

import contextlib
import io

import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.weight_norm import fold_weight_norm
from mizuoto.mizuoto_runtime.nn.audio_vae import AudioVaeConfig, AudioVaeDecoder, AudioVaeEncoder, Tails

audiovae = pytest.importorskip("voxcpm.modules.audiovae")

SIZES = {"encoder_dim": 8, "latent_dim": 16, "decoder_dim": 64}
ODD = {"encoder_rates": [2, 3, 7], "decoder_rates": [7, 3, 2], "sample_rate": 44100}
UNUSED = ("fc_logvar.", "sr_bin_boundaries")


def pair(is_second, **changes):
    """(the upstream's, our encoder, our decoder), with the same random weights."""
    kinds = (
        (audiovae.AudioVAEV2, audiovae.AudioVAEConfigV2) if is_second else (audiovae.AudioVAE, audiovae.AudioVAEConfig)
    )
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = kinds[0](kinds[1](**SIZES, **changes)).eval()
    ops.init_random(theirs, torch.Generator().manual_seed(0), std=0.1)
    folded = fold_weight_norm(theirs.requires_grad_(False).state_dict())
    config = AudioVaeConfig.from_json({**SIZES, **changes}, is_second)
    halves = {"encoder": AudioVaeEncoder(config), "decoder": AudioVaeDecoder(config)}
    for name, half in halves.items():
        own = {key.removeprefix(f"{name}."): tensor for key, tensor in folded.items() if key.startswith(f"{name}.")}
        half.load_state_dict({key: tensor for key, tensor in own.items() if not key.startswith(UNUSED)})
        half.requires_grad_(False)
    return theirs, halves["encoder"], halves["decoder"]


def noise(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


CASES = [(False, {}), (False, ODD), (True, {}), (True, ODD), (True, {"out_sample_rate": 20000})]


@pytest.mark.parametrize(("is_second", "changes"), CASES)
@pytest.mark.parametrize("length", [3000, 7001])
def test_encodes_as_the_upstream(is_second, changes, length):
    theirs, encoder, _ = pair(is_second, **changes)
    waveform = 0.3 * noise(1, 1, length)
    assert torch.equal(encoder(waveform), theirs.encode(waveform, theirs.sample_rate))


@pytest.mark.parametrize(("is_second", "changes"), CASES)
@pytest.mark.parametrize("frames", [1, 17])
def test_decodes_as_the_upstream(is_second, changes, frames):
    theirs, _, decoder = pair(is_second, **changes)
    latent = noise(1, SIZES["latent_dim"], frames)
    found = decoder(latent)
    assert torch.equal(found, theirs.decode(latent))
    assert found.shape == (1, 1, frames * decoder.config.decode_hop)


def test_a_stream_is_the_upstreams():
    theirs, _, decoder = pair(True)
    parts = noise(1, SIZES["latent_dim"], 20).split(4, dim=-1)
    tails = None
    with theirs.streaming_decode() as stream:
        for part in parts:
            tails = Tails(tails)
            assert torch.equal(decoder(part, tails), stream.decode_chunk(part))


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("size", [1, 7])
def test_a_stream_is_about_the_whole(is_second, size):
    _, _, decoder = pair(is_second, **ODD)
    latent, tails, pieces = noise(1, SIZES["latent_dim"], 23), None, []
    for part in latent.split(size, dim=-1):
        tails = Tails(tails)
        pieces.append(decoder(part, tails))
    torch.testing.assert_close(torch.cat(pieces, dim=-1), decoder(latent), rtol=0, atol=2e-6)


def test_a_chunk_can_be_computed_again():
    _, _, decoder = pair(True)
    first, second = noise(1, SIZES["latent_dim"], 8).split(4, dim=-1)
    before = Tails()
    decoder(first, before)
    assert torch.equal(decoder(second, Tails(before)), decoder(second, Tails(before)))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"depthwise": False}, '"depthwise" False'),
        ({"use_noise_block": True}, '"use_noise_block" True'),
        ({"cond_type": "add"}, "scale_bias can be loaded"),
        ({"decoder_dim": 60}, "60 channels cannot be halved 6 times"),
        ({"encoder_rates": []}, '"encoder_rates"'),
    ],
)
def test_what_was_never_published_is_refused(changes, told):
    with pytest.raises(ModelFileError, match=told):
        AudioVaeConfig.from_json({**SIZES, **changes}, is_second=True)


def test_what_a_release_leaves_out_is_as_published():
    first, second = (AudioVaeConfig.from_json({}, is_second) for is_second in (False, True))
    assert (first.encode_hop, first.decode_hop, first.out_sample_rate) == (640, 640, 16000)
    assert (second.encode_hop, second.decode_hop, second.out_sample_rate) == (640, 1920, 48000)
