import importlib
import sys
import types

import pytest
from mizuoto.engines.kokoro.languages import front_end as front_ends
from mizuoto.engines.kokoro.languages import hindi, japanese, mandarin, spanish
from mizuoto.engines.kokoro.languages.front_end import by_words, front_end, tidy
from mizuoto.engines.kokoro.languages.table import LANGUAGES, install_commands
from mizuoto.mizuoto_runtime.errors import Unsupported
from mizuoto.tests.engines.kokoro.tiny import VOCAB

BY_TAG = {language.tag: language for language in LANGUAGES}


@pytest.fixture(autouse=True)
def _fresh():
    front_end.cache_clear()
    yield
    front_end.cache_clear()


@pytest.mark.parametrize("tag", [language.tag for language in LANGUAGES if language.packages])
def test_what_is_missing_names_itself(monkeypatch, tag):
    monkeypatch.setattr(front_ends, "find_spec", lambda name: None)
    language = BY_TAG[tag]
    with pytest.raises(Unsupported) as caught:
        front_end(language)
    assert f"Kokoro reads {language.name} with the optional package" in str(caught.value)
    assert f"run {install_commands(language.packages)} and restart" in str(caught.value)


def test_commands_name_what_pip_calls_the_packages():
    assert install_commands(["jieba", "pypinyin"]) == "`pip install jieba pypinyin`"
    assert install_commands(BY_TAG["fr"].packages) == (
        "`pip install phonemizer-fork espeakng-loader` and "
        "`pip install --no-deps --ignore-requires-python misaki addict`"
    )


@pytest.mark.parametrize(
    ("error", "command"),
    [
        (ModuleNotFoundError("No module named 'dlinfo'"), "`pip install phonemizer-fork espeakng-loader dlinfo`"),
        (AttributeError("EspeakWrapper has no attribute 'set_data_path'"), "`pip install phonemizer-fork "),
    ],
)
def test_what_is_there_but_does_not_work_says_how_to_mend_it(monkeypatch, error, command):
    def load(_language):
        raise error

    monkeypatch.setattr(front_ends, "find_spec", lambda name: name)
    monkeypatch.setattr(importlib.import_module(f"{front_ends.__package__}.espeak"), "load", load)
    with pytest.raises(Unsupported, match="Kokoro cannot read French") as caught:
        front_end(BY_TAG["fr"])
    assert command in str(caught.value) and str(error) in str(caught.value)


def test_punctuation_stays_and_what_has_no_sound_is_reported():
    found = by_words("abc, «de» 12 x!", "[a-e]", str.upper)
    assert found.text == "ABC, “DE”!"
    assert found.dropped == ("12", "x")
    assert tidy(" a  b , c ") == "a b, c"


# ---- Mandarin


@pytest.fixture(scope="module")
def misaki():
    return pytest.importorskip("misaki.zh")


def test_every_syllable_sounds_as_in_misaki(misaki):
    from pypinyin.constants import PINYIN_DICT
    from pypinyin.contrib.tone_convert import to_tone3

    spelled = {mark for marks in PINYIN_DICT.values() for mark in marks.split(",")}
    syllables = sorted({to_tone3(mark, neutral_tone_with_five=True) for mark in spelled})
    assert len(syllables) > 1300
    differing = {}
    for syllable in syllables:
        try:
            expected = misaki.ZHG2P.py2ipa(syllable).replace(chr(815), "")
        except (AssertionError, ValueError):
            continue  # no syllable of the standard language
        if mandarin.pinyin_sound(syllable) != expected:
            differing[syllable] = (mandarin.pinyin_sound(syllable), expected)
    assert {syllable[:-1] for syllable in differing} <= {"yo", "wong"}


@pytest.mark.parametrize(
    "text", ["你好，世界！", "今天天气很好。", "他说：“银行行长重新上任了。”", "女儿绿色的旅行（真的）。"]
)
def test_mandarin_reads_as_misaki(misaki, text):
    expected = misaki.ZHG2P()(text)[0]
    assert front_end(BY_TAG["zh"])(text).text == tidy(expected)


