import pytest
from mizuoto.mizuoto_runtime.doctor.memory import memory_section, settings_section
from mizuoto.mizuoto_runtime.settings import TABLE, Settings

MB = 1 << 20


def settings_row(section, name):
    return next(row for row in section.facts["settings"] if row["name"] == name)


def test_every_setting_says_where_it_comes_from():
    section, settings = settings_section({"MIZUOTO_VRAM_MODE": "low", "PATH": "x", "CUDA_VISIBLE_DEVICES": "1"})
    assert [row["name"] for row in section.facts["settings"]] == [row.key.removeprefix("compute.") for row in TABLE]
    assert settings_row(section, "vram_mode") == {"name": "vram_mode", "value": "low", "source": "MIZUOTO_VRAM_MODE"}
    assert settings_row(section, "oom_retries") == {"name": "oom_retries", "value": 2, "source": "default"}
    assert section.facts["environment"] == {"CUDA_VISIBLE_DEVICES": "1"}
    assert settings.vram_mode == "low" and not section.findings


def test_what_is_saved_counts_below_the_environment():
    saved = {"compute.vram_mode": "none", "compute.oom_retries": 1, "hibari.speed": 2.0}
    section, settings = settings_section({"MIZUOTO_VRAM_MODE": "low"}, saved)
    assert settings == Settings(vram_mode="low", oom_retries=1)
    assert settings_row(section, "oom_retries")["source"] == "saved"
    assert settings_row(section, "vram_mode")["source"] == "MIZUOTO_VRAM_MODE"


def test_every_faulty_setting_is_named_and_the_others_hold():
    section, settings = settings_section(
        {"MIZUOTO_VRAM_MODE": "medium", "MIZUOTO_OOM_RETRIES": "9", "MIZUOTO_VRAM_LIMIT_MB": "8000"}
    )
    texts = [finding.what for finding in section.findings]
    assert [finding.level for finding in section.findings] == ["error", "error"]
    assert any('"medium"' in text for text in texts) and any("its range is 0 to 2" in text for text in texts)
    assert (settings.vram_limit_mb, settings.oom_retries) == (8000, 2)


def test_a_misspelt_setting_is_told():
    section, _ = settings_section({"MIZUOTO_VRAM_MOD": "low", "MIZUOTO_XYZ": "1"})
    assert [(finding.level, finding.fix.split(":")[0]) for finding in section.findings] == [
        ("warning", "Did you mean MIZUOTO_VRAM_MODE?"),
        ("warning", "There are"),
    ]


@pytest.mark.parametrize(
    ("mode", "host", "shared", "result", "source"),
    [
        ("host", None, False, "auto", "default"),
        ("host", "none", False, "none", "ComfyUI"),
        ("low", "high", False, "low", "settings"),
        ("host", None, True, "shared", "default"),
    ],
)
def test_the_policy_in_force(mode, host, shared, result, source):
    facts = memory_section(Settings(vram_mode=mode, vram_reserve_mb=700), host, {"host_copy_streams": 2}, shared).facts
    assert (facts["mode"], facts["mode_from"]) == (result, source)
    assert (facts["reserve_bytes"], facts["limit_bytes"], facts["oom_retries"]) == (700 * MB, 0, 2)
    assert facts["host_copy_streams"] == 2 and facts["oom_fallback"] is False
    assert (facts["max_resident_models"] == 0) == (host is not None)
    assert {"keeps_host_copies", "ram_reserve_bytes", "max_pinned_bytes", "num_transfers"} <= facts.keys()


def test_what_is_unusual_is_explained():
    section = memory_section(Settings(vram_mode="none", oom_retries=0, oom_fallback=True), None, {})
    assert [finding.level for finding in section.findings] == ["info"] * 3
