"""What several commands share."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import torch

    from ..mizuoto_runtime.device import DeviceService
    from ..mizuoto_runtime.preferences import Preferences

# What `add_subparsers` gives; it has no public name.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_device(parser: argparse.ArgumentParser) -> None:
    """The argument --device."""
    parser.add_argument(
        "--device", default="cpu", help="auto (the first accelerator, if there is one), cpu, cuda:0, xpu:0 or mps"
    )


def device(devices: DeviceService, name: str) -> torch.device:
    """The device that --device names.

    Raises:
        InvalidRequest: It names none.
        ComputeUnavailable: It cannot be used here.
    """
    return devices.available()[0] if name == "auto" else devices.require(devices.parse(name))


def preferences() -> Preferences:
    """What the user has set: by the environment and, where the pack lies in a ComfyUI, in ComfyUI's page."""
    from .. import engines
    from ..engines.defaults import option_settings
    from ..mizuoto_runtime.preferences import Preferences
    from ..mizuoto_runtime.settings import COMPUTE

    pack = Path(__file__).parents[1]
    file = pack.parents[1] / "user" / "mizuoto" / "settings.json" if pack.parent.name == "custom_nodes" else None
    return Preferences([*COMPUTE, *option_settings(engines.manifests().values())], file)


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Fail before the work if `path` cannot be written; if the work fails, leave no new file and keep an old one."""
    is_new = not path.exists()
    path.open("ab").close()
    try:
        yield
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise
