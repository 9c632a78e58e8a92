import json
from dataclasses import replace
from pathlib import Path

from mizuoto import engines
from mizuoto.engines.base import Options
from mizuoto.engines.defaults import default_options, option_settings
from mizuoto.mizuoto_runtime.settings import TABLE

CHINESE = Path(engines.__file__).parents[1] / "locales" / "zh" / "settings.json"


def test_there_is_a_setting_for_every_option_of_every_engine():
    manifests = engines.manifests().values()
    settings = {setting.key: setting for setting in option_settings(manifests)}
    assert len(settings) == sum(len(manifest.options) for manifest in manifests)
    for setting in settings.values():
        assert setting.check(setting.default) == setting.default and setting.description and setting.changes_results
    assert settings["hibari.speed"].check(2) == 2.0
    assert not {setting.key for setting in TABLE} & settings.keys()


def test_options_are_made_of_what_the_checkpoint_knows():
    manifest = engines.manifests()["qwen3_tts"]
    known = [option for option in manifest.options if option.name in ("temperature", "language")]
    narrow = replace(
        manifest, options=tuple(replace(each, choices=("Auto",) if each.choices else ()) for each in known)
    )
    saved = {"temperature": 0.5, "language": "German", "top_k": 5}
    assert default_options(narrow, saved) == Options("qwen3_tts", {"temperature": 0.5})
    assert default_options(manifest, saved) == Options("qwen3_tts", saved)
    assert default_options(manifest, {}) is None


def test_chinese_has_every_setting_that_the_dialog_shows():
    shown = {f"Mizuoto_{setting.key.replace('.', '_')}" for setting in TABLE if setting.under_host}
    chinese = json.loads(CHINESE.read_text(encoding="utf-8"))
    assert chinese.keys() == shown
    assert all(words.keys() == {"label", "description"} and all(words.values()) for words in chinese.values())
