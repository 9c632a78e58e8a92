import pytest
import torch
from mizuoto.mizuoto_runtime import ops

LAYERS = {
    ops.Linear: ((4, 6), torch.nn.Linear, (3, 4)),
    ops.Conv1d: ((4, 6, 3), torch.nn.Conv1d, (1, 4, 9)),
    ops.Conv2d: ((4, 6, 3), torch.nn.Conv2d, (1, 4, 9, 9)),
    ops.ConvTranspose1d: ((4, 6, 3), torch.nn.ConvTranspose1d, (1, 4, 9)),
    ops.LayerNorm: ((4,), torch.nn.LayerNorm, (3, 4)),
    ops.LSTM: ((4, 6), torch.nn.LSTM, (9, 4)),
}


@pytest.mark.parametrize("layer", [*LAYERS, ops.Embedding])
def test_building_draws_nothing(layer):  # S027
    before = torch.get_rng_state()
    layer(*LAYERS.get(layer, ((10, 4),))[0])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("layer", LAYERS)
def test_equals_torchs_layer_with_the_same_weights(layer):
    arguments, original, shape = LAYERS[layer]
    ours, theirs = layer(*arguments), original(*arguments)
    assert isinstance(ours, original)
    ops.init_random(ours, torch.Generator().manual_seed(0))
    theirs.load_state_dict(ours.state_dict())
    hidden = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    found, expected = ours(hidden), theirs(hidden)
    if isinstance(expected, tuple):  # of recurrent layers, the last state, too
        found, expected = found[0], expected[0]
    assert torch.equal(found, expected)


def test_random_weights_are_reproducible_and_norms_near_one():
    first, second = torch.nn.Sequential(ops.Linear(64, 64), ops.LayerNorm(64)), torch.nn.Sequential()
    second.extend([ops.Linear(64, 64), ops.LayerNorm(64)])
    before = torch.get_rng_state()
    for module in (first, second):
        ops.init_random(module, torch.Generator().manual_seed(3), std=0.1)
    assert torch.equal(torch.get_rng_state(), before)
    for (name, ours), theirs in zip(first.named_parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs), name
    assert 0.08 < first[0].weight.std() < 0.12
    assert abs(first[1].weight.mean() - 1) < 0.1
    assert abs(first[1].bias.mean()) < 0.1
