import pytest
import torch
from mizuoto.mizuoto_runtime.nn.flow import PRUNED_GRIDS, euler, guided, time_grid


@pytest.mark.parametrize("steps", [1, 4, *PRUNED_GRIDS, 32])
@pytest.mark.parametrize("sway", [-1.0, 0.0, 0.6])
def test_the_grid_rises_from_0_to_1(steps, sway):
    times = time_grid(steps, sway)
    assert times.shape == (steps + 1,)
    assert times[0] == 0
    assert times[-1] == pytest.approx(1, abs=1e-6)
    assert (times.diff() > 0).all()


def test_sway_moves_steps_to_where_it_says():
    early, even, late = (time_grid(8, sway, is_pruned=False)[1:-1] for sway in (-1.0, 0.0, 0.5))
    assert (early < even).all()
    assert (even < late).all()
    assert torch.equal(time_grid(8), torch.linspace(0, 1, 9))


def test_pruned_grids_are_32nds():
    assert torch.equal(time_grid(7), torch.tensor([0, 2, 4, 6, 8, 16, 24, 32]) / 32)
    assert torch.equal(time_grid(7, is_pruned=False), torch.linspace(0, 1, 8))


@pytest.mark.parametrize("steps", [5, 16, 32, 9])
def test_equals_upstream(steps):
    from mizuoto.tests.engines.f5_tts import oracle

    expected = oracle.get_epss_timesteps(steps, "cpu", torch.float32)
    assert torch.equal(time_grid(steps), expected)
    expected = expected + -1.0 * (torch.cos(torch.pi / 2 * expected) - 1 + expected)
    assert torch.equal(time_grid(steps, -1.0), expected)
    field, start = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(steps))
    theirs = oracle.odeint(lambda time, state: state * field + time, start, expected, method="euler")[-1]
    assert torch.equal(euler(lambda state, step: state * field + expected[step], start, expected), theirs)


def test_a_straight_flow_arrives():
    start, end = torch.zeros(3), torch.tensor([1.0, -2.0, 0.5])
    seen = []
    found = euler(lambda state, step: seen.append(step) or end - start, start, time_grid(6))
    torch.testing.assert_close(found, end)
    assert seen == list(range(6))
    assert torch.equal(start, torch.zeros(3))


def test_states_keep_their_precision():
    found = euler(lambda state, step: state.half(), torch.ones(2), time_grid(3))
    assert found.dtype == torch.float32


def test_guidance_leads_away():
    wanted, blank = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 3.0])
    assert torch.equal(guided(wanted, blank, 2.0), torch.tensor([3.0, 0.0]))
    assert torch.equal(guided(wanted, blank, 0.0), wanted)
