import pytest
import torch
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import Stage, is_nowhere
from mizuoto.tests.mizuoto_runtime.memory.zoo import UNIT, Branches, Chain, Species, linear
from torch import nn


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request):
    return request.param


@pytest.fixture(params=[1, 2, 3])
def num_slots(request):
    return request.param


def test_one_copy_a_unit_and_a_pass(strict):  # C3
    stage = Stage(4, strict=strict)
    for number in (1, 2, 3):
        assert stage.is_right()
        assert stage.streamer.num_copies == 4 * number
        assert stage.streamer.streamed_bytes == 4 * UNIT * number
    assert stage.taken() == " ".join(["c0 w0 r0 c1 w1 r1 c2 w2 r2 c3 w3 r3"] * 3)


def test_copies_are_counted_with_their_padding():
    block = nn.Sequential(linear(), nn.Linear(zoo.WIDTH, 130), nn.Linear(130, 31), nn.Linear(31, zoo.WIDTH))
    stage = Stage(zoo.built(Species(lambda: Chain([block, linear()]), {})))
    assert any(pack.num_bytes > pack.unit.num_bytes for pack in stage.packs)
    assert stage.is_right()
    assert stage.streamer.streamed_bytes == sum(pack.num_bytes for pack in stage.packs)


def test_hooks_stand_on_units_and_owners_alone_and_leave_no_trace():  # S122
    stage = Stage(zoo.built("nested"))
    hooked = {m for m in stage.module.modules() if m._forward_pre_hooks or m._forward_hooks}
    assert hooked == {module for pack in stage.packs for module in pack.modules}
    assert stage.streamer.num_hooks == 2 * len(hooked)
    stage.run()
    stage.streamer.close()
    for module in stage.module.modules():
        assert not module._forward_pre_hooks
        assert not module._forward_hooks
        assert not module._forward_hooks_always_called
    assert stage.devices.simulated[stage.device].used_bytes == 0
    assert all(is_nowhere(weight.tensor) for pack in stage.packs for weight in pack.unit.weights)


def test_closing_points_the_weights_home():
    stage = Stage(3, num_slots=2, strict=False)
    stage.run()
    stage.streamer.close()
    for pack in stage.packs:
        assert pack.unit.weights[0].tensor.data_ptr() == pack.host.data_ptr()
    assert torch.equal(stage.module(stage.hidden), stage.expected)


def test_a_unit_that_is_still_in_its_slot_is_not_copied_again():  # S123
    stage = Stage(2)
    layer = stage.module.layers[0]
    for _ in range(3):
        layer(stage.hidden)
    assert stage.taken() == "c0 w0 r0 w0 r0 w0 r0"
    stage = Stage(2, num_slots=2)
    stage.run()
    stage.run()
    assert stage.taken("copy") == "c0 c1"


class Runs(Chain):
    """Runs its layers in the order that `order` says."""

    order = ()

    def forward(self, hidden):
        hidden = self.norm(hidden)
        for index in self.order:
            hidden = self.layers[index](hidden)
        return hidden


def runs(number):
    return zoo.built(Species(lambda: Runs([linear() for _ in range(number)]), {}))


@pytest.mark.parametrize("is_early", [True, False])
def test_any_order_gives_the_same_result(strict, num_slots, is_early):  # S126
    module, orders = runs(5), torch.randint(0, 5, (12, 6), generator=torch.Generator().manual_seed(5)).tolist()
    expected = []
    for order in orders:
        module.order = order
        expected.append(module(zoo.example()))
    stage = Stage(module, num_slots, overlaps=True, strict=strict, is_early=is_early)
    for order, result in zip(orders, expected, strict=True):
        module.order = order
        assert torch.equal(stage.run(), result)
        assert stage.is_at_rest()


def test_layers_that_do_not_always_run(num_slots):
    module = zoo.built(Species(lambda: Branches([linear(), linear()]), {}))
    inputs = [zoo.example() + sign * 0.05 for sign in (1, -1, 1, 1, -1)]
    expected = [module(hidden) for hidden in inputs]
    stage = Stage(module, num_slots, overlaps=True)
    for hidden, result in zip(inputs, expected, strict=True):
        assert torch.equal(stage.module(hidden), result)


