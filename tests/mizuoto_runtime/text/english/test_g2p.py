"""The whole front end: readings of telling sentences, what it reports as dropped, and odd input."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("I read it yesterday.", "ˌI ɹˈɛd ɪt jˈɛstəɹdˌA."),
        ("I will read it.", "ˌI wɪl ɹˈid ɪt."),
        ("They live near the live music.", "ðˌA lˈɪv nˌɪɹ ðə lˈIv mjˈuzɪk."),
        ("the record", "ðə ɹˈɛkəɹd"),
        ("to record it", "tə ɹəkˈɔɹd ɪt"),
        ("the apple, the pear", "ði ˈæpᵊl, ðə pˈɛɹ"),
        ("to eat to go to", "tʊ ˈit tə ɡˌO tu"),
        ("I am in.", "ˌI ɐm ˈɪn."),
        ("He used to use it.", "hˌi jˈust tə jˈuz ɪt."),
        (
            "Dr. Smith paid $3.50 on May 5th.",
            "dˈɑktəɹ smˈɪθ pˈAd θɹˈi dˈɑləɹz ænd fˈɪfti sˈɛnts ˌɔn mˈA fˈɪfθ.",
        ),
        ("NASA and the FBI", "nˈæsə ænd ði ˌɛfbˌiˈI"),
        ("the 1990s", "ðə nˌIntˈin nˈIndiz"),
        ("5%", "fˈIv pəɹsˈɛnt"),
        ("$5 million", "fˈIv mˈɪljᵊn dˈɑləɹz"),
        ("-5", "mˈInəs fˈIv"),
        ("F16", "ˈɛf sˌɪkstˈin"),
        ("B2B", "bˈitəbˈi"),
        ("e-mail, T-shirt", "ˈimˌAl, tˈiʃˌɜɹt"),
        ("state-of-the-art", "stˈAtʌvðiˈɑɹt"),
        ("email me@x.org", "ˈimˌAl mˌi æt ˈɛks dˌɑt ˈɔɹɡ"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_readings(g2p, text, phonemes):
    assert g2p(text) == phonemes


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("version 3.10", "vˈɜɹʒən θɹˈi pYnt wˈʌn zˈɪɹO"),
        ("2.0", "tˈu pYnt zˈɪɹO"),
        ("word--word", "wˈɜɹd — wˈɜɹd"),
        ("won 21-14.", "wˈʌn twˈɛnti wˈʌn tə fˌɔɹtˈin."),
        ("at 5 p.m.", "æt fˈIv pˌiˈɛm."),
        ("in the U.S.", "ɪn ðə jˌuˈɛs."),
        ("and .75", "ænd pYnt sˈɛvən fˈIv"),
        ("€2bn", "tˈu bˈɪljən jˈʊɹOz"),
        ("24/7", "twˈɛntifˌɔɹ sˈɛvən"),
        ("wtf", "dˌʌbᵊljutˌiˈɛf"),
        ("Part Ivory", "pˈɑɹt ˈIvəɹi"),
        ("It costs $5, 10 people came", "ˌɪt kˈɔsts fˈIv dˈɑləɹz, tˈɛn pˈipᵊl kˈAm"),
        ("€0.99, $5M", "nˈIndi nˈIn sˈɛnts, fˈIv mˈɪljᵊn dˈɑləɹz"),
        ("5$, 5 dollars", "fˈIv dˈɑləɹz, fˈIv dˈɑləɹz"),
        ("$5-$10", "fˈIv tə tˈɛn dˈɑləɹz"),
        ("US$20", "twˈɛnti jˌuˈɛs dˈɑləɹz"),
        ("5€", "fˈIv jˈʊɹOz"),
        ("-$5", "mˈInəs fˈIv dˈɑləɹz"),
        ("1,2,3", "wˈʌn, tˈu, θɹˈi"),
        ("10:30-11:45", "tˈɛn θˈɜɹTi tʊ əlˈɛvᵊn fˌɔɹTifˈIv"),
        ("PIN 0042", "pˈɪn zˈɪɹO zˈɪɹO fˈɔɹ tˈu"),
        ("0958", "zˈɪɹO nˈIn fˈIv ˈAt"),
        ("555-0199", "fˈIv fˈIv fˈIv, zˈɪɹO wˈʌn nˈIn nˈIn"),
        ("Mon, 3 May", "mˈʌndˌA, ðə θˈɜɹd ʌv mˈA"),
        ("He is in the Sun. It is hot.", "hˌi ɪz ɪn ðə sˈʌn. ˌɪt ɪz hˈɑt."),
    ],
)
def test_readings_that_differ_from_the_wheel_on_purpose(g2p, text, phonemes):
    assert g2p(text) == phonemes


def test_markup_sets_the_phonemes_of_a_word(g2p):
    assert g2p("[Kokoro](/kˈOkəɹO/) rules.") == "kˈOkəɹO ɹˈulz."
    assert g2p("the [tomato](/ˈAtəmɑtO/)").startswith("ði ")  # the next sound counts, not the spelling
    assert g2p("[word](no phonemes)") == g2p("word")
    assert g2p("[a](b") and g2p("[[x](/y/)")


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("Hello, world! (5% of $3)", ()),
        ("Tokyo is 東京 and नमस्ते.", ("東京", "नमस्ते")),
        ("مرحبا", ("مرحبا",)),
        ("so 😀 happy", ("😀",)),
        ("₽5", ("₽",)),
        ("naïve café", ()),
        ("quiet - “quoted” … yes", ()),
        ("[東京](/tˈOkiˌO/)", ()),
    ],
)
def test_what_has_no_sound_is_reported(g2p, text, dropped):
    assert g2p.convert(text).dropped == dropped


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("I said Привет to Иван", ("Привет", "Иван")),
        ("Ελλάδα", ("Ελλάδα",)),
        ("Łódź, µ and Hawaiʻi", ()),
        ("$ alone", ("$",)),
        ("how many $", ("$",)),
        ("$5 or $5-$10 or 5$", ()),
    ],
)
def test_other_scripts_and_lone_signs_are_reported(g2p, text, dropped):
    assert g2p.convert(text).dropped == dropped


def test_other_scripts_leave_no_sound(g2p):
    assert not any(map(str.isalpha, g2p("Привет Ελλάδα")))


@pytest.mark.parametrize("given", ["", "123", "你好", "ˈ"])
def test_markup_without_a_phoneme_leaves_the_word_and_is_reported(g2p, given):
    reading = g2p.convert(f"the [apple](/{given}/) pie")
    assert reading.text == g2p("the apple pie")
    assert reading.dropped == (f"[apple](/{given}/)",)


def test_given_phonemes_outside_the_alphabet_are_reported(g2p):
    reading = g2p.convert("[Mizuoto](/mˌi你zu5/) is")
    assert reading.text == "mˌizu ɪz"
    assert reading.dropped == ("你5",)


def test_call_is_the_text_of_convert(g2p):
    assert g2p("Tokyo is 東京.") == g2p.convert("Tokyo is 東京.").text


def test_long_text_reads_as_its_sentences(g2p):
    sentence = "The quick brown fox, who had read it, jumped over the lazy dog. "
    assert g2p(sentence * 100) == " ".join([g2p(sentence)] * 100)


ODD = [
    "\0",
    "¹A",
    "¹AA",
    "\ud800",
    "😀",
    "中文",
    "[a](/b/) ",
    "1-",
    "a1",
    "/./",
    "((",
    "$",
    "½",
    "A.",
    "'",
    "1 ",
    "\n",
    "é",
    "٣",
    "\u0301",
]


@pytest.mark.parametrize("unit", ODD)
def test_odd_input_is_read(g2p, unit):
    assert isinstance(g2p(unit), str)
    assert isinstance(g2p(unit * 300), str)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("aA1.,-'/$% []()th")), max_size=60))
def test_never_raises(g2p, text):
    assert isinstance(g2p(text), str)


@pytest.mark.parametrize(("unit", "longest"), [("word ", 100_000), ("(", 20_000), ("中文", 100_000), ("Aa. ", 20_000)])
def test_time_grows_with_length_only(g2p, unit, longest):
    def seconds(num_chars: int) -> float:
        text = (unit * num_chars)[:num_chars]
        start = time.process_time()
        g2p(text)
        return time.process_time() - start

    seconds(1000)
    short, long = seconds(longest // 10), seconds(longest)
    assert long < 25 * short + 0.5
