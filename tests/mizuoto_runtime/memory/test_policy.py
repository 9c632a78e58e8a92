import subprocess
import sys
from dataclasses import replace

import mizuoto
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.memory.policy import (
    DEFAULT_RESERVE_MB,
    GB,
    MB,
    Machine,
    VramPolicy,
    default_pinned_bytes,
    default_ram_reserve,
    unit_budget,
)
from mizuoto.mizuoto_runtime.settings import VRAM_MODES, Settings

PC = Machine(ram_free_bytes=20 * GB, ram_total_bytes=32 * GB)
MODES = VRAM_MODES[1:]


def policy(mode):
    return VramPolicy.of(Settings(vram_mode=mode), machine=PC)


def test_defaults():
    assert VramPolicy.of(Settings()) == VramPolicy(
        mode="auto",
        reserve_bytes=DEFAULT_RESERVE_MB * MB,
        limit_bytes=0,
        keeps_host_copies=True,
        ram_reserve_bytes=2 * GB,
        max_pinned_bytes=0,
        num_transfers=2,
    )


def test_settings_become_bytes():  # S025
    settings = Settings(vram_reserve_mb=0, vram_limit_mb=3, ram_reserve_mb=5, max_pinned_mb=7, async_offload=0)
    made = VramPolicy.of(settings, machine=PC)
    assert (made.reserve_bytes, made.limit_bytes) == (0, 3 << 20)
    assert (made.ram_reserve_bytes, made.max_pinned_bytes, made.num_transfers) == (5 << 20, 7 << 20, 0)
    assert VramPolicy.of(Settings(ram_reserve_mb=0, max_pinned_mb=0), machine=PC).ram_reserve_bytes == 0
    assert VramPolicy.of(Settings(ram_reserve_mb=0, max_pinned_mb=0), machine=PC).max_pinned_bytes == 0


@pytest.mark.parametrize("mode", VRAM_MODES)
def test_mode_host_follows_the_host(mode):
    assert VramPolicy.of(Settings(vram_mode=mode), "low").mode == ("low" if mode == "host" else mode)


@pytest.mark.parametrize("mode", VRAM_MODES)
@pytest.mark.parametrize("host_mode", ["auto", "low", "high"])
def test_only_auto_turns_into_shared(mode, host_mode):  # M10
    asked = host_mode if mode == "host" else mode
    made = VramPolicy.of(Settings(vram_mode=mode), host_mode, replace(PC, shares_memory=True))
    assert made.mode == ("shared" if asked == "auto" else asked)
    assert VramPolicy.of(Settings(vram_mode=mode), host_mode, PC).mode == asked


@pytest.mark.parametrize(("mode", "keeps"), [("auto", True), ("high", True), ("shared", False), ("none", True)])
def test_shared_memory_needs_no_second_copy(mode, keeps):  # S141
    assert VramPolicy.of(Settings(vram_mode=mode)).keeps_host_copies is keeps
    assert VramPolicy.of(Settings(), mode).keeps_host_copies is keeps
    assert VramPolicy.of(Settings(host_copies="on"), mode).keeps_host_copies is keeps
    assert bool(VramPolicy.of(Settings(max_pinned_mb=9), mode).max_pinned_bytes) is keeps


@pytest.mark.parametrize(
    ("setting", "free_gb", "keeps"),
    [("auto", 20, True), ("auto", 3, False), ("on", 3, True), ("off", 20, False)],
)
def test_host_copies_depend_on_free_memory(setting, free_gb, keeps):  # S141
    machine = replace(PC, ram_free_bytes=free_gb * GB)
    assert VramPolicy.of(Settings(host_copies=setting), machine=machine).keeps_host_copies is keeps


def test_host_copies_end_where_the_reserve_begins():
    settings = Settings(ram_reserve_mb=1024)
    assert not VramPolicy.of(settings, machine=replace(PC, ram_free_bytes=GB)).keeps_host_copies
    assert VramPolicy.of(settings, machine=replace(PC, ram_free_bytes=GB + 1)).keeps_host_copies


@pytest.mark.parametrize(("total_gb", "reserve_gb"), [(0, 2), (8, 2), (20, 2), (64, 6.4)])
def test_ram_reserve(total_gb, reserve_gb):  # S147
    assert default_ram_reserve(total_gb * GB) == int(reserve_gb * GB)
    assert VramPolicy.of(Settings(), machine=Machine(False, GB, total_gb * GB)).ram_reserve_bytes == int(
        reserve_gb * GB
    )


@pytest.mark.parametrize(
    ("total_gb", "windows_gb", "others_gb"), [(0, 0, 0), (4, 1.6, 1.6), (8, 3.2, 4), (16, 6.4, 12), (100, 40, 90)]
)
def test_pinning_budget(total_gb, windows_gb, others_gb):  # S129
    assert default_pinned_bytes(total_gb * GB, "win32") == int(windows_gb * GB)
    assert default_pinned_bytes(total_gb * GB, "linux") == int(others_gb * GB)
    assert VramPolicy.of(Settings(), machine=Machine(False, GB, total_gb * GB)).max_pinned_bytes in (
        int(windows_gb * GB),
        int(others_gb * GB),
    )


def test_policies_need_no_torch():
    program = (
        "import sys, types; sys.modules['torch'] = None; package = types.ModuleType('mizuoto');"
        f"package.__path__ = {list(mizuoto.__path__)!r}; sys.modules['mizuoto'] = package;"
        "from mizuoto.mizuoto_runtime.memory.policy import VramPolicy;"
        "from mizuoto.mizuoto_runtime.settings import Settings; print(VramPolicy.of(Settings(), 'low').mode)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "low\n"


# fixed part 10, units 90
@pytest.mark.parametrize(
    ("mode", "budget", "expected"),
    [
        ("auto", 100, 90),
        ("auto", 1000, 90),
        ("auto", 60, 50),
        ("auto", 5, 0),
        ("auto", -5, 0),
        ("auto", float("inf"), 90),
        ("low", 200, 90),
        ("low", 100, 40),
        ("low", 15, 0),
        ("none", 1000, 0),
        ("none", float("inf"), 0),
        ("high", -5, 90),
        ("shared", 0, 90),
    ],
)
def test_unit_budget(mode, budget, expected):  # M10
    assert unit_budget(policy(mode), budget, 10, 100) == expected


@given(
    budget=st.one_of(st.integers(-(1 << 40), 1 << 40), st.just(float("inf"))),
    fixed=st.integers(0, 1 << 34),
    units=st.integers(0, 1 << 34),
    more=st.integers(0, 1 << 34),
)
def test_modes_in_order(budget, fixed, units, more):
    def given_by(mode, budget=budget):
        return unit_budget(policy(mode), budget, fixed, fixed + units)

    assert 0 == given_by("none") <= given_by("low") <= given_by("auto") <= given_by("high") == units
    for mode in MODES:
        assert given_by(mode) <= given_by(mode, budget + more)
    assert fixed + given_by("auto") <= max(budget, fixed)