def test_without_overlap_nothing_is_copied_ahead():
    stage = Stage(3, num_slots=2)
    stage.run()
    stage.run()
    assert stage.taken("copy", "release") == "c0 r0 c1 r1 c2 r2 c0 r0 c1 r1 c2 r2"
    stage = Stage(3, num_slots=2, overlaps=True, is_early=False)
    stage.run()
    stage.run()
    assert stage.taken("copy", "release") == "c0 r0 c1 r1 c2 r2 c0 r0 c1 r1 c2 r2"


def test_two_slots_copy_the_next_while_one_is_used():  # S124
    stage = Stage(3, num_slots=2, overlaps=True)
    stage.run()
    assert stage.taken() == "c0 w0 r0 c1 w1 r1 c2 w2 r2"
    for _ in range(2):  # the first of these learns that 0 comes after 2
        stage.run()
    assert stage.taken() == "c0 w0 r0 c1 w1 r1 c0 w2 r2 c1 w0 r0 c2 w1 r1 c0 w2 r2 c1"
    assert stage.is_right()


def test_one_slot_copies_the_next_as_soon_as_it_is_free():
    stage = Stage(3, overlaps=True)
    stage.run()
    assert stage.taken() == "c0 w0 r0 c1 w1 r1 c2 w2 r2"
    stage.run()
    stage.run()
    assert stage.taken() == "c0 w0 r0 c1 w1 r1 c2 w2 r2 c0 w0 r0 c1 w1 r1 c2 w2 r2 c0"  # wraps round
    assert stage.is_right()


def test_copying_ahead_costs_no_copies(num_slots):
    stage = Stage(5, num_slots, overlaps=True)
    for _ in range(4):
        assert stage.is_right()
    assert stage.streamer.num_copies <= 4 * 5 + num_slots


@pytest.mark.parametrize("repeats", [2, 7])
def test_a_unit_that_runs_several_times_in_a_row_is_not_copied_over(num_slots, repeats):
    module = runs(4)
    module.order = [index for index in range(4) for _ in range(repeats)]
    stage = Stage(module, num_slots, overlaps=True)
    for _ in range(5):
        assert stage.is_right()
    assert stage.streamer.num_copies <= 5 * 4 + num_slots


def test_fewer_runs_in_a_row_than_before_are_right_too():
    module = runs(3)
    stage = Stage(module, overlaps=True)
    for order in ([0, 0, 0, 1, 1, 2], [0, 1, 2], [0, 0, 1, 1, 1, 2, 2], [2, 1, 0]):
        module.order = order
        stage.run()
        assert stage.is_at_rest()
    results = [stage.run() for _ in range(2)]
    stage.streamer.close()
    for pack in stage.packs:
        pack.point_at(pack.host)
    assert all(torch.equal(result, stage.run()) for result in results)


class StepLayer(nn.Module):
    """A layer with a second way in, which calls its leaves but not itself."""

    def __init__(self):
        super().__init__()
        self.first, self.second = linear(), linear()

    def forward(self, hidden):
        return self.second(self.first(hidden))

    forward_step = forward


def test_any_way_into_a_layer_works(strict, num_slots):  # S121
    module = zoo.built(Species(lambda: Chain([StepLayer() for _ in range(3)]), {}))
    hidden, expected = zoo.example(), []
    for layer in module.layers:
        expected += [layer(hidden), layer.first(hidden)]
    stage = Stage(module, num_slots, overlaps=True, strict=strict)
    for _ in range(3):
        before = stage.streamer.num_copies
        found = []
        for layer in module.layers:
            found += [layer.forward_step(hidden), layer.first(hidden)]
        assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
        assert stage.streamer.num_copies - before <= 3 + num_slots
    assert stage.is_at_rest()


class OnPurposeError(Exception):
    """What a layer or the gate raises."""


class Failing(nn.Module):
    """A layer that fails when told to, after its weight was used."""

    error = None

    def __init__(self):
        super().__init__()
        self.inner = linear()

    def forward(self, hidden):
        hidden = self.inner(hidden)
        if self.error:
            raise self.error
        return hidden


def failing():
    return zoo.built(Species(lambda: Chain([Failing() for _ in range(3)]), {}))


@pytest.mark.filterwarnings("error")
def test_an_error_in_a_forward_leaves_no_unit_entered(strict, num_slots):
    stage = Stage(failing(), num_slots, overlaps=True, strict=strict)
    for layer in stage.module.layers:
        stage.run()
        stage.taken()
        layer.error = OnPurposeError()
        with pytest.raises(OnPurposeError):
            stage.run()
        assert stage.is_at_rest()
        assert stage.taken()[-2] == "r"  # nothing is copied ahead of what will not run
        layer.error = None
        assert stage.is_right()


