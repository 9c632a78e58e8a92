"""What earlier releases saved, opened and run in today's page; tests/host/test_compat.py runs their prompts."""

import json
import re
from pathlib import Path

import pytest
from mizuoto.tests.browser import steps
from mizuoto.tests.host import ear

ROOT = Path(__file__).resolve().parents[2]
RELEASES = sorted(path for path in (ROOT / "tests" / "compat").iterdir() if path.is_dir())


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_the_workflow_of_a_release_opens_and_runs_as_it_did(page, page_host, release):
    prompt = json.loads((release / "api.json").read_text(encoding="utf-8"))
    with ear.installed(page_host):
        steps.load(page, release / "ui.json", release.name)
        opened = steps.prompt_of(page)
        assert {key: node["class_type"] for key, node in opened.items()} == {
            key: node["class_type"] for key, node in prompt.items()
        }
        for key, node in prompt.items():  # inputs that are new since have their defaults
            assert node["inputs"].items() <= opened[key]["inputs"].items(), (key, node["class_type"])
        run = steps.run(page, page_host)
    assert run.outputs


def test_this_release_is_kept():
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version in {path.name for path in RELEASES}
