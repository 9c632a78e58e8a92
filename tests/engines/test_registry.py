from pathlib import Path

import mizuoto
import pytest
from mizuoto import engines
from mizuoto.engines.base import Manifest


def test_every_folder_is_an_engine():
    folders = {path.name for path in Path(mizuoto.__path__[0], "engines").iterdir() if (path / "__init__.py").is_file()}
    assert set(engines.manifests()) == folders
    for name, manifest in engines.manifests().items():
        assert isinstance(manifest, Manifest)
        assert manifest.id == name


def test_engines_are_found_by_id():
    for name, manifest in engines.manifests().items():
        assert engines.engine(name).manifest is manifest
        assert engines.engine(name) is engines.engine(name)


def test_an_unknown_engine():
    with pytest.raises(ModuleNotFoundError):
        engines.engine("nobody")


def test_folders_are_recognised(tmp_path):
    assert engines.recognise(tmp_path) is None
    assert engines.recognise(tmp_path / "absent") is None
    for manifest in engines.manifests().values():
        if manifest.built_in is not None:
            assert engines.recognise(manifest.built_in) is manifest