def test_a_keyboard_interrupt_is_cleaned_up_by_rest(num_slots):  # torch calls no hooks for it
    stage = Stage(failing(), num_slots)
    stage.module.layers[1].error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        stage.run()
    assert not stage.is_at_rest()
    stage.streamer.rest()
    assert stage.is_at_rest()
    assert all(is_nowhere(weight.tensor) for pack in stage.packs for weight in pack.unit.weights)
    stage.module.layers[1].error = None
    assert stage.is_right()


@pytest.mark.parametrize("error", [None, OnPurposeError(), KeyboardInterrupt()])
def test_leaves_are_free_of_hooks_inside_their_unit_alone(error):
    stage, seen = Stage(failing()), []
    leaf = stage.module.layers[1].inner

    def hooks():
        return len(leaf._forward_pre_hooks) + len(leaf._forward_hooks)

    stage.module.layers[1].register_forward_pre_hook(lambda *_: seen.append(hooks()))
    stage.module.layers[1].error = error
    try:
        stage.run()
    except (OnPurposeError, KeyboardInterrupt):
        stage.streamer.rest()
    assert (seen, hooks()) == ([0], 2)
    stage.module.layers[1].error = None
    assert stage.is_right()
    assert torch.equal(leaf(stage.hidden), stage.module.layers[1](stage.hidden))
    stage.streamer.close()
    assert hooks() == 0


def test_an_interrupt_before_the_copy_leaves_the_unit_out():  # torch calls no hooks for it
    stage = Stage(2)

    def check():
        raise KeyboardInterrupt

    stage.gate.check = check
    with pytest.raises(KeyboardInterrupt):
        stage.run()
    assert stage.is_at_rest()
    stage.gate.check = lambda: None
    assert stage.is_right()


def cancel_after(gate, copies):
    left = [copies]

    def check():
        if not left[0]:
            raise OnPurposeError
        left[0] -= 1

    gate.check = check


def cancel_once(gate, copies):
    cancel_after(gate, copies)
    check = gate.check

    def check_once():
        try:
            check()
        except OnPurposeError:
            gate.check = lambda: None
            raise

    gate.check = check_once


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("overlaps", [True, False])
def test_a_cancel_at_any_copy_leaves_all_in_order(strict, num_slots, overlaps):  # S137
    stage = Stage(4, num_slots, overlaps, strict)
    stage.run()
    raised = 0
    for copies in range(6):
        before = stage.streamer.num_copies
        cancel_after(stage.gate, copies)
        try:
            while stage.streamer.num_copies - before <= copies:
                stage.run()
        except OnPurposeError:
            raised += 1
        assert stage.is_at_rest()
        assert stage.streamer.num_copies == before + copies  # none without a check
        stage.gate.check = lambda: None
        assert stage.is_right()
    assert raised == 6


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_failed_copy_leaves_no_half_filled_slot(num_slots, overlaps):
    stage = Stage(4, num_slots, overlaps)
    stage.run()
    stage.queue.fails = True
    with pytest.raises(RuntimeError, match="copy failed"):
        stage.run()
    assert stage.is_at_rest()
    held = [slot.pack for slot in stage.ring.slots]
    assert None in held
    counted = stage.streamer.streamed_bytes
    stage.queue.fails = False
    assert stage.is_right()
    assert stage.streamer.streamed_bytes > counted


class Calls(nn.Module):
    """A layer that calls another one, which is no child of it."""

    def __init__(self, other):
        super().__init__()
        self.inner = linear()
        self.others = [other]

    def forward(self, hidden):
        return self.inner(self.others[0](hidden))


def calling():
    last = linear()
    return zoo.built(Species(lambda: Chain([Calls(last), last]), {}))


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_unit_that_calls_another_gets_its_bytes_back(strict, num_slots, overlaps):
    stage = Stage(calling(), num_slots, overlaps, strict)
    for _ in range(3):
        assert stage.is_right()
        assert stage.is_at_rest()
    if num_slots == 1 and not overlaps:
        assert stage.taken() == " ".join(["c0 w0 r0 c1 w1 r1 c0 w0 r0 c1 w1 r1"] * 3)
    assert stage.streamer.num_copies <= 3 * (4 if num_slots == 1 else 2) + 1


