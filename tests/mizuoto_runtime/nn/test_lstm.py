import pytest
import torch
from mizuoto.mizuoto_runtime.nn.lstm import ConvLstmEncoder, StyledLstmEncoder
from mizuoto.tests.engines.kokoro.oracle import kokoro
from mizuoto.tests.mizuoto_runtime.nn.test_adain import STYLE, hidden, randomised

LENGTHS = (3, 17, 200)  # no text is shorter: a boundary at both ends


def loaded(build, state):
    with torch.random.fork_rng(devices=[]):
        theirs = build()
    for module in theirs.modules():
        if hasattr(module, "weight_g"):
            torch.nn.utils.remove_weight_norm(module)
    theirs.load_state_dict(state)
    return theirs.eval()


def unmasked(length):
    return torch.tensor([length]), torch.zeros(1, length, dtype=torch.bool)


@pytest.mark.filterwarnings("ignore")
@torch.inference_mode()
def test_the_encoder_of_ids():
    ours = randomised(ConvLstmEncoder(30, 32, 5, 3))
    places = {".conv.": ".0.", ".norm.weight": ".1.gamma", ".norm.bias": ".1.beta", "convs.": "cnn."}
    state = {}
    for name, tensor in ours.state_dict().items():
        for mine, other in places.items():
            name = name.replace(mine, other)
        state[name] = tensor
    theirs = loaded(lambda: kokoro().modules.TextEncoder(32, 5, 3, 30), state)
    for length in LENGTHS:
        ids = torch.randint(0, 30, (1, length), generator=torch.Generator().manual_seed(length))
        assert torch.equal(ours(ids).transpose(1, 2), theirs(ids, *unmasked(length)))


@pytest.mark.filterwarnings("ignore")
@torch.inference_mode()
def test_the_styled_encoder():
    ours = randomised(StyledLstmEncoder(32, STYLE, 3))
    state = {}
    for name, tensor in ours.state_dict().items():
        kind, number, rest = name.split(".", 2)
        state[f"lstms.{2 * int(number) + (kind == 'norms')}.{rest}"] = tensor
    theirs = loaded(lambda: kokoro().modules.DurationEncoder(STYLE, 32, 3), state)
    for length in LENGTHS:
        values, style = hidden(1, length, 32)
        expected = theirs(values.transpose(1, 2), style, *unmasked(length))
        assert torch.equal(ours(values, style), expected)
