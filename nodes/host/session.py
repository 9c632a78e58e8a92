"""The process's runtime under ComfyUI, and the request of the node that is running now."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import comfy.model_management as mm
import comfyui_version
import folder_paths
import torch

from ... import engines
from ...engines.base import LoadSpec
from ...mizuoto_runtime import VERSION
from ...mizuoto_runtime.attention import features
from ...mizuoto_runtime.context import RequestContext
from ...mizuoto_runtime.device import DeviceService
from ...mizuoto_runtime.runtime import Model, Runtime
from ...mizuoto_runtime.settings import Settings
from . import downloads, folders
from .memory import ComfyMemory
from .pinning import pinned_copies, pins
from .progress import byte_hooks, request_hooks, running_prompt
from .prompts import between_prompts
from .runtime_events import Announcer
from .settings import preferences

_building = threading.RLock()


def runtime() -> Runtime:
    """The one runtime, built by whichever thread needs it first: ComfyUI's worker, or the server's (S005)."""
    with _building:
        return _runtime()


@cache
def _runtime() -> Runtime:
    kept = Path(folder_paths.get_user_directory()) / "mizuoto" / "memory" / "calibration.json"
    return Runtime(
        Settings.of(preferences().values("compute.")),
        memory=ComfyMemory(announcer().changed),
        pins=pins(),
        pinned_copies=pinned_copies(),
        calibration_path=kept,
        has_host=True,
        pause=between_prompts,
        on_change=announcer().changed,
    )


@cache
def announcer() -> Announcer:
    """Tells the pages of the runtime's changes."""
    return Announcer(lambda: runtime().snapshot())


def follow_settings() -> None:
    """Let the runtime, if there is one yet, go by what the user has set by now."""
    if _runtime.cache_info().currsize:
        runtime().change(Settings.of(preferences().values("compute.")))


@cache
def device_choices() -> tuple[str, ...]:
    """The choices of a device widget: auto, then the devices that ComfyUI itself would use."""
    if mm.cpu_state != mm.CPUState.GPU and mm.cpu_state != mm.CPUState.MPS:  # started with --cpu
        return ("auto", "cpu")
    return ("auto", *map(str, DeviceService().available()))


def load_model(name: str, device: str, dtype: str, attention: str = "auto") -> Model:
    """The model chosen as `name`, loaded; the same object while somebody holds it and its files are the same.

    A "<name> (download)" that is not installed is fetched first, into the default folder.

    Raises:
        InvalidRequest: Unknown model, device or dtype.
        ComputeUnavailable: The device is not usable here.
        Unsupported: It would have to be fetched and that is not possible here.
        ModelFileError: The checkpoint cannot be fetched or read.
    """
    host, found = runtime(), folders.find_model(name)
    target = mm.get_torch_device() if device == "auto" else host.devices.require(host.devices.parse(device))
    manifest = found.manifest
    chosen = host.devices.pick_dtype(target, dtype, manifest.dtypes, f'Engine "{manifest.id}"')
    installed = _fetched(found) if isinstance(found, folders.MissingModel) else found
    spec = LoadSpec(installed.name, installed.folder, target, chosen)
    key = (installed.folder, folders.fingerprint(installed.folder), str(target), str(spec.dtype), attention)
    model = host.model(key, installed.name, lambda: engines.engine(manifest.id).load(spec, host), attention)
    _ = model.engine  # a broken checkpoint must fail in the node that names it
    return model


def _fetched(missing: folders.MissingModel) -> folders.InstalledModel:
    downloads.fetch(missing.download, folders.default_root(), *byte_hooks())
    folders.refresh()
    found = folders.find_model(missing.choice)
    if isinstance(found, folders.MissingModel):
        raise folders.incomplete(missing)
    return found


@contextmanager
def request_without_model(task: str) -> Iterator[RequestContext]:
    """The running node's request that needs no model: interruptible, timed, its report filled in."""
    ctx = runtime().context(0, running_prompt(), **request_hooks(announcer().tick))
    report = ctx.report
    start = time.perf_counter()
    report.task, report.device, report.versions = task, "cpu", _versions()
    yield ctx
    report.timings_ms["total"] = (time.perf_counter() - start) * 1e3


@contextmanager
def request(model: Model, task: str, seed: int = 0) -> Iterator[RequestContext]:
    """The running node's request on `model`: locked for this request, interruptible, timed, its report filled in."""
    host = runtime()
    ctx = host.context(seed, running_prompt(), **request_hooks(announcer().tick))
    report = ctx.report
    start = time.perf_counter()
    host.tidy(keep=model)
    switches = features.parse(host.settings.fast)
    with ctx.journal.request(), model.lock, features.applied(switches):
        manifest = model.engine.manifest
        report.task, report.engine, report.model = task, manifest.id, model.name
        report.weights_license = manifest.weights_license
        report.device = ", ".join(sorted({str(handle.load_device) for handle in model.handles}))
        report.dtype = ", ".join(sorted({handle.dtype_name for handle in model.handles}))
        report.versions = _versions()
        model.attention.reset()
        yield ctx
        report.params["attention"] = model.attention.as_data()
        if switches:
            report.params["fast"] = list(switches)
    host.tidy(keep=model)
    report.timings_ms["total"] = (time.perf_counter() - start) * 1e3


def _versions() -> dict[str, str]:
    return {"mizuoto": VERSION, "torch": torch.__version__, "comfyui": comfyui_version.__version__}
