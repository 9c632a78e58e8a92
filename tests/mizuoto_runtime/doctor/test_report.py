import json
import os
import random

import pytest
from mizuoto import engines
from mizuoto.mizuoto_runtime import doctor
from mizuoto.mizuoto_runtime.doctor import Host, Section, attention, fit, hardware, report
from mizuoto.mizuoto_runtime.doctor.hardware import Hardware
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia, torch_of

MANIFESTS = list(engines.manifests().values())
SECTIONS = ["system", "hardware", "torch", "attention", "settings", "memory"]


def test_the_form_of_a_report():
    found = doctor.examine(MANIFESTS, self_test=False, environment={"PATH": ""})
    assert found["schema_version"] == "1.0" and found["level"] in ("ok", "info", "warning")
    assert list(found["sections"]) == [*SECTIONS, *(f"engine {manifest.id}" for manifest in MANIFESTS)]
    for section in found["sections"].values():
        assert section.keys() == {"facts", "findings"}
        for finding in section["findings"]:
            assert finding.keys() == {"level", "what", "why", "fix"} and finding["what"]
    assert json.loads(json.dumps(found)) == found


def test_under_a_host():
    host = Host("ComfyUI 1.2", lambda gpus: Section({"number": len(gpus)}), "low", {}, {"host_copy_streams": 0})
    found = doctor.examine([], host, False, {"PATH": ""})["sections"]
    assert found["host"]["facts"] == {"number": 0}
    assert found["memory"]["facts"]["mode"] == "low" and found["memory"]["facts"]["host_copy_streams"] == 0
    assert found["system"]["facts"]["host"] == "ComfyUI 1.2"


@pytest.mark.parametrize(
    ("module", "name", "section"),
    [
        (hardware, "find_hardware", "hardware"),
        (fit, "torch_section", "torch"),
        (attention, "attention_section", "attention"),
        (report.memory, "settings_section", "settings"),
        (report.memory, "memory_section", "memory"),
        (report.engine, "engine_section", "engine hibari"),
        (report, "_system", "system"),
    ],
)
def test_whatever_fails_becomes_a_finding(monkeypatch, module, name, section):
    def fail(*_args, **_kwargs):
        raise RuntimeError("the driver is on fire")

    monkeypatch.setattr(module, name, fail)
    found = doctor.examine(MANIFESTS, self_test=False, environment={"PATH": ""})
    (finding,) = found["sections"][section]["findings"]
    assert finding["level"] == "warning" and "RuntimeError: the driver is on fire" in finding["what"]
    assert len(found["sections"]) >= len(SECTIONS)
    assert "on fire" in doctor.render(found)


def test_an_interrupt_is_no_finding(monkeypatch):
    def stop(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(hardware, "find_hardware", stop)
    with pytest.raises(KeyboardInterrupt):
        doctor.examine([])


@pytest.mark.parametrize(
    ("self_test", "found_by", "kind", "asked"),
    [
        (True, "nvidia-smi", "cuda", True),
        (False, "nvidia-smi", "cuda", False),
        (True, "torch in this process", "cuda", False),
        (True, "nvidia-smi", "cpu", False),
    ],
)
def test_torch_confirms_what_the_driver_says(monkeypatch, self_test, found_by, kind, asked):
    calls = []
    monkeypatch.setattr(report.build, "installed_torch", lambda: torch_of(kind))
    monkeypatch.setattr(hardware, "find_hardware", lambda *_: Hardware((nvidia(),), found_by))
    monkeypatch.setattr(hardware, "ask_torch", lambda *_: calls.append(1) or [])
    found = doctor.examine([], None, self_test, {"PATH": ""})
    assert bool(calls) == asked
    assert (found["level"] == "error") == asked


def test_nothing_of_the_process_is_changed():
    before = dict(os.environ), random.getstate()
    doctor.examine(MANIFESTS, self_test=False)
    assert (dict(os.environ), random.getstate()) == before