def test_slots_of_units_that_call_each_other_are_lent_and_given_back(strict, num_slots):
    module = calling()
    module.layers[0].others[0] = nn.Sequential(module.layers[1], module.layers[0].inner, module.layers[1])
    module.layers[1].register_forward_hook(lambda layer, args, output: output + module.layers[0].inner(args[0]))
    stage = Stage(module, num_slots, overlaps=True, strict=strict)
    for _ in range(3):
        assert stage.is_right()
        assert stage.is_at_rest()


@pytest.mark.parametrize("caught", [True, False])
def test_a_cancel_while_a_slot_is_lent_leaves_nothing_to_read(caught):
    class Tries(Calls):
        def forward(self, hidden):
            try:
                hidden = self.others[0](hidden)
            except OnPurposeError:
                if not caught:
                    raise
            return self.inner(hidden)

    last = linear()
    stage = Stage(zoo.built(Species(lambda: Chain([Tries(last), last]), {})))
    for copies in (1, 2):  # before the inner unit comes, and before the outer one comes back
        cancel_once(stage.gate, copies)
        if caught:
            assert stage.run().isnan().all()
        else:
            with pytest.raises(OnPurposeError):
                stage.run()
        assert stage.is_at_rest()
        stage.gate.check = lambda: None
        assert stage.is_right()


def test_three_slots_are_filled_two_units_ahead():
    stage = Stage(5, num_slots=3, overlaps=True)
    for _ in range(2):
        stage.run()
    stage.taken()
    stage.run()
    # As soon as a unit is done with, the third after it comes: the two between are there or on their way.
    assert stage.taken() == "w0 r0 c3 w1 r1 c4 w2 r2 c0 w3 r3 c1 w4 r4 c2"
    assert stage.is_right()


def test_no_copy_of_what_is_there():
    module = runs(3)
    module.order = [0, 1, 2]
    stage = Stage(module, num_slots=3, overlaps=True)
    for _ in range(4):
        stage.run()
    assert stage.streamer.num_copies == 3  # all three stay in their slots


def test_after_a_surprise_nothing_is_copied_ahead_until_the_order_is_sure_again(num_slots):
    module = runs(6)
    stage = Stage(module, num_slots, overlaps=True)
    wasted = []
    for order in ([0, 1, 2, 3], [0, 1, 2, 3], [0, 4, 2, 3], [0, 5, 2, 3], [0, 1, 2, 3], [0, 4, 2, 3]):
        module.order = order
        before = stage.streamer.num_copies
        stage.run()
        wasted.append(stage.streamer.num_copies - before - len(order))
    assert sum(wasted) <= 2 * num_slots  # the first surprise and the end of the last pass
    module.order = [0, 1, 2, 3]
    for _ in range(2):
        stage.run()
    before = stage.streamer.num_copies
    stage.run()
    assert stage.streamer.num_copies - before == 4


@pytest.mark.parametrize("num_slots", [2, 4])
def test_permanent_slots_keep_every_parameter_in_place(strict, num_slots):
    stage = Stage(4, num_slots, overlaps=True, strict=strict, is_permanent=True)

    def places():
        return [id(p) for p in stage.module.parameters()], [p.data_ptr() for p in stage.module.parameters()]

    before = places()
    for _ in range(3):
        assert stage.is_right()
        assert places() == before
    buffers = [slot.buffer.data_ptr() for slot in stage.ring.slots]
    assert {weight.tensor.data_ptr() for pack in stage.packs for weight in pack.unit.weights} == set(buffers)
    assert stage.taken("copy") == ("c0 c1 c2 c3" if num_slots == 4 else "c0 c1 c2 c3 c0 c1 c2 c3 c0 c1 c2 c3")
    stage.streamer.close()
    assert all(p.data_ptr() not in buffers for p in stage.module.parameters())


class Peeks(Chain):
    """Notes where the weight of its first layer is: before, inside and after that layer's forward."""

    def forward(self, hidden):
        self.seen = [is_nowhere(self.layers[0].weight)]
        hook = self.layers[0].register_forward_pre_hook(lambda layer, _: self.seen.append(is_nowhere(layer.weight)))
        hidden = super().forward(hidden)
        hook.remove()
        self.seen.append(is_nowhere(self.layers[0].weight))
        return hidden


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_weight_is_there_in_its_forward_alone(num_slots, overlaps):  # S175
    stage = Stage(zoo.built(Species(lambda: Peeks([linear(), linear()]), {})), num_slots, overlaps)
    for _ in range(3):
        assert stage.is_right()
        assert stage.module.seen == [True, False, True]
