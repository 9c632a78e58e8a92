"""Hooks of others on modules that stream: they fire as on modules that do not."""

import pytest
import torch
from mizuoto.tests.mizuoto_runtime.memory import zoo
from mizuoto.tests.mizuoto_runtime.memory.stage import Stage
from mizuoto.tests.mizuoto_runtime.memory.zoo import Chain, Pair, Species, linear
from torch import nn
from torch.nn.modules import module as torch_module

PLACES = ("layers.0", "layers.0.first", "layers.1.second")


def network():
    return zoo.built(Species(lambda: Chain([Pair(linear(), linear()) for _ in range(2)]), {}))


class Hooks:
    """Somebody's hooks on a module: what fired is in `log`."""

    def __init__(self, module):
        self.module, self.log, self.handles = module, [], []

    def add(self, when, places=PLACES, **options):
        for place in places:
            part = self.module.get_submodule(place)
            self.handles += [
                part.register_forward_pre_hook(lambda *_, place=place: self.log.append((when, "before", place))),
                part.register_forward_hook(
                    lambda _m, _a, output, place=place: self.log.append((when, "after", place, output.sum().item())),
                    **options,
                ),
            ]

    def add_inside(self, place):
        """Add hooks from inside the next forward of a module."""

        def add(*_):
            trigger.remove()
            self.add(f"inside {place}")

        trigger = self.module.get_submodule(place).register_forward_pre_hook(add)

    def remove(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []


@pytest.fixture
def twins():
    """The same module twice, one to be streamed, and somebody's hooks on each."""
    plain, streamed = network(), network()
    return Hooks(plain), Hooks(streamed)


def both(twins, action):
    for hooks in twins:
        action(hooks)


def run_both(twins, stage):
    with torch.inference_mode():
        expected = twins[0].module(stage.hidden)
    assert torch.equal(stage.run(), expected)
    (plain, streamed), logs = twins, (list(twins[0].log), list(twins[1].log))
    plain.log.clear()
    streamed.log.clear()
    assert logs[0] == logs[1]
    return len(logs[0])


@pytest.mark.parametrize("place", ["layers.0", "layers.0.first", "layers.0.second", "layers.1"])
@pytest.mark.parametrize("num_slots", [1, 2])
def test_hooks_of_others_fire_as_without_streaming(twins, place, num_slots):
    both(twins, lambda hooks: hooks.add("before"))
    stage = Stage(twins[1].module, num_slots, overlaps=num_slots > 1)
    both(twins, lambda hooks: hooks.log.clear())
    assert run_both(twins, stage) == 6
    both(twins, lambda hooks: hooks.add_inside(place))
    fired = [run_both(twins, stage) for _ in range(2)]
    assert fired[1] == 12
    both(twins, lambda hooks: hooks.add("while it streams"))
    assert run_both(twins, stage) == 18
    stage.streamer.close()
    both(twins, lambda hooks: hooks.log.clear())
    stage.streamer.packs[0].point_at(stage.streamer.packs[0].host)
    stage.streamer.packs[1].point_at(stage.streamer.packs[1].host)
    both(twins, lambda hooks: hooks.add("after"))
    assert run_both(twins, stage) == 24
    both(twins, Hooks.remove)
    assert run_both(twins, stage) == 0
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in stage.module.modules())


def test_hooks_added_inside_a_forward_can_be_removed_there_and_later(twins):
    stage = Stage(twins[1].module)
    for place in ("layers.0", "layers.0.first"):
        both(twins, lambda hooks, place=place: hooks.add_inside(place))
        assert run_both(twins, stage) > 0
        both(twins, lambda hooks: hooks.module.layers[0].register_forward_pre_hook(lambda *_: hooks.remove()))
        run_both(twins, stage)
        assert run_both(twins, stage) == 0


@pytest.mark.parametrize("kind", ["forward", "forward_pre"])
def test_hooks_on_all_modules_do_not_disturb(kind):
    stage, seen = Stage(network()), []
    handle = getattr(torch_module, f"register_module_{kind}_hook")(lambda module, *_: seen.append(type(module)))
    try:
        assert stage.is_right()
    finally:
        handle.remove()
    assert seen.count(nn.Module) == 0
    assert len(seen) == sum(1 for part in stage.module.modules() if not isinstance(part, nn.ModuleList))
    assert stage.is_at_rest()
    assert stage.streamer.num_copies == 2
    assert stage.is_right()


def test_a_hook_of_others_that_fails_leaves_nothing_entered(twins):
    stage = Stage(twins[1].module)

    def fail(*_):
        raise ZeroDivisionError

    for place in ("layers.0", "layers.0.first", "layers.1.second"):
        part = stage.module.get_submodule(place)
        for register in (part.register_forward_pre_hook, part.register_forward_hook):
            for is_first in (True, False):
                handle = register(fail, prepend=is_first)
                with pytest.raises(ZeroDivisionError):
                    stage.run()
                handle.remove()
                assert stage.is_at_rest()
                assert stage.is_right()


def test_leaves_called_alone_are_watched_again_after_their_unit_ran():
    stage = Stage(network())
    stage.run()
    first = stage.module.layers[0].first
    assert len(first._forward_hooks) == len(first._forward_pre_hooks) == 1
    with torch.inference_mode():
        assert not first(stage.hidden).isnan().any()
    assert stage.is_at_rest()
