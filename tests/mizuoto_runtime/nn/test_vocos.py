import pytest
import torch
from mizuoto.engines.f5_tts.keys import CODEC, rename
from mizuoto.mizuoto_runtime.nn.vocos import Vocos, VocosConfig
from mizuoto.tests.engines.f5_tts import oracle
from mizuoto.tests.mizuoto_runtime.nn.test_dit import noise, randomised


@torch.no_grad()
@pytest.mark.parametrize("padding", ["center", "same"])
@pytest.mark.parametrize(("width", "layers"), [(32, 2), (512, 1)])
def test_equals_upstream(width, layers, padding):
    backbone = randomised(oracle.VocosBackbone(100, width, 3 * width, layers))
    head = randomised(oracle.ISTFTHead(width, 1024, 256, padding))
    ours = Vocos(VocosConfig(100, width, 3 * width, layers, is_centred=padding == "center"))
    parts = (("backbone", backbone), ("head", head))
    state = {f"{part}.{name}": tensor for part, of in parts for name, tensor in of.state_dict().items()}
    ours.load_state_dict({rename(name, CODEC): tensor.clone() for name, tensor in state.items()})
    for frames in (3, 57):
        mel = noise(2, 100, frames)
        found = ours(mel)
        assert torch.equal(found, head(backbone(mel)))
        assert found.shape == (2, 256 * (frames - (padding == "center")))


@torch.no_grad()
def test_frames_out_of_reach_do_not_matter():
    ours = Vocos(VocosConfig(100, 32, 64, 2))
    randomised(ours).window.data = torch.hann_window(1024)
    mel = noise(1, 100, 60)
    changed = mel.clone()
    changed[..., 30 + ours.reach :] += 1
    found, other = ours(mel), ours(changed)
    torch.testing.assert_close(found[:, : 30 * 256], other[:, : 30 * 256])
    assert not torch.allclose(found[:, 30 * 256 :], other[:, 30 * 256 :])
