"""Torch's process-wide speed switches: set on request only, and put back (S034, S218).

Each changes results a little. The default of the pack is "host": whoever started the process decides, and nothing
here is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch

from ..errors import InvalidRequest, Unsupported

HOST = "host"


@dataclass(frozen=True, slots=True)
class _Flag:
    """One of torch's flags; both functions raise AttributeError where this torch has no such flag."""

    read: Callable[[], bool]
    write: Callable[[bool], None]


def _attribute(owner: object, name: str) -> _Flag:
    return _Flag(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


_CUDA = torch.backends.cuda
_FLAGS: dict[str, tuple[_Flag, ...]] = {
    "tf32": (_attribute(_CUDA.matmul, "allow_tf32"), _attribute(torch.backends.cudnn, "allow_tf32")),
    "fp16_accumulation": (_attribute(_CUDA.matmul, "allow_fp16_accumulation"),),
    "cudnn_benchmark": (_attribute(torch.backends.cudnn, "benchmark"),),
    "sdpa_reduced_precision": (
        _Flag(
            lambda: _CUDA.fp16_bf16_reduction_math_sdp_allowed(),
            lambda value: _CUDA.allow_fp16_bf16_reduction_math_sdp(value),
        ),
    ),
}
SWITCHES = tuple(_FLAGS)


def parse(text: str) -> tuple[str, ...]:
    """The switches that a setting names: "host" for none, or names separated by commas.

    Raises:
        InvalidRequest: A name is unknown.
    """
    if text.strip() == HOST:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in SWITCHES:
            raise InvalidRequest(f'There is no fast switch "{name}"; use {HOST}, or some of {", ".join(SWITCHES)}.')
    return names


@contextmanager
def applied(switches: Iterable[str]) -> Iterator[None]:
    """A block in which these switches are on, for the whole process; afterwards all is as before.

    Raises:
        Unsupported: This torch has no such switch; none is set then.
    """
    with ExitStack() as undo:
        for name in switches:
            for flag in _FLAGS[name]:
                try:
                    before = flag.read()
                except AttributeError:
                    raise Unsupported(f'torch {torch.__version__} has no switch for "{name}".') from None
                undo.callback(flag.write, before)
                flag.write(True)
        yield
