import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.attention import Site
from mizuoto.mizuoto_runtime.nn.transformer import EncoderLayer

SITE = Site("test:layer", num_heads=2, head_dim=6)
RENAMES = {
    "norm1": "attention_norm",
    "norm2": "feed_forward_norm",
    "linear1": "expand",
    "linear2": "project",
    "self_attn.out_proj": "attention.out",
    "self_attn.in_proj_": "attention.qkv.",
}


def twins():
    """Ours and torch's own layer with the same weights."""
    ours = EncoderLayer(SITE, 20, norm_eps=1e-3)
    ops.init_random(ours, torch.Generator().manual_seed(0), std=0.4)
    theirs = torch.nn.TransformerEncoderLayer(
        12, 2, 20, 0.0, "gelu", layer_norm_eps=1e-3, batch_first=True, norm_first=True
    )
    state = {}
    for key in theirs.state_dict():
        name = key
        for old, new in RENAMES.items():
            name = name.replace(old, new)
        state[key] = ours.state_dict()[name]
    theirs.load_state_dict(state)
    return ours.eval(), theirs.eval()


def test_equals_torchs_layer():
    ours, theirs = twins()
    hidden = torch.randn(3, 9, 12, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(ours(hidden), theirs(hidden), rtol=1e-4, atol=1e-5)


def test_masked_positions_have_no_influence():
    ours, theirs = twins()
    hidden = torch.randn(2, 9, 12, generator=torch.Generator().manual_seed(1))
    absent = torch.zeros(2, 9, dtype=torch.bool)
    absent[1, 6:] = True
    with torch.no_grad():
        out = ours(hidden, ~absent[:, None, None])
        expected = theirs(hidden, src_key_padding_mask=absent)
        alone = ours(hidden[1:, :6])
    torch.testing.assert_close(out[1, :6], expected[1, :6], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(out[1, :6], alone[0], rtol=1e-4, atol=1e-5)
