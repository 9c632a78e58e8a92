"""Every error the pack raises on purpose, and how to tell that device memory ran out. Imports no torch (S013)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class MizuotoError(Exception):
    """One sentence for the user (what, why, what to change), a `code` and a `detail` for machines.

    `code` is one of the stable codes of the run report; `detail` must be JSON-serialisable.
    """

    code = "engine_error"

    def __init__(self, message: str, detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.detail: dict[str, Any] = detail or {}


class EngineError(MizuotoError):
    """An engine could not do what it was asked."""


class InvalidRequest(MizuotoError):  # noqa: N818 - reads as the sentence it carries
    """The input is at fault: empty text, an unknown voice, a value out of range."""

    code = "invalid_request"


class SettingIsFixed(InvalidRequest):
    """A setting cannot be changed from here: the one who started the server has fixed it."""


class NothingToSay(InvalidRequest):
    """A piece of text holds nothing that this engine can say; other pieces of the same text may."""


class ModelFileError(MizuotoError):
    """A model folder or checkpoint is missing, damaged or of another architecture."""

    code = "invalid_request"


class Unsupported(MizuotoError):  # noqa: N818
    """The engine or this device has no such capability."""

    code = "capability_not_supported"


class ComputeUnavailable(MizuotoError):  # noqa: N818
    """A device cannot be used for this request."""

    code = "compute_unavailable"


class OutOfDeviceMemory(ComputeUnavailable):
    """An allocation failed for good: exact retries did not help."""


class Cancelled(MizuotoError):  # noqa: N818
    """The request was cancelled by its owner."""

    code = "cancelled"


class OperationTimeout(MizuotoError):  # noqa: N818
    """The request passed its deadline."""

    code = "timeout"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """` Did you mean "Vivian"?` for a name that resembles a known one, else nothing; goes behind a full sentence."""
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(given.casefold(), folded, n=1)
    return f' Did you mean "{folded[close[0]]}"?' if close else ""


_OOM_CLASSES = frozenset({"OutOfMemoryError", "SimulatedOutOfMemory"})
_OOM_TEXTS = (
    "out of memory",  # CUDA, HIP, XPU, MPS
    "ur_result_error_out_of_device_memory",
    "ur_result_error_out_of_resources",
    "hiperroroutofmemory",
    "cudaerrormemoryallocation",
    "status_alloc_failed",  # cuBLAS and cuDNN handles and workspaces
)


def is_oom(error: BaseException) -> bool:
    """Whether `error` says that a device ran out of memory, told by class name and text alone.

    Our own `OutOfDeviceMemory` is the end of the retries, not an occasion for one, and does not count.
    """
    if isinstance(error, MizuotoError):
        return False
    if any(base.__name__ in _OOM_CLASSES for base in type(error).__mro__):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(mark in text for mark in _OOM_TEXTS)
