"""Languages by tag and by name, as people write them."""

import pytest
from mizuoto import engines
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.text.languages import NAMES, find_language, language_name, match_language

# openai-whisper 20250625, tokenizer.py: LANGUAGES and the other names of TO_LANGUAGE_CODE.
WHISPER = """
en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi
ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd
gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue
""".split()  # noqa: SIM905
WHISPER_NAMES = {
    "burmese": "my", "valencian": "ca", "flemish": "nl", "haitian": "ht", "letzeburgesch": "lb", "pushto": "ps",
    "panjabi": "pa", "moldavian": "ro", "moldovan": "ro", "sinhalese": "si", "castilian": "es", "mandarin": "zh",
    "myanmar": "my", "nynorsk": "nn", "haitian creole": "ht",
}  # fmt: skip
# qwen-asr 0.0.6, inference/utils.py: SUPPORTED_LANGUAGES.
QWEN = """
Chinese English Cantonese Arabic German French Spanish Portuguese Indonesian Italian Korean Russian Thai
Vietnamese Japanese Turkish Hindi Malay Dutch Swedish Danish Finnish Polish Czech Filipino Persian Greek
Romanian Hungarian Macedonian
""".split()  # noqa: SIM905


def test_every_tag_and_every_name_is_found_in_any_case():
    for tag, name in NAMES.items():
        assert {find_language(text) for text in (tag, tag.upper(), name, name.upper(), f" {name.lower()} ")} == {tag}


def test_what_the_models_call_them_is_found():
    assert len({find_language(code) for code in WHISPER}) == len(WHISPER) == 100
    assert {name: find_language(name) for name in WHISPER_NAMES} == WHISPER_NAMES
    assert len({find_language(name) for name in QWEN}) == len(QWEN) == 30


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("en-US", "en"), ("pt_BR", "pt"), ("zh-Hant-TW", "zh"), ("zh-yue", "yue"), ("zh-Yue-HK", "yue"), ("iw", "he"),
        ("Mandarin", "zh"), ("haitian_creole", "ht"), ("Norwegian  nynorsk", "nn"), ("cmn-Hans", "zh"),
        ("yue-HK", "yue"),
    ],
)  # fmt: skip
def test_regions_aliases_and_spelling(text, tag):
    assert find_language(text) == tag


@pytest.mark.parametrize(
    "text", ["", "auto", "xx", "Klingon", "en-", "-en", "en-US-", "english-german", "日本語", "zh yue x y z!"]
)
def test_what_is_none_is_refused(text):
    with pytest.raises(InvalidRequest, match="is no language that the pack knows"):
        find_language(text)


def test_a_slip_is_named():
    with pytest.raises(InvalidRequest, match=r'^"Germam" is no language .* Did you mean "German"\?$'):
        find_language("Germam")


@pytest.mark.parametrize(
    ("tag", "known", "found"),
    [
        ("en", ("de", "en"), "en"), ("en", ("en-US",), "en-US"), ("jv", ("jw",), "jw"), ("tl", ("fil",), "fil"),
        ("fil", ("tl",), "tl"), ("fil", ("tl", "fil"), "fil"), ("nn", ("no",), "no"), ("no", ("nn",), None),
        ("de", ("en",), None), ("de", (), None), ("yue", ("zh",), None),
    ],
)  # fmt: skip
def test_matching(tag, known, found):
    assert match_language(tag, known) == found


def test_names_of_tags():
    assert [language_name(tag) for tag in ("de", "JW", "en-GB", "xx", "")] == [
        "German",
        "Javanese",
        "English",
        "xx",
        "",
    ]


def test_every_language_of_every_listening_engine_has_a_name():
    for manifest in engines.manifests().values():
        if "asr" in manifest.tasks:
            assert all(language_name(tag) != tag for tag in manifest.languages), manifest.id
