"""GPUs as the drivers' tools describe them: parsers, and what the *_VISIBLE_DEVICES variables leave of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

NVIDIA_FIELDS = ("index", "uuid", "name", "memory.total", "memory.free", "driver_version", "compute_cap")
_MB = 1 << 20
_UNITS = {"B": 1, "KB": 1 << 10, "MB": _MB, "GB": 1 << 30}


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator.

    Attributes:
        device: torch's name for it, such as "cuda:0"; ROCm devices are called cuda as well.
        vendor: "nvidia", "amd", "intel" or "apple".
        name: What the vendor calls it.
        total_bytes: Its memory; 0 where unknown.
        free_bytes: What no program holds; None where unknown.
        architecture: NVIDIA's compute capability ("9.0") or AMD's target ("gfx1100"); empty where unknown.
        driver: Version of the driver; empty where unknown.
        uuid: The vendor's identifier; empty where unknown.
    """

    device: str
    vendor: str
    name: str
    total_bytes: int = 0
    free_bytes: int | None = None
    architecture: str = ""
    driver: str = ""
    uuid: str = ""

    @property
    def capability(self) -> float | None:
        """NVIDIA's compute capability as a number; None for others."""
        return float(self.architecture) if re.fullmatch(r"\d+\.\d+", self.architecture) else None


def parse_nvidia(text: str) -> list[Gpu]:
    """GPUs from `nvidia-smi --query-gpu=<NVIDIA_FIELDS> --format=csv,noheader,nounits`, in its (PCI) order.

    The last field may be missing: older drivers do not know it. Lines of another form are skipped.
    """
    found: list[Gpu] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) not in (len(NVIDIA_FIELDS) - 1, len(NVIDIA_FIELDS)) or not cells[0].isdigit():
            continue
        index, uuid, name, total, free, driver, *capability = cells
        found.append(
            Gpu(
                f"cuda:{index}",
                "nvidia",
                name,
                _megabytes(total) or 0,
                _megabytes(free),
                capability[0] if capability and re.fullmatch(r"\d+\.\d+", capability[0]) else "",
                driver,
                uuid,
            )
        )
    return found


def parse_rocm(text: str) -> list[Gpu]:
    """GPUs from `rocm-smi --showproductname --showmeminfo vram --showuniqueid --showdriverversion --json`.

    Raises:
        ValueError: It is no JSON object.
    """
    data = _json(text)
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    driver = str(_lower(data.get("system")).get("driver version", ""))
    found: list[Gpu] = []
    for key, card in sorted(data.items(), key=lambda item: _number(item[0])):
        facts = _lower(card)
        if not re.fullmatch(r"card\d+", key) or not facts:
            continue
        total, used = (_integer(facts.get(f"vram total {part}memory (b)")) for part in ("", "used "))
        names = (facts.get(f"card {part}") for part in ("series", "model", "sku"))
        found.append(
            Gpu(
                f"cuda:{len(found)}",
                "amd",
                next((str(name) for name in names if name and name != "N/A"), "AMD GPU"),
                total or 0,
                None if total is None or used is None else total - used,
                str(facts.get("gfx version", "")),
                driver,
                f"GPU-{unique.removeprefix('0x')}" if (unique := str(facts.get("unique id", ""))) else "",
            )
        )
    return found


def parse_amd(text: str) -> list[Gpu]:
    """GPUs from `amd-smi static --asic --vram --json`; it tells no free memory.

    Raises:
        ValueError: It is no JSON list, neither bare nor under "gpu_data".
    """
    data = _json(text)
    entries = data.get("gpu_data") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise ValueError("no JSON list")
    found: list[Gpu] = []
    for entry in entries:
        asic, vram = _lower(_lower(entry).get("asic")), _lower(_lower(entry).get("vram"))
        size = _lower(vram.get("size"))
        amount = (_integer(size.get("value")) or 0) * _UNITS.get(str(size.get("unit", "MB")).upper(), _MB)
        name = str(asic.get("market_name") or "AMD GPU")
        target = str(asic.get("target_graphics_version", ""))
        found.append(Gpu(f"cuda:{len(found)}", "amd", name, amount, None, target))
    return found


def visible(gpus: Sequence[Gpu], variable: str | None) -> list[Gpu]:
    """What a *_VISIBLE_DEVICES variable leaves of `gpus`, in its order (S185).

    As the drivers read it: unset leaves all; entries are indices or the beginnings of identifiers (GPU-...); the first
    unknown one ends the list; a device that is named twice leaves none.
    """
    if variable is None:
        return list(gpus)
    chosen: list[Gpu] = []
    for entry in (part.strip() for part in variable.split(",")):
        gpu = _match(gpus, entry)
        if gpu is None:
            break
        if gpu in chosen:
            return []
        chosen.append(gpu)
    return chosen


def visible_nvidia(gpus: Sequence[Gpu], environment: Mapping[str, str]) -> list[Gpu]:
    """`visible` by CUDA_VISIBLE_DEVICES."""
    return visible(gpus, environment.get("CUDA_VISIBLE_DEVICES"))


def visible_amd(gpus: Sequence[Gpu], environment: Mapping[str, str]) -> list[Gpu]:
    """`visible` by ROCR_VISIBLE_DEVICES, then by HIP_VISIBLE_DEVICES or, without it, CUDA_VISIBLE_DEVICES."""
    left = visible(gpus, environment.get("ROCR_VISIBLE_DEVICES"))
    return visible(left, environment.get("HIP_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES")))


def renumber(gpus: Sequence[Gpu]) -> list[Gpu]:
    """The same GPUs as cuda:0, cuda:1 and so on: how torch names what is visible."""
    return [replace(gpu, device=f"cuda:{index}") for index, gpu in enumerate(gpus)]


def _match(gpus: Sequence[Gpu], entry: str) -> Gpu | None:
    if entry.isdigit():
        return gpus[int(entry)] if int(entry) < len(gpus) else None
    alike = [gpu for gpu in gpus if len(entry) > len("GPU-") and gpu.uuid.lower().startswith(entry.lower())]
    return alike[0] if len(alike) == 1 else None


def _json(text: str) -> Any:
    # Both tools print warnings before the data.
    start = re.search(r"^[{\[]", text, re.MULTILINE)
    return json.loads(text[start.start() :]) if start else None


def _lower(value: object) -> dict[str, Any]:
    return {str(key).lower(): each for key, each in value.items()} if isinstance(value, dict) else {}


def _integer(value: object) -> int | None:
    text = str(value).strip()
    return int(text) if text.isdigit() else None


def _megabytes(text: str) -> int | None:
    amount = _integer(text)  # "[N/A]" where device memory is host memory
    return None if amount is None else amount * _MB


def _number(key: str) -> int:
    return int("".join(filter(str.isdigit, key)) or 0)
