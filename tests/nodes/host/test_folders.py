"""Which folders are searched, and in which order."""

import os
import sys
from dataclasses import replace

import pytest


def configure(key, path):
    path.mkdir(exist_ok=True)
    sys.modules["folder_paths"].add_model_folder_path(key, str(path))
    return path


def test_the_default_root_is_made_and_comes_first(folders, tmp_path):
    extra, other = configure("tts", tmp_path / "extra"), configure("TTS", tmp_path / "other")
    (tmp_path / "TTS").mkdir(exist_ok=True)
    default, *rest = folders.roots()
    assert default == tmp_path / "tts"
    assert rest[:2] == [extra, other]


def test_the_default_root_comes_first_where_both_names_are_one_folder(folders, tmp_path):
    if not (tmp_path / "TTS").exists():  # it does where case does not count
        (tmp_path / "TTS").symlink_to(tmp_path / "tts", target_is_directory=True)
    extra = configure("tts", tmp_path / "extra")
    assert folders.roots() == [tmp_path / "tts", extra]


def test_folders_that_do_not_exist_are_left_out(folders, tmp_path):
    sys.modules["folder_paths"].add_model_folder_path("tts", str(tmp_path / "gone"))
    assert tmp_path / "gone" not in folders.roots()


@pytest.mark.parametrize("name", ["gone", "", 5, None, ["x"], {}])
def test_whatever_is_no_name_of_a_model_is_refused_with_the_choice(folders, name):
    from mizuoto.mizuoto_runtime.errors import InvalidRequest

    with pytest.raises(InvalidRequest, match=r"is not installed: .*choose one of: hibari \(built-in\)"):
        folders.find_model(name)


def test_folders_of_recognition_models_come_last_and_only_if_they_exist(folders, tmp_path):
    speaking = configure("TTS", tmp_path / "speaking")
    for name in ("whisper", "Qwen3-ASR"):
        (tmp_path / name).mkdir()
    listening = configure("stt", tmp_path / "listening")
    default, *rest = folders.roots()
    assert default == tmp_path / "tts" and default == folders.default_root()
    assert rest == [speaking, listening, tmp_path / "whisper", tmp_path / "Qwen3-ASR"]


def test_a_folder_that_two_names_lead_to_is_searched_once(folders, tmp_path):
    (tmp_path / "whisper").symlink_to(configure("asr", tmp_path / "ears"), target_is_directory=True)
    assert folders.roots() == [tmp_path / "tts", tmp_path / "ears"]


NAME = "Tiny-Voice"


@pytest.fixture
def offered(folders, monkeypatch):
    """The module with one download, recognised by its weights."""
    from mizuoto import engines
    from mizuoto.engines.base import Download

    manifest = replace(
        engines.manifests()["hibari"],
        downloads=(Download(NAME, f"mizuoto/{NAME}", 2_520_000_000),),
        recognise=lambda folder: (folder / "model.safetensors").is_file(),
    )
    monkeypatch.setattr(folders.engines, "manifests", lambda: {"hibari": manifest})
    monkeypatch.setattr(folders.engines, "recognise", lambda folder: manifest if manifest.recognise(folder) else None)
    return folders


def install(folders, folder):
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"")
    folders.refresh()


def test_what_can_be_fetched_comes_after_what_is_there(offered, tmp_path):
    install(offered, tmp_path / "tts" / "zebra")
    assert offered.model_choices() == ["hibari (built-in)", "zebra", f"{NAME} (download)"]


def test_a_fetched_model_has_its_plain_name_and_answers_to_both(offered, tmp_path):
    found = offered.find_model(f"{NAME} (download)")
    assert isinstance(found, offered.MissingModel) and found.download.repo == f"mizuoto/{NAME}"
    install(offered, tmp_path / "tts" / NAME)
    assert offered.model_choices() == ["hibari (built-in)", NAME]
    for name in (NAME, f"{NAME} (download)"):
        assert offered.find_model(name).folder == tmp_path / "tts" / NAME


