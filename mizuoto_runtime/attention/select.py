"""Which kernel computes a call: one model's choice, bound to it when it is loaded, and what became of it (S209-S216).

A policy belongs to one loaded model and nothing here is global: two models, or two copies of one, may differ.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from ..errors import InvalidRequest, Unsupported, is_oom
from .attend import attend, sdpa
from .backends import BACKENDS, Backend, brief, load, self_test
from .constraints import CallFacts, MaskKind, refusal
from .sites import Kernel, Site

_log = logging.getLogger("mizuoto.attention")

# Choice -> what it wants, best first. `fast` leaves out what rounds the scores (M11).
CHOICES: dict[str, tuple[str, ...]] = {
    "auto": (),
    "sdpa": ("sdpa",),
    "fast": ("flash", "xformers", "sdpa"),
    "flash": ("flash",),
    "xformers": ("xformers",),
    "sage": ("sage",),
}
FALLBACK = "sdpa"  # before the reference
REFERENCE = "reference"


@dataclass(slots=True)
class _Route:
    """Where calls of one kind go: a kernel, those to look at when it fails, and then the reference."""

    own: Site  # not bound
    facts: CallFacts
    device: torch.device
    left: list[str]
    name: str = ""
    kernel: Kernel | None = None
    refusals: list[tuple[str, str]] = field(default_factory=list)
    is_used: bool = False  # since the last reset


class AttentionPolicy:
    """How one loaded model computes its attention.

    Not for several requests at once: a model runs one at a time.

    Args:
        choice: A key of `CHOICES`.
        is_strict: Whether a call that none of the wanted kernels takes fails instead of falling back.
        backends: The kernels there are.

    Attributes:
        counts: Backend, or "reference", -> calls it computed since the last `reset`; empty with "auto".

    Raises:
        InvalidRequest: There is no such choice.
    """

    def __init__(
        self, choice: str = "auto", is_strict: bool = False, backends: Mapping[str, Backend] = BACKENDS
    ) -> None:
        if choice not in CHOICES:
            raise InvalidRequest(f'Attention "{choice}" is unknown; use one of {", ".join(CHOICES)}.')
        self.choice = choice
        self.is_strict = is_strict
        self.counts: dict[str, int] = {}
        self._backends = backends
        self._loaded: dict[str, Kernel | str] = {}
        self._tested: dict[tuple[str, torch.device, torch.dtype, int], str] = {}
        self._routes: dict[tuple[object, ...], _Route] = {}
        self._logged: set[tuple[str, str, str]] = set()

    def bind(self, module: nn.Module) -> int:
        """Let every site that a part of `module` keeps as an attribute follow this policy; returns how many do.

        With "auto" they run their reference directly, as if never bound.
        """
        policy = None if self.choice == "auto" else self
        sites = list(_sites(module))
        for owner, name, site in sites:
            setattr(owner, name, replace(site, policy=policy))
        return len(sites)

    def reset(self) -> None:
        """Forget counts and refusals of earlier requests; what was found out about packages stays."""
        self.counts.clear()
        for route in self._routes.values():
            route.is_used = False

    def add(self, counts: Mapping[str, int]) -> None:
        """Count further calls, by backend."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    @property
    def refusals(self) -> list[dict[str, str]]:
        """Who does not take which calls and why, of those since the last `reset`; each once, JSON-ready."""
        entries = [
            {"backend": backend, "site": route.own.name, "reason": reason}
            for route in self._routes.values()
            if route.is_used
            for backend, reason in route.refusals
        ]
        return [entry for index, entry in enumerate(entries) if entry not in entries[:index]]

    def as_data(self) -> dict[str, Any]:
        """Choice, counts and refusals, JSON-ready, for the run report (S211)."""
        data: dict[str, Any] = {"choice": self.choice}
        if self.choice != "auto":
            data |= {"strict": self.is_strict, "counts": dict(self.counts), "refusals": self.refusals}
        return data

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        site: Site,
        mask: torch.Tensor | None,
        causal: bool,
        scale: float | None,
    ) -> torch.Tensor:
        """See `attend`, which calls this for a bound site.

        The first call of a kind imports and tests packages, so it must not be one that a CUDA graph records.
        """
        needs_backward = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
        # All of the facts that can change from one call of a site to the next.
        kind = (
            site.name,
            query.device,
            query.dtype,
            None if mask is None else mask.dtype,
            causal,
            query.shape[2] == key.shape[2],
            needs_backward,
        )
        route = self._routes.get(kind)
        if route is None:
            facts = _facts(query, key, value, site, mask, causal, needs_backward)
            route = self._routes[kind] = self._plan(site, query.device, facts)
        route.is_used = True
        while route.kernel is not None or self._advance(route):
            try:
                mixed = route.kernel(query, key, value, mask, causal, scale)  # type: ignore[misc]
            except Exception as error:
                if is_oom(error):
                    raise
                route.kernel = None
                self._refuse(route, route.name, f"kernel error: {brief(error)}")
            else:
                self.counts[route.name] = self.counts.get(route.name, 0) + 1
                return mixed
        if self.is_strict and not site.is_fixed:
            raise self._unsupported(route)
        self.counts[REFERENCE] = self.counts.get(REFERENCE, 0) + 1
        return attend(query, key, value, site=route.own, mask=mask, causal=causal, scale=scale)

    def _plan(self, site: Site, device: torch.device, facts: CallFacts) -> _Route:
        wanted = () if site.is_fixed else CHOICES[self.choice]
        is_last = self.is_strict or site.is_fixed or FALLBACK in wanted
        return _Route(replace(site, policy=None), facts, device, [*wanted] if is_last else [*wanted, FALLBACK])

    def _advance(self, route: _Route) -> bool:
        """Put the next kernel that takes these calls into `route`; False when none is left."""
        while route.left:
            name = route.left[0]
            reason = refusal(self._backends[name].constraints, route.facts)
            kernel = reason or self._usable(name, route.device, route.facts)
            del route.left[0]  # not before: a test that ran out of memory is made again
            if not isinstance(kernel, str):
                route.name, route.kernel = name, kernel
                return True
            self._refuse(route, name, kernel)
        return False

    def _usable(self, name: str, device: torch.device, facts: CallFacts) -> Kernel | str:
        """The kernel, loaded and tested on the device, or why it cannot be used."""
        backend = self._backends[name]
        if name not in self._loaded:
            self._loaded[name] = load(backend)
        kernel = self._loaded[name]
        if isinstance(kernel, str) or not backend.package:
            return kernel
        tested = (name, device, facts.dtype, facts.head_dim)
        if tested not in self._tested:
            self._tested[tested] = self_test(backend, kernel, device, facts)
        return self._tested[tested] or kernel

    def _refuse(self, route: _Route, backend: str, reason: str) -> None:
        route.refusals.append((backend, reason))
        entry = (backend, route.own.name, reason)
        if entry not in self._logged:
            self._logged.add(entry)
            # Under "fast" it is no surprise; of what the user named, it is.
            level = logging.WARNING if backend == self.choice else logging.INFO
            _log.log(level, 'Attention "%s" is not used at %s: %s.', *entry)

    def _unsupported(self, route: _Route) -> Unsupported:
        reasons = "; ".join(f"{backend}: {reason}" for backend, reason in route.refusals)
        return Unsupported(
            f'Attention "{self.choice}" cannot compute {route.own.name} ({reasons}). '
            'Choose "auto", or turn off strict attention.',
            {"choice": self.choice, "site": route.own.name, "refusals": self.refusals},
        )


