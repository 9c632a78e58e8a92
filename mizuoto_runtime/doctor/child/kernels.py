"""Runs each attention package once on each device and compares with the textbook formula.

`kernels.py "cuda:0,cuda:1" flash_attn xformers`; prints one JSON object a line, at once, so that a crash tells where.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

# Import name -> (module, function, further arguments, greatest allowed difference); all take [B, T, H, D].
KERNELS: dict[str, tuple[str, str, dict[str, Any], float]] = {
    "flash_attn": ("flash_attn", "flash_attn_func", {}, 0.01),
    "xformers": ("xformers.ops", "memory_efficient_attention", {}, 0.01),
    "sageattention": ("sageattention", "sageattn", {"tensor_layout": "NHD"}, 0.1),  # it quantises the scores
}
_SHAPE = (1, 128, 4, 64)


def check(package: str, device: str) -> str:
    """Why `package` does not compute attention on `device`; empty when it does.

    Any error is the answer: this is the end of a process that exists to find it.
    """
    torch = importlib.import_module("torch")
    module, name, arguments, tolerance = KERNELS[package]
    try:
        kernel = getattr(importlib.import_module(module), name)
        draws = torch.Generator().manual_seed(0)
        q, k, v = (torch.randn(_SHAPE, generator=draws).to(device, torch.float16) for _ in range(3))
        with torch.inference_mode():
            difference = float((kernel(q, k, v, **arguments).float() - reference(q, k, v)).abs().max())
    except Exception as error:  # noqa: BLE001 - see above
        return f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return "" if difference <= tolerance else f"its result is off by {difference:.3g}"


def reference(q: Any, k: Any, v: Any) -> Any:
    """Attention of q, k and v [B, T, H, D] in fp32, by the formula."""
    q, k, v = (each.float().transpose(1, 2) for each in (q, k, v))
    weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
    return (weights @ v).transpose(1, 2)


if __name__ == "__main__":
    for one_package in sys.argv[2:]:
        for one_device in sys.argv[1].split(","):
            facts = {"package": one_package, "device": one_device, "error": check(one_package, one_device)}
            sys.stdout.write(json.dumps(facts) + "\n")
            sys.stdout.flush()