def test_a_copy_in_a_folder_of_its_owner_is_not_fetched_again(offered, tmp_path):
    install(offered, tmp_path / "tts" / "owner" / NAME)
    assert offered.model_choices() == ["hibari (built-in)", f"owner/{NAME}"]
    assert offered.find_model(f"{NAME} (download)").name == f"owner/{NAME}"


def test_a_plain_name_that_is_not_there_says_how_to_get_it(offered):
    from mizuoto.mizuoto_runtime.errors import InvalidRequest

    with pytest.raises(
        InvalidRequest,
        match=rf'choose "{NAME} \(download\)" to fetch it \(2\.5 GB, licence Apache-2\.0\), or copy .*/tts"',
    ):
        offered.find_model(NAME)


def test_half_a_download_is_no_model(offered, tmp_path):
    install(offered, tmp_path / "tts" / f".{NAME}.download")
    assert isinstance(offered.find_model(f"{NAME} (download)"), offered.MissingModel)


def test_downloads_go_to_the_default_root_even_if_it_is_gone(folders, tmp_path):
    configure("tts", tmp_path / "extra")
    (tmp_path / "tts").rmdir()
    assert folders.default_root() == tmp_path / "tts"


def test_a_fingerprint_sees_replaced_and_new_files_at_every_depth(folders, tmp_path):
    nested = tmp_path / "model" / "speech_tokenizer"
    nested.mkdir(parents=True)
    (nested / "model.safetensors").write_bytes(b"1")
    seen = {folders.fingerprint(tmp_path / "model")}
    os.utime(nested / "model.safetensors", ns=(0, 0))
    seen.add(folders.fingerprint(tmp_path / "model"))
    (nested / "model.safetensors").write_bytes(b"12")
    seen.add(folders.fingerprint(tmp_path / "model"))
    (nested / "config.json").write_bytes(b"")
    seen.add(folders.fingerprint(tmp_path / "model"))
    assert len(seen) == 4


@pytest.mark.parametrize("name", ["Qwen3-TTS-Tokenizer-12Hz", "vocos-mel-24khz"])
def test_a_fingerprint_sees_the_shared_folder_beside_the_model_and_no_other(folders, tmp_path, name):
    shared, other = tmp_path / "tts" / name, tmp_path / "tts" / "another-model"
    for folder in (tmp_path / "tts" / "model", shared, other):
        folder.mkdir()
    seen = [folders.fingerprint(tmp_path / "tts" / "model")]
    for content, changed in ((b"1", shared), (b"12", shared), (b"1", other)):
        (changed / "model.safetensors").write_bytes(content)
        seen.append(folders.fingerprint(tmp_path / "tts" / "model"))
    assert len(set(seen)) == 3 and seen[2] == seen[3]


def test_a_fingerprint_never_raises(folders, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    (model / "gone").symlink_to(tmp_path / "nowhere")
    (model / "circle").symlink_to(model, target_is_directory=True)
    assert folders.fingerprint(model) == folders.fingerprint(model)
    assert folders.fingerprint(tmp_path / "nowhere") == folders.fingerprint(model / "gone")


def refusal(folders):
    """InvalidRequest as the module under test knows it."""
    return folders.InvalidRequest


def test_a_near_miss_is_named(offered):
    with pytest.raises(refusal(offered), match=r'Did you mean "hibari \(built-in\)"\?'):
        offered.find_model("hibary (built-in)")


def test_a_folder_that_no_engine_knows_is_not_called_missing(folders, tmp_path):
    (tmp_path / "tts" / "Half-Voice").mkdir()
    with pytest.raises(refusal(folders), match=r'"tts/Half-Voice" is there, but .* its config\.json or its weights'):
        folders.find_model("Half-Voice")
    for name in ("../tts/Half-Voice", str(tmp_path), "a\0b"):
        with pytest.raises(refusal(folders), match="is not installed"):
            folders.find_model(name)
