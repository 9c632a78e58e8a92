import pytest
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading import fields

CONFIG = {"layers": 3, "eps": 1, "kind": "base", "inner": {"a": 1}, "nothing": None, "flag": True, "low": -1}


def test_values_come_in_the_asked_type():
    assert fields.number(CONFIG, "layers", int) == 3
    assert isinstance(fields.number(CONFIG, "eps", float), float)
    assert fields.positive(CONFIG, "layers", int) == 3
    assert fields.text(CONFIG, "kind", ("base", "other")) == "base"
    assert fields.mapping(CONFIG, "inner") == {"a": 1}


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: fields.number(CONFIG, "width", int), 'has no "width"'),
        (lambda: fields.number(CONFIG, "nothing", int), 'has no "nothing"'),
        (lambda: fields.number(CONFIG, "flag", int), '"flag": True, which is no int'),
        (lambda: fields.number(CONFIG, "low", float), '"low": -1, which is no float from 0'),
        (lambda: fields.number({"x": 1.5}, "x", int), '"x": 1.5, which is no int'),
        (lambda: fields.positive({"x": 0}, "x", int), '"x": 0, which must be above 0'),
        (lambda: fields.positive(CONFIG, "low", int), '"low": -1, which is no int'),
        (lambda: fields.text(CONFIG, "kind", ("a", "b")), "'base'; only a, b can be loaded"),
        (lambda: fields.mapping(CONFIG, "kind"), "which is no object"),
    ],
)
def test_what_is_wrong_is_named(call, problem):
    with pytest.raises(ModelFileError) as caught:
        call()
    assert problem in str(caught.value)


def test_a_file_is_read(tmp_path):
    (tmp_path / "config.json").write_text('{"a": "ü"}', encoding="utf-8")
    assert fields.read_json(tmp_path / "config.json") == {"a": "ü"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"{", "cannot be understood"), (b"[1]", "holds no JSON object"), (b"\xff{}", "cannot be understood")],
)
def test_a_damaged_file_is_named(tmp_path, content, problem):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=problem) as caught:
        fields.read_json(path)
    assert "config.json" in str(caught.value)


def test_a_missing_and_an_endless_file_are_named(tmp_path, monkeypatch):
    with pytest.raises(ModelFileError, match=r"config\.json"):
        fields.read_json(tmp_path / "config.json")
    monkeypatch.setattr(fields, "MAX_JSON_BYTES", 10)
    (tmp_path / "config.json").write_text('{"a": "0123456789"}')
    with pytest.raises(ModelFileError, match="longer than 10 bytes"):
        fields.read_json(tmp_path / "config.json")