@contextmanager
def rounded_freely(module: nn.Module) -> Iterator[None]:
    """In the block, "auto" computes `module` on torch's fastest kernels: for loops whose bits differ anyway.

    A site's own reference stays. Nobody else may use the module meanwhile.
    """
    sites = [entry for entry in _sites(module) if not (entry[2].policy or entry[2].reference or entry[2].is_fixed)]
    try:
        for owner, name, site in sites:
            setattr(owner, name, replace(site, reference=sdpa))
        yield
    finally:
        for owner, name, site in sites:
            setattr(owner, name, site)


@contextmanager
def recorded(module: nn.Module) -> Iterator[Callable[[], None]]:
    """Leave out of the counts what `module` computes in the block, where a graph records it and nothing runs.

    Yields:
        Counts those calls; for every replay.
    """
    policy = next((site.policy for _, _, site in _sites(module) if site.policy), None)
    if policy is None:
        yield lambda: None
        return
    outside, inside = policy.counts, dict[str, int]()
    policy.counts = inside
    try:
        yield lambda: policy.add(inside)
    finally:
        policy.counts = outside


def _sites(module: nn.Module) -> Iterator[tuple[nn.Module, str, Site]]:
    for owner in module.modules():
        for name, value in vars(owner).items():
            if isinstance(value, Site):
                yield owner, name, value


def _facts(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    site: Site,
    mask: torch.Tensor | None,
    causal: bool,
    needs_backward: bool,
) -> CallFacts:
    expected = (site.num_heads, site.head_dim), (site.kv_heads, site.head_dim), (site.kv_heads, site.head_dim)
    found = tuple((tensor.shape[1], tensor.shape[-1]) for tensor in (query, key, value))
    if found != expected:
        raise ValueError(f"{site.name}: query, key and value have (heads, width) {found}, the site has {expected}")
    kind: MaskKind = "none" if mask is None else "bool" if mask.dtype == torch.bool else "additive"
    return CallFacts(
        device_type=query.device.type,
        dtype=query.dtype,
        head_dim=site.head_dim,
        mask=kind,
        is_causal=causal,
        is_square=query.shape[2] == key.shape[2],
        is_grouped=site.is_grouped,
        is_sequence=site.is_sequence,
        needs_backward=needs_backward,
        capability=torch.cuda.get_device_capability(query.device) if query.device.type == "cuda" else None,
    )
