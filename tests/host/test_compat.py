"""Prompts that earlier releases could run, in today's pack; tests/browser/test_compat.py opens what they saved."""

import json
from pathlib import Path

import pytest
from mizuoto.tests.host import ear

RELEASES = sorted(path for path in (Path(__file__).resolve().parents[1] / "compat").iterdir() if path.is_dir())


@pytest.mark.usefixtures("qwen_models")
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_the_prompt_of_a_release_runs(comfy, release):
    prompt = json.loads((release / "api.json").read_text(encoding="utf-8"))
    with ear.installed(comfy):
        run = comfy.run(prompt)
    shown = {key for key, node in prompt.items() if node["class_type"] in {"PreviewAny", "PreviewAudio"}}
    assert shown <= set(run.outputs)
