"""A fake ComfyUI and batches of a few lines for it."""

import json

import pytest
from mizuoto.cli.batch.items import Line
from mizuoto.cli.batch.ledger import Ledger
from mizuoto.cli.batch.runner import Runner
from mizuoto.cli.batch.server import Server
from mizuoto.cli.batch.workflow import Workflow
from mizuoto.tests.cli.batch.fake import WORKFLOW, FakeComfy, serving


@pytest.fixture
def comfy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    fake = FakeComfy()
    with serving(fake) as fake.url:
        yield fake


@pytest.fixture
def workflow(tmp_path):
    path = tmp_path / "api.json"
    path.write_text(json.dumps(WORKFLOW), encoding="utf-8")
    return Workflow.load(path)


@pytest.fixture
def requests_of(workflow, tmp_path):
    """Requests for texts: `requests_of("One.", "Two.")`; a dict gives ids."""

    def make(*texts, **named):
        values = [{"text": text} for text in texts] + [{"id": name, "text": text} for name, text in named.items()]
        lines = [Line(number, value.get("id", str(number)), value) for number, value in enumerate(values, 1)]
        return workflow.requests(tmp_path / "lines.csv", lines, workflow.targets(["text"]))

    return make


@pytest.fixture
def batch(comfy, tmp_path):
    """Runs requests to their end and gives back the tally; `said` holds the lines for the user."""

    class Batch:
        folder = tmp_path / "out"
        said = []  # noqa: RUF012

        def __call__(self, requests, folder=None, **options):
            options = {"sleep": lambda _: None, "say": self.said.append, **options}
            with Ledger(folder or self.folder) as ledger:
                return Runner(Server(comfy.url), ledger, requests, **options).run()

        def files(self, folder=None):
            return {path.name: path.read_bytes() for path in (folder or self.folder).glob("*.flac")}

        def manifest(self):
            return [json.loads(line) for line in (self.folder / "manifest.jsonl").read_text("utf-8").splitlines()]

    Batch.said = []
    return Batch()
