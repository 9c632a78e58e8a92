"""The loader against `load_file` + `load_state_dict`: time and peak memory of one large checkpoint (MEMORY C6).

Every measurement has a process of its own, since a peak cannot be taken back. The file is warm, so time is processor
time: what neighbours take does not count, and nothing waits for a disk. What each variant loaded is compared by its
checksum first.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
if "mizuoto" not in sys.modules:
    runpy.run_path(str(CONFTEST))

import torch  # noqa: E402
from mizuoto.mizuoto_runtime import ops  # noqa: E402
from mizuoto.mizuoto_runtime.loading.keys import load_into  # noqa: E402
from mizuoto.mizuoto_runtime.loading.safetensors import read_safetensors  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402

ROUNDS = 7
LAYERS, SMALL_LAYERS = 24, 11  # 1.26 GB, or 0.6 GB where disk or memory is tight
TIGHT_BYTES = 8 << 30
WIDTH, NARROW, INNER, VOCABULARY = 1024, 512, 3072, 8192
MAX_TIME, MAX_PEAK, MAX_PEAK_OF_FINAL, MAX_HALF_PEAK, MAX_TIME_OF_PREAD = 0.40, 0.55, 1.05, 0.30, 1.05
CLEAR_REFS = Path("/proc/self/clear_refs")


class Stack(nn.Module):
    """Embedding and decoder layers of a 0.3 billion parameter language model, without a forward."""

    def __init__(self, layers: object, num_layers: int):
        super().__init__()
        self.embed = layers.Embedding(VOCABULARY, WIDTH)
        shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, NARROW), "v": (WIDTH, NARROW), "o": (WIDTH, WIDTH)}
        shapes |= {"gate": (WIDTH, INNER), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {name: layers.Linear(*shape, bias=False) for name, shape in shapes.items()}
                | {"norm": layers.LayerNorm(WIDTH)}
            )
            for _ in range(num_layers)
        )


def on_meta(num_layers: int) -> Stack:
    """Our model before its checkpoint."""
    with torch.device("meta"):
        return Stack(ops, num_layers)


def plain(path: Path, num_layers: int) -> nn.Module:
    """What most programs do."""
    module = Stack(nn, num_layers)
    module.load_state_dict(load_file(path))
    return module


def plain_half(path: Path, num_layers: int) -> nn.Module:
    """The same in half precision."""
    return plain(path, num_layers).to(torch.bfloat16)


def pread(path: Path, num_layers: int) -> nn.Module:
    """safetensors' own reader without a mapping."""
    module = on_meta(num_layers)
    with safe_open(path, "pt", backend="pread") as file:
        module.load_state_dict({name: file.get_tensor(name) for name in file.keys()}, assign=True)  # noqa: SIM118
    return module


def ours(path: Path, num_layers: int) -> nn.Module:
    """The loader."""
    module = on_meta(num_layers)
    load_into(module, dict(read_safetensors(path)), path.name)
    return module


def ours_half(path: Path, num_layers: int) -> nn.Module:
    """The loader, converting."""
    module = on_meta(num_layers)
    load_into(module, dict(read_safetensors(path, torch.bfloat16)), path.name)
    return module


VARIANTS: dict[str, Callable[[Path, int], nn.Module]] = {
    function.__name__: function for function in (plain, ours, pread, plain_half, ours_half)
}


def status_bytes(field: str) -> int:
    """A field of this process's memory status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) << 10


def measure(variant: str, path: Path, num_layers: int) -> dict[str, float]:
    """Processor seconds, peak of added memory and final bytes of one variant in this process."""
    before = 0
    if CLEAR_REFS.exists():
        CLEAR_REFS.write_text("5", encoding="ascii")  # restarts the peak
        before = status_bytes("VmRSS")
    start = time.process_time()
    module = VARIANTS[variant](path, num_layers)
    seconds = time.process_time() - start
    peak = status_bytes("VmHWM") - before if CLEAR_REFS.exists() else 0
    final = sum(tensor.nbytes for tensor in module.state_dict().values())
    return {"seconds": seconds, "peak": peak, "final": final}


def checksum(variant: str, path: Path, num_layers: int) -> dict[str, float]:
    """Checksum of what a variant loads."""
    tensors = VARIANTS[variant](path, num_layers).state_dict()
    value = 0
    for name in sorted(tensors):
        value = zlib.crc32(tensors[name].contiguous().view(torch.uint8).numpy(), value)
    return {"checksum": value}


def make(path: Path, num_layers: int) -> None:
    """Write the checkpoint, random so that no equality is one of zeros."""
    generator = torch.Generator().manual_seed(0)
    module = on_meta(num_layers).to_empty(device="cpu")
    save_file({name: t.uniform_(-1, 1, generator=generator) for name, t in module.state_dict().items()}, path)


def in_process(*arguments: object) -> dict[str, float]:
    """The JSON that this file prints for `arguments`; empty if it prints none."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}


