from dataclasses import replace

import pytest
from mizuoto import engines
from mizuoto.engines.base import Download, Extra
from mizuoto.mizuoto_runtime.doctor import engine
from mizuoto.mizuoto_runtime.doctor.engine import checkpoint_problem, engine_section, import_failures
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia

HIBARI = engines.manifests()["hibari"]
WEIGHTS = next(HIBARI.built_in.glob("*.safetensors"))


def examine(manifest, models=None, gpus=(), failures=lambda names: dict.fromkeys(names, "")):
    return engine_section(manifest, list(gpus), models, failures)


def test_the_built_in_voice_is_usable():
    section = examine(HIBARI, {}, [nvidia()])
    assert section.facts["usable"] and section.facts["lacks"] == []
    assert section.facts["devices"] == ["cuda:0", "cpu"]
    assert section.facts["dtypes"] == {"cpu": ["fp32"], "gpu": ["fp32"]}
    assert section.facts["built_in"] == [{"file": WEIGHTS.name, "size_bytes": WEIGHTS.stat().st_size}]
    assert (section.facts["code_license"], section.facts["weights_license"]) == ("Apache-2.0", "Apache-2.0")
    assert [finding.level for finding in section.findings] == ["ok"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda data: data[:-100], "are expected"),
        (lambda data: data[:4], "cut off"),
        (lambda data: b"version https://git-lfs.example/spec/v1\noid sha256:0\nsize 12\n", "cut off"),
        (lambda data: data[:8] + b"}" + data[9:], "damaged header"),
        (lambda data: (2).to_bytes(8, "little") + b"[]", "damaged header"),
    ],
)
def test_a_damaged_checkpoint_is_named(tmp_path, change, problem):
    (tmp_path / WEIGHTS.name).write_bytes(change(WEIGHTS.read_bytes()))
    section = examine(replace(HIBARI, built_in=tmp_path))
    assert not section.facts["usable"] and section.facts["lacks"] == ["a checkpoint"]
    assert section.findings[0].level == "error" and problem in section.findings[0].what


def test_a_missing_checkpoint(tmp_path):
    section = examine(replace(HIBARI, built_in=tmp_path / "gone"))
    assert not section.facts["usable"] and "files are missing" in section.findings[0].what


def test_an_engine_whose_checkpoints_the_user_brings(tmp_path):
    bring = replace(HIBARI, built_in=None, weights_source="its publisher")
    outside, without = examine(bring, None), examine(bring, {})
    assert outside.facts["usable"] is None and outside.facts["models"] is None
    (finding,) = outside.findings
    assert finding.what == "hibari can run here; whether it has a checkpoint is not known."
    assert without.facts["lacks"] == ["a checkpoint"] and "its publisher" in without.findings[0].fix
    whole = examine(bring, {"mine": HIBARI.built_in})
    assert whole.facts["usable"] and whole.facts["models"] == ["mine"]
    (tmp_path / "x.safetensors").write_bytes(b"")
    damaged = examine(bring, {"mine": tmp_path})
    assert not damaged.facts["usable"] and 'Model "mine" is damaged' in damaged.findings[0].what


def test_a_checkpoint_that_can_be_downloaded_is_named_with_its_repository():
    download = Download("Some-1B", "owner/Some-1B", 1)
    (finding,) = examine(replace(HIBARI, built_in=None, downloads=(download,)), {}).findings
    assert finding.fix == (
        'Choose "Some-1B (download)" or another in Load Speech Model, or get the files yourself '
        "from https://huggingface.co/owner/Some-1B and put them into models/tts/Some-1B."
    )


def test_missing_packages_are_what_it_lacks(monkeypatch):
    monkeypatch.setattr(engine, "_is_importable", lambda name: name != "torch")
    outside = examine(replace(HIBARI, built_in=None))
    assert outside.facts["usable"] is False and "cannot run here" in outside.findings[0].what
    section = examine(HIBARI)
    assert not section.facts["usable"] and section.facts["lacks"] == ["torch"]
    assert not any(finding.level == "ok" for finding in section.findings)


def test_optional_packages():
    wants = replace(HIBARI, extras=(Extra("fugashi", "Japanese"), Extra("jieba", "Chinese")))
    section = examine(wants, failures=lambda names: {"fugashi": "", "jieba": "it is not installed"})
    assert section.facts["extras"] == [
        {"name": "fugashi", "for": "Japanese", "importable": True},
        {"name": "jieba", "for": "Chinese", "importable": False},
    ]
    (finding,) = [finding for finding in section.findings if finding.level == "info"]
    assert "jieba cannot be imported: it is not installed" in finding.what and finding.why == "It is for Chinese."
    assert finding.fix.endswith(" -m pip install --no-deps jieba")
    assert section.facts["usable"], "an optional package is no condition"


def test_imports_are_tried_in_a_second_process(tmp_path):
    (tmp_path / "json5x_broken.py").write_text("raise OSError('library not found')")
    for name in ("json", "json5x_broken"):
        assert import_failures([name], really=False)[name] == ("" if name == "json" else "it is not installed")
    failures = import_failures(["json", "no_such_package"], str(tmp_path))
    assert failures == {"json": "", "no_such_package": "it is not installed"}


def test_a_package_that_is_there_but_broken(tmp_path, monkeypatch):
    (tmp_path / "quite_broken.py").write_text("raise OSError('library not found')")
    (tmp_path / "deadly.py").write_text("import os\nos._exit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    failures = import_failures(["quite_broken", "deadly", "json"], str(tmp_path))
    assert failures["quite_broken"] == "OSError: library not found"
    assert failures["deadly"].startswith("exit code 3") and failures["json"].startswith("exit code 3")


def test_whole_files_have_no_problem(tmp_path):
    assert checkpoint_problem([WEIGHTS]) == "" and checkpoint_problem([]) == ""
    assert "cannot be read" in checkpoint_problem([tmp_path / "gone.safetensors"])
