"""The network is Silero's, to the bit."""

import pytest
import torch
from mizuoto.mizuoto_runtime.vad.network import WINDOW, network


@pytest.fixture(scope="module")
def theirs(silero):
    def probabilities(waveform):
        silero.reset_states()
        padded = torch.nn.functional.pad(waveform, (0, -len(waveform) % WINDOW))
        with torch.no_grad():
            return torch.cat([silero(window, 16000)[0] for window in padded.split(WINDOW)])

    return probabilities


def test_the_shipped_weights_are_the_wheels(build_data, silero):
    built, shipped = build_data.state(silero), network().state_dict()
    assert built.keys() == shipped.keys()
    assert all(torch.equal(built[name], shipped[name]) for name in built)


def test_probabilities_equal_silero(recordings, theirs):
    for name, waveform in recordings.items():
        found = network().probabilities(waveform, lambda: None)
        assert torch.equal(found, theirs(waveform)), name
        assert found.shape == (-(-len(waveform) // WINDOW),) and not found.requires_grad
    assert network().probabilities(torch.zeros(0), lambda: None).shape == (0,)


def test_long_recordings_can_be_interrupted():
    asked = []

    def check():
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        network().probabilities(torch.zeros(WINDOW * 1000), check)
    assert len(asked) == 3


def test_the_network_is_read_once_and_never_trained():
    assert network() is network()
    assert not any(parameter.requires_grad or parameter.is_inference() for parameter in network().parameters())
