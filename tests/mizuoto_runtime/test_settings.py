from dataclasses import FrozenInstanceError, fields

import pytest
from mizuoto.mizuoto_runtime.attention import features
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.settings import COMPUTE, FAST_SWITCHES, TABLE, VRAM_MODES, Settings


def test_defaults():
    assert Settings.from_environment({}) == Settings()
    assert Settings() == Settings("host", -1, 0, 2, False, "auto", -1, -1, 2)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        Settings().oom_retries = 1


def test_every_setting_has_a_variable():
    environment = {
        "MIZUOTO_VRAM_MODE": "low",
        "MIZUOTO_VRAM_RESERVE_MB": "0",
        "MIZUOTO_VRAM_LIMIT_MB": "4096",
        "MIZUOTO_OOM_RETRIES": "1",
        "MIZUOTO_OOM_FALLBACK": "1",
        "MIZUOTO_HOST_COPIES": "off",
        "MIZUOTO_RAM_RESERVE_MB": "1024",
        "MIZUOTO_MAX_PINNED_MB": "0",
        "MIZUOTO_ASYNC_OFFLOAD": "0",
        "MIZUOTO_MAX_RESIDENT_MODELS": "2",
        "MIZUOTO_UNLOAD_AFTER_MINUTES": "0",
        "MIZUOTO_PINNED_MODELS": "hibari",
        "MIZUOTO_SEGMENT_CACHE_MB": "0",
        "MIZUOTO_ATTENTION_STRICT": "1",
        "MIZUOTO_FAST": "tf32",
        "MIZUOTO_OF_A_NEWER_VERSION": "x",
        "OOM_RETRIES": "0",
    }
    settings = Settings.from_environment(environment)
    assert settings == Settings("low", 0, 4096, 1, True, "off", 1024, 0, 0, 2, 0, "hibari", 0, True, "tf32")
    assert all(getattr(settings, field.name) != field.default for field in fields(Settings))


def test_the_process_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("MIZUOTO_OOM_RETRIES", "0")
    assert Settings.from_environment().oom_retries == 0


@pytest.mark.parametrize(
    ("text", "value"), [("0", False), ("1", True), ("true", True), ("True", True), ("FALSE", False)]
)
def test_switches(text, value):
    assert Settings.from_environment({"MIZUOTO_OOM_FALLBACK": text}).oom_fallback is value


@pytest.mark.parametrize("mode", VRAM_MODES)
def test_modes(mode):
    assert Settings(vram_mode=mode).vram_mode == mode


@pytest.mark.parametrize(
    ("variable", "text", "advice"),
    [
        ("MIZUOTO_VRAM_MODE", "turbo", "use one of host, auto, high, shared, low, none"),
        ("MIZUOTO_VRAM_RESERVE_MB", "-2", "its range is 0 to"),
        ("MIZUOTO_VRAM_LIMIT_MB", "-1", "its range is 0 to"),
        ("MIZUOTO_VRAM_LIMIT_MB", "4 GB", "use a whole number"),
        ("MIZUOTO_VRAM_LIMIT_MB", "", "use a whole number"),
        ("MIZUOTO_OOM_RETRIES", "3", "its range is 0 to 2"),
        ("MIZUOTO_OOM_RETRIES", "1.5", "use a whole number"),
        ("MIZUOTO_OOM_FALLBACK", "yes", "use 0 or 1"),
        ("MIZUOTO_HOST_COPIES", "1", "use one of auto, on, off"),
        ("MIZUOTO_RAM_RESERVE_MB", "-2", "or -1 for automatic"),
        ("MIZUOTO_RAM_RESERVE_MB", "16777217", "its range is 0 to 16777216"),
        ("MIZUOTO_MAX_PINNED_MB", "-5", "or -1 for automatic"),
        ("MIZUOTO_MAX_PINNED_MB", "all", "use a whole number"),
        ("MIZUOTO_ASYNC_OFFLOAD", "-1", "its range is 0 to 8."),
        ("MIZUOTO_ASYNC_OFFLOAD", "9", "its range is 0 to 8."),
    ],
)
def test_refusals_name_the_variable_and_the_way_out(variable, text, advice):
    with pytest.raises(InvalidRequest) as caught:
        Settings.from_environment({variable: text})
    assert variable in str(caught.value)
    assert advice in str(caught.value)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["vram_reserve_mb", "ram_reserve_mb", "max_pinned_mb"])
def test_automatic_numbers(name):
    assert getattr(Settings.from_environment({f"MIZUOTO_{name.upper()}": "-1"}), name) == -1
    assert getattr(Settings(**{name: 0}), name) == 0


def test_the_fast_switches_are_those_that_torch_is_asked_for():
    assert FAST_SWITCHES == features.SWITCHES
    assert Settings(fast="tf32, cudnn_benchmark").fast == "tf32, cudnn_benchmark"
    with pytest.raises(InvalidRequest, match="MIZUOTO_FAST"):
        Settings(fast="turbo")


def test_the_table_tells_all():
    assert [row.key for row in COMPUTE] == [f"compute.{field.name}" for field in fields(Settings)]
    assert all(row.name and row.description and row.variable.startswith("MIZUOTO_") for row in TABLE)
    assert {row.key for row in TABLE if row.changes_results} == {"compute.oom_fallback", "compute.fast"}
    assert Settings.of({"compute.oom_retries": 1, "hibari.speed": 2.0}) == Settings(oom_retries=1)
