from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.byte_cache import ByteCache


def test_the_one_unused_for_longest_goes_first():
    cache = ByteCache(30)
    for name in "abc":
        cache.put(name, name.upper(), 10)
    assert cache.get("a") == "A"
    cache.put("d", "D", 10)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]


def test_what_is_too_large_pushes_nothing_out():
    cache = ByteCache(30)
    cache.put("a", "A", 30)
    cache.put("b", "B", 31)
    assert (cache.get("a"), cache.get("b")) == ("A", None)


def test_a_new_value_replaces_the_old():
    cache = ByteCache(30)
    cache.put("a", "A", 10)
    cache.put("a", "B", 20)
    assert (cache.get("a"), cache.num_bytes) == ("B", 20)
    cache.put("a", "C", 40)  # does not fit: what is there would be wrong
    assert (cache.get("a"), cache.num_bytes) == (None, 0)


def test_without_room_nothing_is_kept():
    cache = ByteCache(0)
    cache.put("a", "A", 1)
    assert cache.get("a") is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=60))
def test_the_sum_is_true_and_never_too_much(puts):
    cache, sizes = ByteCache(100), {}
    for key, size in puts:
        cache.put(key, size, size)
        sizes[key] = size
        kept = [sizes[key] for key in sizes if cache.get(key) is not None]
        assert cache.num_bytes == sum(kept) <= 100
    cache.clear()
    assert cache.num_bytes == 0
