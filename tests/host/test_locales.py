"""Both languages of the page say everything: nodes as their schemas are today, and the sentences of the page's modules.

`locales/en/nodeDefs.json` repeats the schemas; after a change of one, run this file with MIZUOTO_WRITE_LOCALES=1, then
bring the Chinese file into line by hand.
"""

import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGLISH, CHINESE = ROOT / "locales" / "en", ROOT / "locales" / "zh"
SAID = re.compile(r"""\bsay\(\s*["']([\w.]+)["']""")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def texts(tree, path=()):
    """{path: text} of every leaf."""
    if not isinstance(tree, dict):
        return {path: tree}
    return {key: text for name, part in tree.items() for key, text in texts(part, (*path, name)).items()}


def gaps(text):
    """The {values} that a sentence has room for."""
    return set(re.findall(r"\{(\w+)\}", text))


def definition(info):
    """A node as the front end's files of texts describe it."""
    inputs = {name: spec for part in ("required", "optional") for name, spec in info["input"].get(part, {}).items()}
    return {
        "display_name": info["display_name"],
        "description": info["description"],
        "inputs": {name: {"name": name, "tooltip": spec[1]["tooltip"]} for name, spec in inputs.items()},
        "outputs": {
            str(index): {"name": name, "tooltip": tooltip}
            for index, (name, tooltip) in enumerate(zip(info["output_name"], info["output_tooltips"], strict=True))
        },
    }


@pytest.fixture(scope="module")
def definitions(our_nodes):
    return {name: definition(info) for name, info in our_nodes.items()}


def test_every_input_and_output_has_a_tooltip(definitions):
    assert [path for path, text in texts(definitions).items() if not text.strip()] == []


def test_english_is_what_the_schemas_say(definitions):
    path = ENGLISH / "nodeDefs.json"
    if os.environ.get("MIZUOTO_WRITE_LOCALES") == "1":
        path.write_text(json.dumps(definitions, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read(path) == definitions


def test_the_host_serves_both_languages(comfy, definitions):
    served = comfy.get("/i18n")
    assert served["en"]["nodeDefs"].items() >= definitions.items()
    assert served["zh"]["nodeDefs"].items() >= read(CHINESE / "nodeDefs.json").items()


@pytest.mark.parametrize("name", sorted(path.name for path in ENGLISH.iterdir()))
def test_chinese_has_a_text_for_each_english_one(name):
    english, chinese = texts(read(ENGLISH / name)), texts(read(CHINESE / name))
    assert list(chinese) == list(english)
    assert [path for path, text in chinese.items() if not text.strip() or gaps(text) != gaps(english[path])] == []


def test_both_languages_have_the_same_files():
    of_settings = {"settings.json"}  # whose English is the server's; tests/engines/test_defaults.py compares
    assert {path.name for path in CHINESE.iterdir()} - of_settings == {path.name for path in ENGLISH.iterdir()}


def test_modules_of_the_page_say_nothing_that_has_no_text():
    known = {".".join(path) for path in texts(read(ENGLISH / "main.json")["mizuoto"])}
    said = {key for path in (ROOT / "web" / "js").rglob("*.js") for key in SAID.findall(path.read_text("utf-8"))}
    assert said and said - known == set()
