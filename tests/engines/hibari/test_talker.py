import pytest
import torch
from mizuoto.mizuoto_runtime.errors import InvalidRequest


@pytest.mark.parametrize("length", [1, 2, 3, 5, 2000])
def test_any_length_gives_matching_prosody(length, talker):
    text_ids = torch.randint(1, 178, (1, length), generator=torch.Generator().manual_seed(length))
    prosody = talker(text_ids)
    assert prosody.durations.shape == (1, length)
    assert prosody.durations.dtype == torch.int64
    assert prosody.durations.min() >= 1
    assert prosody.f0.shape == prosody.energy.shape == (1, 2 * int(prosody.durations.sum()))
    assert prosody.f0.isfinite().all()
    assert prosody.energy.isfinite().all()


def test_speed_divides_the_durations(talker, ids_of):
    text_ids = ids_of("ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ.")
    slow, normal, fast = (int(talker(text_ids, speed).durations.sum()) for speed in (0.5, 1.0, 2.0))
    assert slow == pytest.approx(2 * normal, rel=0.05)
    assert fast == pytest.approx(normal / 2, rel=0.15)


@pytest.mark.parametrize("speed", [0.49, 2.01, 0.0, -1.0, float("nan"), float("inf")])
def test_a_speed_out_of_range_is_refused(speed, talker, ids_of):
    with pytest.raises(InvalidRequest, match=r"0\.5 to 2"):
        talker(ids_of("ˈA"), speed)