def test_mandarin_reads_numbers_and_reports_other_letters():
    read = front_end(BY_TAG["zh"])
    assert read("我有2个").text == read("我有两个").text
    assert read("我用Kokoro说话").dropped == ("Kokoro",)
    assert set(read("第一，二月三日四点五分！").text) <= VOCAB.keys()


# ---- Japanese


@pytest.mark.parametrize(
    ("kana", "sound"),
    [
        ("コンニチワ", "koɲɲiʨiβa"), ("トーキョー", "toːkʲoː"), ("シンブン", "ɕimbɯɴ"), ("ガッコー", "ɡaʔkoː"),
        ("パーティー", "paːtiː"),
        ("チャ", "ʨa"), ("ギンコー", "ɡʲiŋkoː"), ("、", ""),
    ],
)  # fmt: skip
def test_kana(kana, sound):
    assert japanese.kana_sound(kana) == sound
    assert set(sound) <= VOCAB.keys()


def test_japanese_joins_what_the_parser_chains(monkeypatch):
    words = [
        ("今日", "キョー", 0),
        ("は", "ワ", 1),
        ("、", "、", 0),
        ("「", "「", 0),
        ("雨", "アメ", 0),
        ("」", "」", 0),
        ("X", "", 0),
    ]
    parser = types.ModuleType("pyopenjtalk")
    parser.run_frontend = lambda text: [
        {"string": string, "pron": pron, "chain_flag": chain} for string, pron, chain in words
    ]
    monkeypatch.setitem(sys.modules, "pyopenjtalk", parser)
    found = japanese.load(BY_TAG["ja"])("今日は、「雨」X")
    assert found.text == "kʲoːβa, “ame”"
    assert found.dropped == ("X",)


# ---- Spanish and Hindi


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("Hola, ¿cómo estás?", "ˈola, kˈomo estˈas?"),
        ("El perro come queso.", "el pˈero kˈome kˈeso."),
        ("cigüeña, guitarra, gente", "θiɣwˈeɲa, ɡitˈara, xˈente"),
        ("la ciudad de Madrid", "la θjuðˈað de maðɾˈið"),
        ("causa, reina, baile", "kˈWsa, rˈAna, bˈIle"),
        ("tengo un banco", "tˈeŋɡo un bˈaŋko"),
        ("y el niño, muy bien", "i el nˈiɲo, mwˈi βjˈen"),
        ("caldo, alrededor", "kˈaldo, alreðeðˈoɾ"),
    ],
)
def test_spanish(text, sound):
    assert spanish.convert(text).text == sound
    assert set(sound) <= VOCAB.keys()


def test_spanish_numbers_are_reported():
    assert spanish.convert("tengo 3 gatos").dropped == ("3",)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("नमस्ते", "nəmˈʌsteː"),
        ("मैं घर जाता हूँ।", "mˈɛ\u0303ː ɡʰˈʌɾ ɟˈaːtaː hˈu\u0303ː."),
        ("लड़का", "lˈʌɽkaː"),
        ("हिंदी", "hˈɪndiː"),
        ("कमल", "kˈʌməl"),
    ],
)
def test_hindi(text, sound):
    assert hindi.convert(text).text == sound


# ---- espeak


def test_espeak_is_asked_for_the_language(monkeypatch):
    asked = []

    class EspeakG2P:
        def __init__(self, language):
            asked.append(language)

        def __call__(self, text):
            return text.upper(), None

    module = types.ModuleType("misaki.espeak")
    module.EspeakG2P = EspeakG2P
    monkeypatch.setitem(sys.modules, "misaki.espeak", module)
    monkeypatch.setattr(sys.modules.get("misaki") or importlib.import_module("misaki"), "espeak", module, raising=False)
    monkeypatch.setattr(front_ends, "find_spec", lambda name: object())
    assert [front_end(BY_TAG[tag])("a").text for tag in ("fr", "it", "pt-BR")] == ["A"] * 3
    assert asked == ["fr-fr", "it", "pt-br"]
