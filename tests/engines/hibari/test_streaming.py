"""What the memory runtime relies on: a layer's weight is read inside that layer's forward and nowhere else."""

import pytest
import torch
from mizuoto.mizuoto_runtime.memory.units import STREAMABLE, layout_of

PHONEMES = "həlˈO, wˈɜɹld."


@pytest.fixture
def absent_until_called():
    """Replaces every streamable weight by a meta tensor outside its own layer's forward."""
    undo = []

    def make_absent(module):
        for layer in module.modules():
            if not isinstance(layer, STREAMABLE):
                continue
            weight, gone = layer.weight.data, layer.weight.data.to("meta")

            def arrive(layer, _, weight=weight):
                layer._parameters["weight"] = torch.nn.Parameter(weight, requires_grad=False)

            def leave(layer, *_, gone=gone):
                layer._parameters["weight"] = torch.nn.Parameter(gone, requires_grad=False)

            hooks = (layer.register_forward_pre_hook(arrive), layer.register_forward_hook(leave))
            leave(layer)
            undo.append((layer, hooks, arrive))

    yield make_absent
    for layer, hooks, arrive in undo:
        arrive(layer, ())
        for hook in hooks:
            hook.remove()


def test_no_weight_is_read_outside_its_layer(talker, decoder, ids_of, absent_until_called):
    text_ids = ids_of(PHONEMES)

    def speak():
        prosody = talker(text_ids)
        return decoder(text_ids, *prosody, torch.Generator().manual_seed(0))

    expected = speak()
    absent_until_called(talker)
    absent_until_called(decoder)
    assert torch.equal(speak(), expected)


def test_most_of_the_weights_are_in_units(talker, decoder):
    for module, num_units, share in ((talker, 6, 0.5), (decoder, 9, 0.85)):
        layout = layout_of(module)
        assert len(layout.units) == num_units
        assert sum(unit.num_bytes for unit in layout.units) > share * layout.size_bytes
