"""Downloads from a hub on this machine: whole, cut, resumed, wrong, stopped, refused."""

import gc
import os
import shutil
import subprocess
import sys
import threading
import time
import types
from importlib import import_module
from pathlib import Path
from weakref import ref

import pytest
import torch
from mizuoto import engines
from mizuoto.engines.base import Companion, Download, LoadSpec
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.errors import Cancelled, ModelFileError, Unsupported
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.host.fake_hub import FakeHub

ROOT = Path(__file__).resolve().parents[3]
REPO, NAME = "mizuoto/tiny", "Tiny-Voice"
WEIGHTS, CODEC = "model.safetensors", "speech_tokenizer/model.safetensors"
CHUNK = 1 << 18
WANTED = {
    "config.json": b'{"a": 1}',
    "merges.txt": b"a b\n" * 50,
    WEIGHTS: os.urandom(6 * CHUNK + 17),
    "speech_tokenizer/config.json": b"",
    CODEC: os.urandom(CHUNK),
}
UNWANTED = {
    "modeling.py": b"raise SystemExit",
    "model.fp32-00001-of-00002.safetensors": b"twice",
    "pytorch_model.bin": b"pickle",
    "a.md": b"#",
    ".gitattributes": b"",
}
SIZE = sum(map(len, WANTED.values()))
DOWNLOAD = Download(NAME, REPO, SIZE)


@pytest.fixture
def hub(ask):
    with FakeHub({REPO: WANTED | UNWANTED}) as server:
        ask(server)
        yield server


@pytest.fixture
def downloads(packages_without_comfyui, monkeypatch):
    from mizuoto.nodes.host import downloads

    monkeypatch.setattr(downloads, "_PAUSE_S", 0.001)
    monkeypatch.setattr(downloads, "_POLL_S", 0.01)
    return downloads


@pytest.fixture
def fetch(downloads, tmp_path):
    def fetch(on_progress=lambda done, total: None, on_check=lambda: None):
        return downloads.fetch(DOWNLOAD, tmp_path / "tts", on_progress, on_check)

    return fetch


