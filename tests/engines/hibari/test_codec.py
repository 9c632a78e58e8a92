import random

import numpy as np
import pytest
import torch
from mizuoto.engines.hibari.codec import SpectrumHead
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import InvalidRequest

SENTENCE = "plˈiz kˈɔl mˌi təmˈɑɹO mˈɔɹnɪŋ bəfˈɔɹ nˈIn əklˈɑk."


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def codes(talker, ids_of):
    with torch.inference_mode():
        text_ids = ids_of(SENTENCE)
        return text_ids, *talker(text_ids)


def test_one_seed_gives_one_waveform(decoder, codes):
    first, second, other = (decoder(*codes, seeded(seed)) for seed in (7, 7, 8))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_only_the_given_generator_is_drawn_from(decoder, codes):
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    generator = seeded(7)
    unused = generator.get_state()
    decoder(*codes, generator)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert np.array_equal(np.random.get_state()[1], before[2])
    assert not torch.equal(generator.get_state(), unused)


def test_no_generator_is_refused(decoder, codes):
    with pytest.raises(ValueError, match="needs a torch"):
        decoder(*codes, None)


def test_the_inputs_are_left_alone(decoder, codes):
    copies = [tensor.clone() for tensor in codes]
    decoder(*codes, seeded(7))
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(codes, copies, strict=True))


@pytest.mark.parametrize("length", [1, 2, 3, 5, 2000])
def test_any_length_is_spoken(length, talker, decoder):
    text_ids = torch.randint(1, 178, (1, length), generator=seeded(length))
    prosody = talker(text_ids, 2.0)
    waveform = decoder(text_ids, *prosody, seeded(0))
    assert waveform.shape == (1, 1, 300 * prosody.f0.shape[1])
    assert waveform.dtype == torch.float32
    assert waveform.isfinite().all()
    assert 1e-4 < waveform.abs().max() < 4.0


def test_loudness_is_that_of_speech(decoder, codes):
    waveform = decoder(*codes, seeded(7))
    assert 0.01 < waveform.square().mean().sqrt() < 0.2
    assert waveform.abs().max() < 1.0


def test_contradicting_codes_are_refused(decoder, codes):
    text_ids, durations, f0, energy = codes
    with pytest.raises(InvalidRequest, match="make them anew"):
        decoder(text_ids[:, :-1], durations, f0, energy, seeded(0))
    with pytest.raises(InvalidRequest, match="make them anew"):
        decoder(text_ids, durations, f0[:, :-2], energy, seeded(0))
    with pytest.raises(InvalidRequest, match="make them anew"):
        decoder(text_ids, durations + 1, f0, energy, seeded(0))


def test_spectrum_head_is_one_linear_layer():
    head = SpectrumHead(8, 5, 3)
    ops.init_random(head, seeded(0))
    hidden = torch.randn(4, 8, generator=seeded(1))
    parts = head(hidden)
    whole = torch.nn.functional.linear(hidden, head.weight, head.bias)
    assert all(part.is_contiguous() for part in parts)
    torch.testing.assert_close(torch.cat(parts, dim=-1), whole)
