import json
import pickle
import subprocess
import sys
from pathlib import Path

import mizuoto
import pytest
import torch
from mizuoto.mizuoto_runtime import errors
from mizuoto.mizuoto_runtime.errors import MizuotoError, OutOfDeviceMemory, is_oom
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory

ALL = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, MizuotoError)]


@pytest.mark.parametrize("kind", ALL)
def test_errors_carry_text_code_and_detail(kind):
    error = kind("What; why; what to change.", {"size_bytes": 3})
    assert str(error) == "What; why; what to change."
    assert error.code.replace("_", "").isalpha()
    assert json.loads(json.dumps(error.detail)) == {"size_bytes": 3}
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.detail) == (kind, str(error), error.detail)


def test_details_are_not_shared():
    first, second = MizuotoError("a"), MizuotoError("b")
    first.detail["x"] = 1
    assert second.detail == {}


def test_out_of_memory_is_a_device_that_cannot_be_used():
    assert OutOfDeviceMemory("x").code == "compute_unavailable"


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    torch.OutOfMemoryError(),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("HIP out of memory. Tried to allocate 20.00 MiB"),
    RuntimeError("XPU out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("Native API failed: UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"),
    RuntimeError("level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)"),
    RuntimeError("MPS backend out of memory (MPS allocated: 9.00 GB, max allowed: 9.07 GB)"),
    RuntimeError("hipErrorOutOfMemory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    SimulatedOutOfMemory("device full"),
    type("OutOfMemoryError", (Exception,), {})("of a class that torch may add"),
]
NOT_OUT_OF_MEMORY = [
    RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
    ValueError("the word list is out of memory tokens"),
    OutOfDeviceMemory("out of memory for good"),
    MemoryError("out of memory"),  # the host's, which no device can make room for
    KeyboardInterrupt(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=repr)
def test_recognised(error):  # S013
    assert is_oom(error)


@pytest.mark.parametrize("error", NOT_OUT_OF_MEMORY, ids=repr)
def test_not_recognised(error):
    assert not is_oom(error)


def test_a_host_error_that_is_both_ends_the_retries():
    class Both(OutOfDeviceMemory, torch.OutOfMemoryError):
        pass

    assert not is_oom(Both("no room"))


def test_works_without_torch():
    source = Path(mizuoto.__path__[0], "mizuoto_runtime", "errors.py").read_text(encoding="utf-8")
    program = (
        "import sys\n"
        f"exec({source!r})\n"
        "assert is_oom(RuntimeError('CUDA out of memory')) and not is_oom(RuntimeError('x'))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