def content(folder):
    return {str(path.relative_to(folder).as_posix()): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left_behind(root):
    return sorted(path.name for path in (root / "tts").iterdir())


def settled(downloads):
    """Wait for the threads of stopped jobs."""
    for job in downloads.jobs():
        assert job._ended.wait(5)


def test_a_whole_model_arrives_and_nothing_else(hub, fetch, tmp_path):
    seen = []
    folder = fetch(on_progress=lambda done, total: seen.append((done, total)))
    assert content(folder) == WANTED
    assert left_behind(tmp_path) == [NAME]
    assert seen[-1] == (SIZE, SIZE) and seen == sorted(seen)
    assert sum(hub.sent_bytes.values()) == SIZE
    assert not any(path.is_symlink() for path in folder.rglob("*"))


def test_what_is_there_is_not_asked_for_again(hub, fetch):
    fetch()
    asked = len(hub.requests)
    fetch()
    assert len(hub.requests) == asked


def test_a_cut_connection_goes_on_where_it_broke(hub, fetch):
    hub.cut_after[WEIGHTS] = 3 * CHUNK
    assert content(fetch()) == WANTED
    assert [each.start for each in hub.requests if each.path.startswith("/stored") and WEIGHTS in each.path][:2] == [
        None,
        3 * CHUNK,
    ]
    assert hub.sent_bytes[WEIGHTS] == len(WANTED[WEIGHTS])


def test_a_server_without_ranges_is_no_trouble(hub, fetch):
    hub.cut_after[WEIGHTS], hub.has_ranges = 3 * CHUNK, False
    assert content(fetch()) == WANTED


@pytest.mark.parametrize("where", [REPO, WEIGHTS])
def test_a_busy_hub_is_asked_again(hub, fetch, where):
    hub.statuses[where] = [503, 429]
    assert content(fetch()) == WANTED


def test_a_hub_that_stays_away_says_so_and_keeps_what_is_there(hub, fetch, tmp_path):
    hub.statuses[WEIGHTS] = [500] * 5
    with pytest.raises(
        ModelFileError,
        match=rf'download "{NAME}" \(0\.00 GB of .*HTTP 500\); check the connection, .* start it again to go on',
    ):
        fetch()
    assert (tmp_path / "tts" / f".{NAME}.download" / "merges.txt").is_file()
    sent = hub.sent_bytes["merges.txt"]
    assert content(fetch()) == WANTED
    assert hub.sent_bytes["merges.txt"] == sent


def test_a_failed_download_leaves_nothing_behind_and_holds_nobodys_frames(hub, fetch, tmp_path):  # P01
    class Model:
        pass

    def node():
        model = Model()  # what a host's cache has on the stack while the node runs
        models.append(ref(model))
        fetch()

    models = []
    hub.statuses[REPO] = [500] * 5
    with pytest.raises(ModelFileError) as caught:
        node()
    del caught
    gc.collect()
    assert models[0]() is None
    assert list((tmp_path / "tts").iterdir()) == []


@pytest.mark.parametrize(
    ("status", "what"), [(401, "asks for a token"), (403, "asks for a token"), (404, "has it not")]
)
def test_a_repository_that_is_kept_back_or_gone(hub, fetch, status, what):
    hub.statuses[REPO] = [status]
    with pytest.raises(ModelFileError, match=what):
        fetch()
    assert len(hub.requests) == 1


@pytest.mark.parametrize("lie", [bytes(len(WANTED[CODEC])), WANTED[CODEC] + b"more", b"<html>"])
def test_a_wrong_file_is_refused_and_deleted(hub, fetch, tmp_path, lie):
    hub.lies[CODEC] = lie
    with pytest.raises(ModelFileError, match=f'"{CODEC}" came with a wrong checksum|connection ended early|cannot be'):
        fetch()
    assert not (tmp_path / "tts" / NAME).exists()
    hub.lies.clear()
    assert content(fetch()) == WANTED


def test_a_wrong_small_file_is_refused_too(hub, fetch):
    hub.lies["config.json"] = b'{"a": 2}'
    with pytest.raises(ModelFileError, match=r'"config\.json" came with a wrong checksum and was deleted'):
        fetch()


@pytest.mark.parametrize("rest", [b"of another commit", bytes(len(WANTED[WEIGHTS])), bytes(len(WANTED[WEIGHTS]) + 1)])
def test_a_rest_that_does_not_fit_is_fetched_anew(hub, fetch, tmp_path, rest):
    partial = tmp_path / "tts" / f".{NAME}.download"
    partial.mkdir(parents=True)
    (partial / WEIGHTS).write_bytes(rest)
    assert content(fetch()) == WANTED


def test_a_listing_without_checksums_is_refused(hub, fetch):
    hub.tells_checksums = False
    with pytest.raises(ModelFileError, match="does not tell size and checksum"):
        fetch()


@pytest.mark.parametrize(
    "name", ["../out.json", "a/../../out.json", "/etc/out.json", "a\\out.json", "C:/out.json", "a./out.json"]
)
def test_no_name_leaves_the_folder(hub, fetch, tmp_path, name):
    hub.repos[REPO] = WANTED | {name: b"{}"}
    with pytest.raises(ModelFileError, match="no safe path"):
        fetch()
    assert not hub.sent_bytes and not list(tmp_path.rglob("out.json"))


@pytest.mark.parametrize(
    "name",
    [
        *("NUL.json", "con.json", "com1.txt", "COM\u00b9.txt", "LPT9.a.json", "aux /x.json", "a/prn/x.json"),
        *("CONIN$.txt", "a /x.json", "a\n.json", "a?.json", "x//y.json", "./x.json"),
    ],
)
def test_no_name_means_something_else_on_windows(downloads, tmp_path, name):
    with pytest.raises(ModelFileError, match="no safe path"):
        downloads._inside(tmp_path, name)


@pytest.mark.parametrize("name", ["config.json", "speech_tokenizer/model.safetensors", "console.json", ".a/com10.txt"])
def test_plain_names_are_taken(downloads, tmp_path, name):
    assert downloads._inside(tmp_path, name) == tmp_path / name


def test_a_link_in_the_partial_folder_leads_nowhere(hub, fetch, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "tts" / f".{NAME}.download").mkdir(parents=True)
    (tmp_path / "tts" / f".{NAME}.download" / "speech_tokenizer").symlink_to(tmp_path / "outside")
    with pytest.raises(ModelFileError, match="no safe path"):
        fetch()
    assert not list((tmp_path / "outside").iterdir())


def test_an_interrupt_is_noticed_at_once_and_the_rest_is_used(hub, downloads, fetch, tmp_path):
    hub.rate_bytes = 2 * CHUNK

    def interrupt():
        if downloads.jobs()[-1].done_bytes > 2 * CHUNK:
            raise KeyError("interrupted")

    with pytest.raises(KeyError):
        fetch(on_check=interrupt)
    settled(downloads)
    time.sleep(0.3)  # the server notices
    partial = tmp_path / "tts" / f".{NAME}.download" / WEIGHTS
    there, sent = partial.stat().st_size, hub.sent_bytes[WEIGHTS]
    assert CHUNK < there < len(WANTED[WEIGHTS]) and not (tmp_path / "tts" / NAME).exists()
    hub.rate_bytes = 0
    assert content(fetch()) == WANTED
    assert hub.sent_bytes[WEIGHTS] - sent == len(WANTED[WEIGHTS]) - there  # nothing that was there came again


def test_waiting_ends_at_once_when_the_server_is_silent(hub, downloads, tmp_path):
    hub.rate_bytes = 1000  # a minute a piece
    job = downloads.start(DOWNLOAD, tmp_path / "tts")
    while not hub.sent_bytes.get(WEIGHTS):
        time.sleep(0.01)
    begin = time.monotonic()
    downloads.leave(job)
    with pytest.raises(Cancelled, match="was stopped; choose it again"):
        job.wait(5)
    assert time.monotonic() - begin < 1 and job.state == "stopped"


def test_a_stopped_job_hangs_up(hub, downloads, tmp_path):
    hub.rate_bytes = 2 * CHUNK
    job = downloads.start(DOWNLOAD, tmp_path / "tts")
    while job.done_bytes < CHUNK:
        time.sleep(0.01)
    downloads.leave(job)
    settled(downloads)
    time.sleep(0.3)
    sent = hub.sent_bytes[WEIGHTS]
    time.sleep(0.5)
    assert hub.sent_bytes[WEIGHTS] == sent


def test_two_who_want_the_same_share_one_job(hub, downloads, fetch, tmp_path):
    hub.rate_bytes = 16 * CHUNK
    folders = []
    threads = [threading.Thread(target=lambda: folders.append(fetch())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(folders) == 3 and content(folders[0]) == WANTED
    assert sum(hub.sent_bytes.values()) == SIZE


def test_one_of_two_may_leave(hub, downloads, tmp_path):
    hub.rate_bytes = 16 * CHUNK
    first, second = (downloads.start(DOWNLOAD, tmp_path / "tts") for _ in range(2))
    assert first is second
    downloads.leave(first)
    assert second.wait(20) and second.state == "done"


def test_stopped_and_asked_for_again_at_once(hub, downloads, fetch, tmp_path):
    hub.rate_bytes = 4 * CHUNK
    job = downloads.start(DOWNLOAD, tmp_path / "tts")
    while not hub.sent_bytes.get(WEIGHTS):
        time.sleep(0.01)
    downloads.leave(job)
    hub.rate_bytes = 0
    assert content(fetch()) == WANTED  # the new job waits for the old one's lock


def test_a_full_disk_is_told_before_anything_is_fetched(hub, fetch, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: types.SimpleNamespace(free=30_000_000))
    with pytest.raises(ModelFileError, match=r"needs 0\.07 GB more on the disk of .*/tts\" and 0\.03 GB is free"):
        fetch()
    assert not hub.sent_bytes


def test_a_root_that_cannot_be_written(hub, fetch, tmp_path):
    (tmp_path / "tts").write_text("a file")
    with pytest.raises(ModelFileError, match=r'/tts" cannot be written \('):
        fetch()
    assert not hub.requests


def test_offline_is_respected(hub, fetch, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unsupported, match="HF_HUB_OFFLINE"):
        fetch()
    assert not hub.requests and not (tmp_path / "tts").exists()


def test_a_missing_package_says_what_to_install(hub, fetch, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Unsupported, match=r"not installed; install it with: python -m pip install -U huggingface_hub"):
        fetch()


def test_an_old_package_says_what_to_install(hub, fetch, monkeypatch):
    monkeypatch.setattr("huggingface_hub.__version__", "0.16.4")
    with pytest.raises(Unsupported, match=r"0\.30 or newer, and 0\.16\.4 is installed"):
        fetch()


@pytest.mark.parametrize("version", ["1.0rc1", "0.30.0.dev0", "2"])
def test_every_form_of_version_is_understood(hub, fetch, monkeypatch, version):
    monkeypatch.setattr("huggingface_hub.__version__", version)
    assert content(fetch()) == WANTED


CHILD = """
import importlib, sys, types
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
root, target, name, repo = sys.argv[1:]
for package, folder in (("mizuoto", ""), ("mizuoto.nodes", "nodes"), ("mizuoto.nodes.host", "nodes/host")):
    module = sys.modules[package] = types.ModuleType(package)
    module.__path__ = [str(Path(root, folder))]
downloads = importlib.import_module("mizuoto.nodes.host.downloads")
assert "huggingface_hub" not in sys.modules
download = importlib.import_module("mizuoto.engines.base").Download(name, repo, 1)
downloads.fetch(download, Path(target), lambda done, total: None, lambda: None)
"""


def child(hub, target):
    env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1"}
    return subprocess.Popen([sys.executable, "-c", CHILD, str(ROOT), str(target), NAME, REPO], env=env)


def test_a_killed_process_leaves_a_rest_that_the_next_one_uses(hub, tmp_path):
    hub.rate_bytes = 2 * CHUNK
    process = child(hub, tmp_path)
    partial = tmp_path / f".{NAME}.download" / WEIGHTS
    while not partial.is_file() or partial.stat().st_size < 2 * CHUNK:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    there, hub.rate_bytes = partial.stat().st_size, 0
    time.sleep(0.3)  # the server notices
    sent = hub.sent_bytes[WEIGHTS]
    assert child(hub, tmp_path).wait(60) == 0
    assert content(tmp_path / NAME) == WANTED
    assert hub.sent_bytes[WEIGHTS] - sent <= len(WANTED[WEIGHTS]) - there


def test_two_processes_do_not_disturb_each_other(hub, tmp_path):
    hub.rate_bytes = 4 * CHUNK
    both = [child(hub, tmp_path) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert content(tmp_path / NAME) == WANTED
    assert sum(hub.sent_bytes.values()) == SIZE


def test_pickled_weights_come_only_where_the_engine_asks_for_them(downloads, hub, tmp_path):
    asked = Download(NAME, REPO, SIZE, (".safetensors", ".bin"))
    folder = downloads.fetch(asked, tmp_path / "tts", lambda done, total: None, lambda: None)
    assert content(folder) == WANTED | {"pytorch_model.bin": UNWANTED["pytorch_model.bin"]}


def test_a_folder_of_a_repository_with_files_of_another(hub, downloads, tmp_path):
    files = {"config.yaml": b"a: 1", "pytorch_model.bin": os.urandom(2 * CHUNK)}
    hub.repos |= {"mizuoto/vocoder": files | {"other.bin": b"unwanted"}}
    hub.repos[REPO] = {f"v1/{path}": content for path, content in WANTED.items()} | {"v2/config.json": b"", **UNWANTED}
    asked = Download(NAME, REPO, 1, folder="v1", companions=(Companion("mizuoto/vocoder", tuple(files), "vocoder"),))
    hub.cut_after["pytorch_model.bin"] = CHUNK
    seen = []
    folder = downloads.fetch(asked, tmp_path / "tts", lambda *counts: seen.append(counts), lambda: None)
    assert content(folder) == WANTED | {f"vocoder/{path}": content for path, content in files.items()}
    assert seen[-1] == (SIZE + sum(map(len, files.values())),) * 2
    assert hub.sent_bytes["pytorch_model.bin"] == 2 * CHUNK and "other.bin" not in hub.sent_bytes

    shutil.rmtree(folder)
    hub.repos["mizuoto/vocoder"].pop("config.yaml")
    with pytest.raises(ModelFileError, match=r'"mizuoto/vocoder" on http.* has no file "config\.yaml"'):
        downloads.fetch(asked, tmp_path / "tts", lambda *_: None, lambda: None)
    assert left_behind(tmp_path) == []


LAYOUTS = {"VoxCPM-0.5B": ("0.5B",), "VoxCPM1.5": ("1.5",)}  # what `build` is told where files differ
OFFERED = [
    (manifest, download)
    for manifest in engines.manifests().values()
    for download in manifest.downloads
    if download is manifest.downloads[0] or download.name in LAYOUTS
]


@pytest.mark.parametrize(("manifest", "download"), OFFERED, ids=[download.name for _, download in OFFERED])
def test_what_engines_ask_for_is_a_model_of_theirs(hub, downloads, tmp_path, manifest, download):
    """Of a repository that holds the official files and other things, all that is needed and nothing that runs."""
    (tmp_path / "official").mkdir()
    import_module(f"mizuoto.tests.engines.{manifest.id}.tiny").build(
        tmp_path / "official", *LAYOUTS.get(download.name, ())
    )
    files = content(tmp_path / "official")
    hub.repos[download.repo] = dict(UNWANTED)
    for companion in download.companions:
        hub.repos[companion.repo] = {path: files.pop(f"{companion.folder}/{path}") for path in companion.files}
    above = f"{download.folder}/" if download.folder else ""
    hub.repos[download.repo] |= {f"{above}{path}": content for path, content in files.items()}
    folder = downloads.fetch(download, tmp_path / "tts", lambda *_: None, lambda: None)
    assert not {"modeling.py", "a.md"} & content(folder).keys()
    assert engines.recognise(folder) is manifest
    engines.engine(manifest.id).load(LoadSpec(download.name, folder, CPU, torch.float32), Runtime())
