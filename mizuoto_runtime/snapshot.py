"""A digest of the process state that no engine call may change (S045)."""

from __future__ import annotations

import hashlib
import os
import random
import sys

import numpy as np
import torch


def _digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[:16]


def snapshot() -> dict[str, object]:
    """What must be equal before and after any call: random generators, defaults, flags, environment, import path."""
    backends = torch.backends
    algorithm, keys, *position = np.random.get_state()  # the global state is the point
    state: dict[str, object] = {
        "torch_rng": _digest(torch.get_rng_state().numpy().tobytes()),
        "python_rng": _digest(repr(random.getstate()).encode()),
        "numpy_rng": (algorithm, _digest(np.asarray(keys).tobytes()), *position),
        "default_dtype": str(torch.get_default_dtype()),
        "default_device": str(torch.get_default_device()),
        "num_threads": torch.get_num_threads(),
        "grad_enabled": torch.is_grad_enabled(),
        "inference_mode": torch.is_inference_mode_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn": (
            backends.cudnn.enabled,
            backends.cudnn.benchmark,
            backends.cudnn.deterministic,
            backends.cudnn.allow_tf32,
        ),
        "cuda_matmul_tf32": backends.cuda.matmul.allow_tf32,
        "sdp": (
            backends.cuda.flash_sdp_enabled(),
            backends.cuda.mem_efficient_sdp_enabled(),
            backends.cuda.math_sdp_enabled(),
        ),
        "environment": _digest(repr(sorted(os.environ.items())).encode()),
        "working_directory": os.getcwd(),
        "sys_path": tuple(sys.path),
    }
    if torch.cuda.is_initialized():
        state["cuda_rng"] = [_digest(rng.numpy().tobytes()) for rng in torch.cuda.get_rng_state_all()]
    return state
