import pytest
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.shapes import require, size_list, sizes


def test_sizes_under_their_names():
    assert sizes({"a": 1, "b": 2}, {"a": "x", "b": "y"}) == {"x": 1, "y": 2}
    assert sizes({"a": 1, "b": 2}, ["b"]) == {"b": 2}


def test_bad_sizes_are_named():
    with pytest.raises(ModelFileError, match='"a"'):
        sizes({}, ["a"])
    with pytest.raises(ModelFileError, match='"a"'):
        sizes({"a": "1"}, ["a"])


def test_lists():
    assert size_list({"a": [8, 5]}, "a") == (8, 5)
    for bad in (None, [], [0], [1.5], [True], "85", 3):
        with pytest.raises(ModelFileError, match='"a"'):
            size_list({"a": bad}, "a")


def test_requirements():
    require({"a": 1}, {"a": 1, "b": 2}, "codec")
    with pytest.raises(ModelFileError, match='codec has "a" 3, and only 1'):
        require({"a": 3}, {"a": 1}, "codec")
