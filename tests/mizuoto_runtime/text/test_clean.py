import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.text.clean import clean

ODD = "\0\t\r\n\x0b\f\x85\u00a0\u00ad\u200b\u200c\u200d\u200e\u2028\u2029\u3000\ufeff"
ODD += "\ud83d\ude00–—“”‘’«»．：，１ａｶﾞﬁ𝐇é\u0301中あ。❤\ufe0f"
TEXTS = st.one_of(st.text(max_size=80), st.text(st.sampled_from(ODD + "ab1 -"), max_size=40))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("“Hello,” she said — it’s ‘fine’…", "\"Hello,\" she said — it's 'fine'…"),
        ("他说：“你好。”", "他说：“你好。”"),
        ("«Oui»", '"Oui"'),
        ("pages 3–5, a well‑known – or not – rule", "pages 3-5, a well-known — or not — rule"),
        ("\u22125 °C", "-5 °C"),
        ("\ufeffzero\u200bwidth\u00ad\u2060 \0\x07text\u200e", "zerowidth text"),
        ("a\u00a0b\u2003c\u3000d\te", "a b c d e"),
        ("  a  \r\n b\r\rc\u2028d\u2029e\n\n\n\nf ", "a\nb\n\nc\nd\n\ne\n\nf"),
        ("ＡＢＣ　１２３，ａ", "ABC 123，a"),
        ("１，０００．５０元，２：３０。", "1,000.50元，2:30。"),
        ("100，200，300元", "100，200，300元"),
        ("110，120 €20，100 3/4，1/2 2020/01/02，2024-10-01", "110，120 €20，100 3/4，1/2 2020/01/02，2024-10-01"),
        ("１，２，３；１２，３４５，６７８", "1，2，3；12,345,678"),
        ("¥￥５０％", "¥¥50%"),
        ("ﾄﾞｲﾂ、ﬁn 𝐇𝐢", "ドイツ、fin Hi"),
        ("e\u0301", "é"),
        ("a\ud800b \ud83d\ude00", "ab 😀"),
        ("", ""),
        ("\0\u200b", ""),
    ],
)
def test_what_changes(text, wanted):
    assert clean(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("👨‍👩‍👧 ❤️ 👍🏽 🇫🇷 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "می‌خواهم", "क्‍ष"),
        *('[laugh] [pause:1s] [Name|seed:42] <strong>x</strong> <break time="500ms"/>', "{deep} C:\\x a_b *c* `d` ~"),
        *(
            "「こんにちは」、世界！（笑）",
            "中文，标点。？！：；",
            "naïve Ünïcödé",
            "한국어 텍스트.",
            "--- wait -- what",
        ),
    ],
)
def test_what_stays(text):
    assert clean(text) == text


def test_joiners_go_where_nothing_joins():
    assert clean("a\u200db 中\u200d文 \u200d👍\u200d.") == "ab 中文 👍."


@given(TEXTS)
def test_once_is_enough_and_the_result_can_be_encoded(text):
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    cleaned.encode("utf-8")
    assert unicodedata.is_normalized("NFC", cleaned)


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x2FF), max_size=60))
def test_letters_stay(text):
    assert clean(text) == unicodedata.normalize("NFC", text)
