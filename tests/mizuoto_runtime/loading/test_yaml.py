import pytest
import yaml
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading.yaml import MAX_YAML_BYTES, read_yaml

TEXT = """\
# a model
---
model:
  name: base  # of many
  sizes:
      dim: 512
      rate: 0.5
      low: -3

  is_big: true
  other: null
  "colon": 1
head:
  path: a.b.C
  quoted: '24 # kHz'
last: no value like it
"""


def written(folder, text):
    path = folder / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_equals_pyyaml(tmp_path):
    text = TEXT.replace('"colon"', "colon").replace("'24 # kHz'", "'24 kHz'")
    assert read_yaml(written(tmp_path, text)) == yaml.safe_load(text)
    assert read_yaml(written(tmp_path, text.replace("\n", "\r\n"))) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- b", "a: [1, 2]", "a: {b: 1}", "a: &x 1", "a: |\n  text", "a: 1\n   b: 2", "a:\n  b: 1\n c: 2",
        "a: 1\na: 2", "just text", "a:1", "  a: 1", b"a: \xff", "a: - 1",
    ],
)  # fmt: skip
def test_more_than_that_is_refused(tmp_path, text):
    with pytest.raises(ModelFileError, match=r"config\.yaml.*cannot be understood"):
        read_yaml(written(tmp_path, text))


def test_a_missing_and_an_endless_file_are_named(tmp_path):
    with pytest.raises(ModelFileError, match=r'"config\.yaml" is missing'):
        read_yaml(tmp_path / "config.yaml")
    with pytest.raises(ModelFileError, match="longer than"):
        read_yaml(written(tmp_path, b"#" * (MAX_YAML_BYTES + 1)))
