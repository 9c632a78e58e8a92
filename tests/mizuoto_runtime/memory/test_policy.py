import pytest
from mizuoto.mizuoto_runtime.memory.policy import DEFAULT_RESERVE_MB, MB, VramPolicy
from mizuoto.mizuoto_runtime.settings import VRAM_MODES, Settings


def test_defaults():
    policy = VramPolicy.of(Settings())
    assert policy == VramPolicy("auto", DEFAULT_RESERVE_MB * MB, 0, keeps_host_copies=True)


def test_settings_become_bytes():  # S025
    policy = VramPolicy.of(Settings(vram_reserve_mb=0, vram_limit_mb=3))
    assert (policy.reserve_bytes, policy.limit_bytes) == (0, 3 << 20)


@pytest.mark.parametrize("mode", VRAM_MODES)
def test_mode_host_follows_the_host(mode):
    assert VramPolicy.of(Settings(vram_mode=mode), "low").mode == ("low" if mode == "host" else mode)


@pytest.mark.parametrize(("mode", "keeps"), [("auto", True), ("high", True), ("shared", False), ("none", True)])
def test_shared_memory_needs_no_second_copy(mode, keeps):  # S141
    assert VramPolicy.of(Settings(vram_mode=mode)).keeps_host_copies is keeps
    assert VramPolicy.of(Settings(), mode).keeps_host_copies is keeps
