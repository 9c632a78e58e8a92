import os
import random
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from mizuoto.mizuoto_runtime.snapshot import snapshot


@contextmanager
def flag(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def restoring(change, restore):
    change()
    try:
        yield
    finally:
        restore()


def torch_draw():
    state = torch.get_rng_state()
    return restoring(lambda: torch.rand(1), lambda: torch.set_rng_state(state))


def python_draw():
    state = random.getstate()
    return restoring(random.random, lambda: random.setstate(state))


def numpy_draw():
    state = np.random.get_state()
    return restoring(np.random.rand, lambda: np.random.set_state(state))


CHANGES = {
    "torch_rng": torch_draw,
    "python_rng": python_draw,
    "numpy_rng": numpy_draw,
    "default_dtype": lambda: restoring(
        lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)
    ),
    "default_device": lambda: torch.device("meta"),
    "num_threads": lambda: restoring(lambda: torch.set_num_threads(2), lambda: torch.set_num_threads(1)),
    "grad_enabled": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "deterministic": lambda: restoring(
        # The public function imports torch's compiler, which writes to the environment.
        lambda: torch._C._set_deterministic_algorithms(True),
        lambda: torch._C._set_deterministic_algorithms(False),
    ),
    "cudnn": lambda: flag(torch.backends.cudnn, "benchmark", not torch.backends.cudnn.benchmark),
    "environment": lambda: restoring(
        lambda: os.environ.update(MIZUOTO_X="1"), lambda: os.environ.__delitem__("MIZUOTO_X")
    ),
    "sys_path": lambda: flag(sys, "path", [*sys.path, "elsewhere"]),
}


def test_stays_equal_when_nothing_changes():
    before = snapshot()
    torch.rand(3, generator=torch.Generator().manual_seed(1))
    random.Random(1).random()
    np.random.default_rng(1).random()
    assert snapshot() == before


@pytest.mark.parametrize("key", CHANGES)
def test_sees_every_change(key):  # S045
    before = snapshot()
    with CHANGES[key]():
        after = snapshot()
    assert after[key] != before[key]
    assert snapshot() == before


def test_sees_the_working_directory(monkeypatch, tmp_path):
    before = snapshot()
    monkeypatch.chdir(tmp_path)
    assert snapshot()["working_directory"] != before["working_directory"]
