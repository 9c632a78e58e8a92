import dataclasses

import pytest
import torch
from mizuoto.mizuoto_runtime.attention.backends import BACKENDS
from mizuoto.mizuoto_runtime.attention.constraints import CallFacts, refusal

CALL = CallFacts("cuda", torch.bfloat16, 64, capability=(8, 9))
PACKAGES = ("flash", "xformers", "sage")
ALL = ("sdpa", *PACKAGES)


def test_a_plain_call_on_a_gpu_is_taken_by_all():
    assert [refusal(BACKENDS[name].constraints, CALL) for name in ALL] == [None] * 4


@pytest.mark.parametrize(
    ("changes", "refusers", "reason"),
    [
        ({"device_type": "cpu", "capability": None}, PACKAGES, "GPU mismatch: it runs on cuda, the model is on cpu"),
        ({"device_type": "mps", "capability": None}, PACKAGES, "GPU mismatch"),
        ({"capability": (7, 5)}, ("flash", "sage"), "GPU mismatch: it needs compute capability 8.0, the GPU has 7.5"),
        ({"capability": (5, 2)}, PACKAGES, "GPU mismatch"),
        ({"capability": (12, 0)}, (), ""),
        ({"dtype": torch.float32}, ("flash", "sage"), "fp32: it computes in bfloat16, float16"),
        ({"dtype": torch.float64}, PACKAGES, "float64"),
        ({"head_dim": 256}, ("sage",), "head size 256: it takes up to 128"),
        ({"head_dim": 264}, ("flash", "sage"), "head size 264"),
        ({"head_dim": 36}, PACKAGES, "head size 36: it takes multiples of 8"),
        ({"mask": "bool"}, ("flash", "sage"), "unsupported mask: bool"),
        ({"mask": "additive"}, ("flash", "sage"), "unsupported mask: additive"),
        ({"is_causal": True}, (), ""),
        ({"is_square": False}, (), ""),
        ({"is_causal": True, "is_square": False}, ("flash", "sage"), "unsupported mask: causal with more keys"),
        ({"is_grouped": True}, (), ""),
        ({"is_sequence": True}, ("sage",), "token by token"),
        ({"needs_backward": True}, ("sage",), "no backward"),
    ],
)
def test_who_refuses_what(changes, refusers, reason):
    call = dataclasses.replace(CALL, **changes)
    reasons = {name: refusal(BACKENDS[name].constraints, call) for name in ALL}
    assert {name for name, found in reasons.items() if found} == set(refusers)
    assert all(found.startswith(reason) for found in reasons.values() if found)


def test_shared_key_heads_can_be_refused():
    can = dataclasses.replace(BACKENDS["flash"].constraints, has_groups=False)
    assert refusal(can, CALL) is None
    assert refusal(can, dataclasses.replace(CALL, is_grouped=True)).startswith("shared key heads")
