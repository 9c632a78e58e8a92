"""Text to phoneme ids: what cannot be read is told, and what has no sound is refused."""

import pytest
from mizuoto.engines.hibari.config import PAD_ID
from mizuoto.engines.hibari.manifest import ASSETS
from mizuoto.engines.hibari.prompt import PhonemeEncoder
from mizuoto.mizuoto_runtime.errors import NothingToSay
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.mizuoto_runtime.settings import Settings


@pytest.fixture(scope="module")
def encode():
    encoder = PhonemeEncoder(ASSETS / "vocab.json")

    def run(text):
        ctx = Runtime(Settings()).context()
        return encoder(text, ctx)[0].tolist(), ctx.report.warnings

    return run


def test_ids_have_a_pad_at_both_ends(encode):
    ids, warnings = encode("Hello there.")
    assert ids[0] == ids[-1] == PAD_ID and len(ids) > 8 and PAD_ID not in ids[1:-1]
    assert not warnings


def test_given_phonemes_are_taken(encode):
    assert encode("[Mizuoto](/hˈI/)")[0] == encode("[x](/hˈI/)")[0]


@pytest.mark.parametrize(
    ("text", "items"),
    [("Tokyo is 東京.", ["東京"]), ("Hello [there](/你好/).", ["[there](/你好/)"]), ("Hi [x](//)", ["[x](//)"])],
)
def test_what_is_left_out_is_told(encode, text, items):
    _, (warning,) = encode(text)
    assert (warning["code"], warning["items"]) == ("dropped_text", items)


@pytest.mark.parametrize("text", ["今日は世界", "Привет мир", "[、](/ˈ/)"])
def test_text_without_a_sound_is_refused(encode, text):
    with pytest.raises(NothingToSay, match=r"it speaks English only\. Choose a model for that language"):
        encode(text)
