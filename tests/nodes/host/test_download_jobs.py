"""Downloads as the page sees them: what it is told, in which order, and what is left when they end."""

import asyncio
import itertools
import os
import shutil
import threading
import types
from dataclasses import replace
from importlib import import_module

import pytest
from mizuoto.mizuoto_runtime.errors import ModelFileError, Unsupported
from mizuoto.tests.host.fake_hub import FakeHub

REPO, NAME, WEIGHTS = "mizuoto/tiny", "Tiny-Voice", "model.safetensors"
CHUNK = 1 << 18
FILES = {"config.json": b"{}", WEIGHTS: os.urandom(6 * CHUNK)}
SIZE = sum(map(len, FILES.values()))


@pytest.fixture
def hub(ask):
    with FakeHub({REPO: FILES}) as server:
        ask(server)
        yield server


@pytest.fixture
def page(folders, monkeypatch):
    """Runs a coroutine function with (jobs, model, told): `told` is what a page was told so far."""
    from mizuoto import engines
    from mizuoto.engines.base import Download

    manifest = replace(
        engines.manifests()["hibari"],
        downloads=(Download(NAME, REPO, SIZE),),
        recognise=lambda folder: (folder / WEIGHTS).is_file(),
    )
    monkeypatch.setattr(folders.engines, "manifests", lambda: {"hibari": manifest})
    monkeypatch.setattr(folders.engines, "recognise", lambda folder: manifest if manifest.recognise(folder) else None)
    module = import_module("mizuoto.nodes.host.download_jobs")
    monkeypatch.setattr(module, "_INTERVAL_S", 0.01)

    def run(story):
        async def told_story():
            told = []
            jobs = module.DownloadJobs(asyncio.get_running_loop(), lambda _, message: told.append(message))
            await story(jobs, folders.official_models()[NAME], told)

        asyncio.run(told_story())

    return run


async def until(told, state, done_bytes=0):
    """Wait for the state; what was told then."""
    for _ in range(3000):
        if told and told[-1]["state"] == state and told[-1]["done_bytes"] >= done_bytes:
            return told[-1]
        await asyncio.sleep(0.01)
    raise AssertionError(told[-3:])


def left_behind(root):
    return sorted(path.name for path in (root / "tts").iterdir())


def test_everything_is_told_once_and_in_order_and_nothing_goes_on(hub, page, tmp_path):
    async def story(jobs, model, told):
        hub.hold(WEIGHTS, 3 * CHUNK)
        first, second = await asyncio.gather(jobs.start(model), jobs.start(model))
        assert first["state"] == second["state"] == "running"
        running = await until(told, "running", 3 * CHUNK)
        assert running["total_bytes"] == SIZE and running["error"] == running["installed"] == ""
        hub.release()
        assert (await until(told, "done"))["installed"] == NAME
        numbers = [message["number"] for message in told]
        assert numbers == sorted(set(numbers)) and jobs.number == numbers[-1]
        bare = [{**message, "number": 0} for message in told]
        assert all(one != other for one, other in itertools.pairwise(bare))
        assert {message["state"] for message in told[:-1]} == {"running"}
        assert not jobs._watches and not jobs._held
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("mizuoto download")]

        assert (await jobs.start(model))["state"] == "done"
        assert hub.sent_bytes[WEIGHTS] == len(FILES[WEIGHTS])
        shutil.rmtree(tmp_path / "tts" / NAME)  # by somebody
        assert jobs.describe(model) is None

    page(story)
    assert left_behind(tmp_path) == []


def test_a_node_and_the_page_share_a_job_that_goes_on_without_the_node(hub, page):
    async def story(jobs, model, told):
        from mizuoto.nodes.host import downloads, folders

        hub.hold(WEIGHTS, CHUNK)
        job = downloads.start(model.download, folders.default_root())
        await until(told, "running", CHUNK)  # the page is told of a node's, too
        await jobs.start(model)
        downloads.leave(job)
        hub.release()
        await until(told, "done")
        assert len(downloads.jobs()) == 1 and hub.sent_bytes[WEIGHTS] == len(FILES[WEIGHTS])

    page(story)


def test_pausing_keeps_and_cancelling_removes(hub, page, tmp_path):
    async def story(jobs, model, told):
        hub.hold(WEIGHTS, 2 * CHUNK)
        await jobs.start(model)
        await until(told, "running", 2 * CHUNK)
        assert jobs.pause(model)["state"] == "paused"
        with pytest.raises(Unsupported, match="nothing to pause"):
            jobs.pause(model)
        assert jobs.describe(model)["done_bytes"] >= 2 * CHUNK
        hub.hold(WEIGHTS, 4 * CHUNK)
        resumed = await jobs.start(model)
        assert resumed["state"] == "running"
        await until(told, "running", 4 * CHUNK)
        since = next(index for index, message in enumerate(told) if message["state"] == "paused")
        assert min(message["done_bytes"] for message in told[since:]) >= 2 * CHUNK  # the bar does not jump back
        cancelling = asyncio.create_task(jobs.cancel(model))
        await asyncio.sleep(0)
        with pytest.raises(Unsupported, match="being cancelled"):
            await jobs.start(model)
        hub.release()
        assert (await cancelling)["state"] == told[-1]["state"] == "cancelled"
        assert jobs.describe(model) is None

    page(story)
    assert left_behind(tmp_path) == []


def test_another_process_that_downloads_is_not_robbed(hub, page, monkeypatch, tmp_path):
    async def story(jobs, model, told):
        from mizuoto.nodes.host import download_jobs
        from mizuoto.nodes.host import hub as client

        monkeypatch.setattr(download_jobs, "_PATIENCE_S", 0.0)
        partial = tmp_path / "tts" / f".{NAME}.download"
        partial.mkdir()
        with (
            client.lock(partial.with_name(f"{partial.name}.lock"), lambda: None),
            pytest.raises(ModelFileError, match="Another ComfyUI goes on"),
        ):
            await jobs.cancel(model)
        assert partial.is_dir() and jobs.describe(model)["state"] == "paused"

    page(story)


def test_a_full_disk_is_told_before_a_byte_is_fetched(hub, page, monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: types.SimpleNamespace(free=30_000_000))

    async def story(jobs, model, told):
        await jobs.start(model)
        failed = await until(told, "failed")
        assert "more on the disk of" in failed["error"] and jobs.describe(model)["error"] == failed["error"]
        assert (await jobs.cancel(model))["state"] == "cancelled" and jobs.describe(model) is None

    page(story)
    assert not hub.sent_bytes and left_behind(tmp_path) == []
