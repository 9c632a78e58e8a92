import shutil

import pytest
import torch
from mizuoto.engines.kokoro.config import CheckpointConfig
from mizuoto.engines.kokoro.voice import VoiceTables, voice_names
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.tests.engines.kokoro import tiny


@pytest.fixture
def tables(tiny_folder):
    return VoiceTables(tiny_folder, voice_names(tiny_folder), CheckpointConfig.read(tiny_folder))


@pytest.fixture
def own_folder(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "own")
    return tmp_path / "own"


def test_the_row_goes_by_the_number_of_phonemes(tables, tiny_folder):
    table = torch.load(tiny_folder / "voices" / "af_heart.pt", weights_only=True)
    for count, row in ((1, 0), (37, 36), (510, 509), (600, 509)):
        assert torch.equal(tables.style({"af_heart": 1.0}, count), table[row])


def test_equal_weights_are_upstreams_mean_of_tables(tables, tiny_folder):
    both = torch.stack([torch.load(tiny_folder / "voices" / f"{name}.pt", weights_only=True) for name in tiny.VOICES])
    expected = both.mean(dim=0)
    for weight in (1.0, 0.5):
        assert torch.equal(tables.style(dict.fromkeys(tiny.VOICES, weight), 20), expected[19])
    three_to_one = tables.style(dict(zip(tiny.VOICES, (3.0, 1.0), strict=True)), 20)
    torch.testing.assert_close(three_to_one, 0.75 * both[0, 19] + 0.25 * both[1, 19])


def test_files_are_the_voices_official_ones_first(own_folder):
    for name in ("zz_mine", "zf_xiaoni", "Another"):
        shutil.copy(own_folder / "voices" / "af_heart.pt", own_folder / "voices" / f"{name}.pt")
    (own_folder / "voices" / "notes.txt").touch()
    assert voice_names(own_folder) == ("af_heart", "am_michael", "zf_xiaoni", "Another", "zz_mine")


def test_no_voices(own_folder):
    shutil.rmtree(own_folder / "voices")
    with pytest.raises(ModelFileError, match=r'"own" has no voice.*such as af_heart.pt'):
        voice_names(own_folder)


@pytest.mark.parametrize("content", [torch.zeros(510, 1, 8), torch.full((510, 1, 32), torch.nan), torch.zeros(3)])
def test_damaged_voices(own_folder, content):
    torch.save(content, own_folder / "voices" / "af_heart.pt")
    tables = VoiceTables(own_folder, ("af_heart",), CheckpointConfig.read(own_folder))
    with pytest.raises(ModelFileError, match=r'"af_heart.pt" is no voice of this model'):
        tables.style({"af_heart": 1.0}, 5)


def test_a_voice_that_holds_code(own_folder):
    torch.save({"a": torch.zeros(1), "b": print}, own_folder / "voices" / "af_heart.pt")
    tables = VoiceTables(own_folder, ("af_heart",), CheckpointConfig.read(own_folder))
    with pytest.raises(ModelFileError, match="refused and nothing in it was run"):
        tables.style({"af_heart": 1.0}, 5)