def available_bytes() -> int:
    """Host memory that can still be had; plenty where the system does not say."""
    if not Path("/proc/meminfo").exists():
        return TIGHT_BYTES
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) << 10


def has_pread(path: Path) -> bool:
    """Whether this safetensors can read without mapping."""
    try:
        with safe_open(path, "pt", backend="pread"):
            return True
    except TypeError:
        return False


def run() -> Iterable[dict[str, object]]:
    """The rows; minima over `ROUNDS` processes of each variant, interleaved."""
    with tempfile.TemporaryDirectory(prefix="mizuoto-bench-") as folder:
        is_tight = min(shutil.disk_usage(folder).free, available_bytes()) < TIGHT_BYTES
        num_layers = SMALL_LAYERS if is_tight else LAYERS
        path = Path(folder) / "model.safetensors"
        in_process("--make", path, num_layers)
        names = [name for name in VARIANTS if name != "pread" or has_pread(path)]
        sums = {name: in_process("--sum", name, path, num_layers)["checksum"] for name in names}
        timed = [name for name in names if name != "plain_half"]
        rounds = [{name: in_process("--time", name, path, num_layers) for name in timed} for _ in range(ROUNDS)]
        size = f"{os.path.getsize(path) / 1e9:.2f} GB"
    for left, right in (("ours", "plain"), ("ours_half", "plain_half"), ("ours", "pread")):
        if right in sums and sums[left] != sums[right]:
            raise AssertionError(f"{left} and {right} loaded different weights")
    best = {
        name: {field: min(one[name][field] for one in rounds) for field in ("seconds", "peak", "final")}
        for name in timed
    }
    yield _row(
        "C6-time", f"CPU s to load {size} against load_file + load_state_dict", best, "seconds", "plain", MAX_TIME
    )
    if "pread" in best:
        yield _row("C6-pread", "CPU s to load against safe_open(pread)", best, "seconds", "pread", MAX_TIME_OF_PREAD)
    else:
        yield {"id": "C6-pread", "skipped": "safetensors 0.8"}
    if CLEAR_REFS.exists():
        yield from _memory_rows(best)


def _memory_rows(best: dict[str, dict[str, float]]) -> Iterable[dict[str, object]]:
    yield _row("C6-peak", "GB added at the peak against load_file + load_state_dict", best, "peak", "plain", MAX_PEAK)
    yield _row("C6-half-peak", "the same into bfloat16", best, "peak", "plain", MAX_HALF_PEAK, "ours_half")
    for name in ("ours", "ours_half"):
        best[f"{name} weights"] = {"peak": best[name]["final"]}
        what = "GB added at the peak against the weights" + (" in bfloat16" if name == "ours_half" else "")
        row_id = "C6-half-final" if name == "ours_half" else "C6-final"
        yield _row(row_id, what, best, "peak", f"{name} weights", MAX_PEAK_OF_FINAL, name)


def _row(
    row_id: str, what: str, best: dict[str, dict[str, float]], field: str, against: str, bar: float, mine: str = "ours"
) -> dict[str, object]:
    scale = 1e9 if field == "peak" else 1.0
    left, right = best[mine][field], best[against][field]
    ratio = left / right
    return {
        "id": row_id, "what": what, "ours": left / scale, "other": right / scale,
        "ratio": ratio, "bar": bar, "holds": ratio <= bar,
    }  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:]:
        function = {"--time": measure, "--sum": checksum}[sys.argv[1]]
        print(json.dumps(function(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
    else:
        for row in run():
            print(json.dumps(row))
