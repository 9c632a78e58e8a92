"""The shipped data is the wheel's."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from mizuoto.mizuoto_runtime.text.english import EnglishData, load
from mizuoto.mizuoto_runtime.text.english.data import DATA_FOLDER
from mizuoto.mizuoto_runtime.text.english.dictionary import Dictionary
from mizuoto.mizuoto_runtime.text.english.oov import OovReader

pytest.importorskip("hibari")


def same(shipped, built):
    assert shipped.keys() == built.keys()
    for name in built:
        assert np.array_equal(shipped[name], built[name]), name


@pytest.mark.parametrize("accent", ["us", "gb"])
@pytest.mark.parametrize("name", ["gold", "silver"])
def test_lexicon_is_the_wheels(data, british_data, build_data, name, accent):
    entries = build_data.read_json(build_data.wheel_assets() / f"lexicon_{accent}_{name}.json.gz")
    shipped = getattr(data if accent == "us" else british_data, name)
    same(shipped, build_data.lexicon_arrays(entries))
    dictionary = Dictionary(shipped)
    for word in [*list(entries)[::50], "used", "by"]:
        if word in entries:
            assert dictionary.get(word) == entries[word]


def test_tagger_is_the_wheels(data, build_data):
    model = build_data.read_json(build_data.wheel_assets() / "tagger.json.gz")
    same(data.tagger, build_data.tagger_arrays(model))
    weights = [w for row in model["weights"].values() for w in row.values()]
    tenths = np.array(weights) * build_data.WEIGHT_SCALE
    assert np.abs(tenths - tenths.round()).max() < 1e-6  # so that integers lose nothing


def test_tables_are_copies(build_data):
    for name in build_data.COPIED:
        assert (DATA_FOLDER / name).read_bytes() == (build_data.wheel_assets() / name).read_bytes()


def test_oov_weights_are_the_wheels(data, build_data):
    built = build_data.oov_state(build_data.wheel_assets() / "oov.onnx")
    assert data.oov.keys() == built.keys()
    assert all(torch.equal(data.oov[name], built[name]) for name in built)


def test_british_oov_weights_are_the_wheels_in_half_precision(british_data, build_data):
    built = build_data.oov_state(build_data.wheel_assets() / "oov_gb.onnx")
    assert british_data.oov.keys() == built.keys()
    assert all(torch.equal(british_data.oov[name], built[name].half().float()) for name in built)


def test_oov_net_reads_as_onnxruntime(data, build_data):
    pytest.importorskip("onnxruntime")
    wheel = pytest.importorskip("hibari.g2p.oov").OOV()
    words = build_data.read_json(build_data.wheel_assets() / "lexicon_us_silver.json.gz")
    reader = OovReader(data.oov, data.alphabet)
    sample = [w for w in list(words)[::250] if len(w) <= 24] + ["naïve", "Łódź", "Zorblaxian", "x"]
    assert len(sample) > 350
    assert [reader(w) for w in sample] == [wheel(w) for w in sample]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"oov\.safetensors"):
        EnglishData.read(tmp_path)


def test_nothing_is_read_before_the_first_text(monkeypatch):
    reads = []
    read = EnglishData.read.__func__
    monkeypatch.setattr(EnglishData, "read", classmethod(lambda cls, *asked: reads.append(asked) or read(cls, *asked)))
    front_end = load("gb")
    assert reads == []
    front_end("Hello.")
    front_end("Hello again.")
    assert reads == [(DATA_FOLDER, "gb")]


MEASURE = """
import importlib.util, sys
from pathlib import Path
root = Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("mizuoto", root / "__init__.py", submodule_search_locations=[str(root)])
sys.modules["mizuoto"] = importlib.util.module_from_spec(spec)
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
from mizuoto.mizuoto_runtime.text.english import load
import torch
torch.ones(8).sum()
before = resident()
load()("The quick brown Zorblax.")
print(resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_loading_takes_little_memory():
    root = DATA_FOLDER.parents[3]
    done = subprocess.run([sys.executable, "-c", MEASURE, str(root)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 60  # MB; measured 27
