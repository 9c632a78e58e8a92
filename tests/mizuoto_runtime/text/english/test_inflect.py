import pytest
from mizuoto.mizuoto_runtime.text.english import inflect


@pytest.mark.parametrize(("stem", "sound"), [("kˈæt", "kˈæts"), ("dˈɔɡ", "dˈɔɡz"), ("bˈʌs", "bˈʌsᵻz"), ("bˈi", "bˈiz")])
def test_plural_sound(stem, sound):
    assert inflect.plural_sound(stem) == sound


@pytest.mark.parametrize(
    ("stem", "sound"),
    [("wˈɔk", "wˈɔkt"), ("plˈA", "plˈAd"), ("wˈAt", "wˈAɾᵻd"), ("nˈid", "nˈidᵻd"), ("ˈækt", "ˈæktᵻd")],
)
def test_past_sound(stem, sound):
    assert inflect.past_sound(stem) == sound


def test_progressive_sound():
    assert inflect.progressive_sound("wˈAt") == "wˈAɾɪŋ"
    assert inflect.progressive_sound("ˈækt") == "ˈæktɪŋ"


def test_british_endings():
    assert inflect.plural_sound("bˈɒks", inflect.BRITISH) == "bˈɒksɪz"
    assert inflect.past_sound("wˈAt", inflect.BRITISH) == "wˈAtɪd"
    assert inflect.progressive_sound("wˈAt", inflect.BRITISH) == "wˈAtɪŋ"
    assert inflect.progressive_sound("stˈɛː", inflect.BRITISH) is None


@pytest.mark.parametrize(
    ("stems", "word", "expected"),
    [
        (inflect.plural_stems, "cats", ["cat"]),
        (inflect.plural_stems, "boxes", ["boxe", "box"]),
        (inflect.plural_stems, "ladies", ["ladie", "lady"]),
        (inflect.plural_stems, "boss's", ["boss'", "boss"]),
        (inflect.plural_stems, "grass", []),
        (inflect.past_stems, "baked", ["bake", "bak"]),
        (inflect.past_stems, "freed", ["free"]),
        (inflect.past_stems, "add", []),
        (inflect.progressive_stems, "hopping", ["hopp", "hoppe", "hop"]),
        (inflect.progressive_stems, "panicking", ["panick", "panicke", "panic"]),
        (inflect.progressive_stems, "sing", []),
    ],
)
def test_stems(stems, word, expected):
    assert list(stems(word)) == expected
