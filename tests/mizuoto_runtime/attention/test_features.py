import pytest
import torch
from mizuoto.mizuoto_runtime.attention import features
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported


def state():
    backends = torch.backends
    return {
        "tf32": (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32),
        "fp16_accumulation": getattr(backends.cuda.matmul, "allow_fp16_accumulation", None),
        "cudnn_benchmark": backends.cudnn.benchmark,
        "sdpa_reduced_precision": backends.cuda.fp16_bf16_reduction_math_sdp_allowed(),
    }


@pytest.mark.parametrize("switch", features.SWITCHES)
def test_a_switch_is_on_in_the_block_only(switch):
    before = state()
    assert before[switch] not in (True, (True, True))
    try:
        with features.applied([switch]):
            assert state() == {**before, switch: (True, True) if switch == "tf32" else True}
    except Unsupported:
        assert before[switch] is None
    assert state() == before


def test_an_error_puts_them_back():
    before = state()
    with pytest.raises(KeyError), features.applied(["tf32", "cudnn_benchmark"]):
        raise KeyError
    assert state() == before


def test_what_was_on_stays_on():
    flags = torch.backends.cudnn
    assert not flags.benchmark
    with features.applied(["cudnn_benchmark"]):
        with features.applied(["cudnn_benchmark"]):
            pass
        assert flags.benchmark
    assert not flags.benchmark


def test_the_host_is_left_alone():
    before = state()
    with features.applied(features.parse("host")):
        assert state() == before


def test_names_are_read():
    assert features.parse("tf32, cudnn_benchmark,tf32") == ("tf32", "cudnn_benchmark")
    for text in ("fast", "", "tf32,", "host,tf32"):
        with pytest.raises(InvalidRequest, match="There is no fast switch"):
            features.parse(text)


def test_a_switch_that_this_torch_lacks(monkeypatch):
    def missing():
        raise AttributeError

    flag = features._Flag(missing, None)
    monkeypatch.setitem(features._FLAGS, "fp16_accumulation", (flag,))
    before = state()
    with pytest.raises(Unsupported, match='no switch for "fp16_accumulation"'), features.applied(features.SWITCHES):
        pytest.fail("the block ran")
    assert state() == before
