import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.text.clean import clean
from mizuoto.mizuoto_runtime.text.normalise import normalise, tag_spans

FRAGMENTS = [
    *("1,234.56", "-5%", "1/2", "2024/10/01", "10/01/2024", "1 Oct 2024", "Oct 1, ", "3:00", "3:05pm", "$50", "$1.5M"),
    *("€3.20", "¥100", "10 km/h", "25°C", "555-123-4567", "+1 555 ", "Dr. ", "etc.", "St. ", "vs", "v1.2.3", "wan22"),
    *("https://a.com/b1?c=d", "me@x.org", ".com", "H2O", "AT&T", "#5", "->", "===", "Henry VIII", "Mon-Fri", "Sun, "),
    *("[laugh]", "<b>", "1次", "2个", "年", "-5℃", "½", "中文", "NASA SAYS HELLO", "p. ", "No. ", "5'10\"", "th", "K"),
    *("Llama-3.1-8B", "v2.0", "50/50", "12/25", "10 am-5 pm", "Oct 2023", "½", "6' by 9'", '27"', "Elm Dr. ", "US$20"),
    *(
        "1920x1080",
        "911",
        "0800 123 4567",
        "10月1日-7日",
        "8点~10点",
        "80后",
        "号码",
        "拨打",
        "30min，",
        "A+B=C",
        "No.5",
    ),
    *"0123456789-./:,$%@#&+=<>[]()'\"~*^xeM \n中个é\u0301\u200d\ud800",
]
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "and", "It", "was", "fine", "über", "Yes"]), min_size=1)


@given(TEXTS, st.sampled_from(["en", "zh"]), st.booleans())
def test_twice_is_once(text, language, lower_caps):  # P43
    words = normalise(text, language, lower_caps=lower_caps)
    assert normalise(words, language, lower_caps=lower_caps) == words


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join), st.sampled_from(["en", "zh"]))
def test_no_digit_is_left(text, language):
    tags = "".join(text[start:end] for start, end in tag_spans(text))
    assert re.findall("[0-9]", normalise(text, language)) == re.findall("[0-9]", tags)


@given(WORDS, st.sampled_from([" ", ", ", ". ", "\n", "! ", " — ", "; "]), st.sampled_from(["en", "zh"]))
def test_prose_is_left_alone(words, joint, language):
    text = clean(joint.join(words))
    assert normalise(text, language) == text


@given(st.text(st.characters(categories=["L", "Zs", "Mn"]), max_size=60))
def test_letters_of_any_script_are_left_alone(text):
    assert normalise(clean(text), "zh") == clean(text)


@pytest.mark.parametrize("text", ["他说中文，很好。", "“Quoted” words, and (more) – yes…", "  a\n\n b ", "", "😀 👍🏽"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_white_space_and_punctuation_stay(text, language):
    assert normalise(text, language) == text


@pytest.mark.parametrize("language", ["ja", "de-DE", "", "english"])
def test_other_languages_come_back_as_they_are(language):
    assert normalise("am 3. Mai, 50%", language) == "am 3. Mai, 50%"


@pytest.mark.parametrize("language", ["en", "EN-US", "en_GB"])
def test_tags_of_a_language(language):
    assert normalise("50%", language) == "fifty percent"
    assert normalise("50%", "zh-Hans-CN") == "百分之五十"


def test_tags_pass_through():  # P40
    text = '[laugh] 5 <strong>5</strong> [pause:1s] [Ann|seed:42|speed:1.1] <break time="500ms"/> <|5|>'
    assert normalise(text, "en") == text.replace(" 5 ", " five ").replace(">5<", ">five<")
    assert normalise("[laugh]3次[pause:2s]", "zh") == "[laugh]三次[pause:2s]"


def test_numbers_follow_the_language_beside_them():  # P43
    assert normalise("我用GPT-4写了3个file", "zh") == "我用GPT four写了三个file"
    assert normalise("He bought 3 apples. 他买了5个苹果。", "zh") == "He bought three apples. 他买了五个苹果。"
    assert normalise("He said 我有3个苹果 5 times", "en") == "He said 我有三个苹果 five times"


def test_long_capitals_are_folded_when_asked():  # P44
    assert normalise("NASA SAYS HELLO", "en") == "NASA SAYS HELLO"
    assert normalise("NASA SAYS HELLO", "en", lower_caps=True) == "Nasa says hello"
    assert normalise("NASA SAYS HELLO", "zh", lower_caps=True) == "NASA SAYS HELLO"
    assert normalise("[SAD MAN] [A BIG TAG] OK", "en", lower_caps=True) == "[SAD MAN] [A BIG TAG] OK"


def test_an_unknown_engine_is_refused():
    with pytest.raises(InvalidRequest, match=r"no text engine 'wetex'; choose builtin or wetext\. Did you mean"):
        normalise("5", "en", engine="wetex")


@pytest.mark.parametrize(
    "text",
    [
        '1" ' * 2000,
        "5m" * 2000,
        "1' x " * 2000,
        "3点-" * 2000,
        "A-1.5-" * 2000,
        "1" * 5000,
        "1 " * 2000,
        "1-" * 2000,
        "a." * 2000,
        "5%.com" * 800,
        "[a" * 2000,
        "$" * 3000,
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_long_odd_texts_are_read(text, language):
    assert normalise(text, language)
