from mizuoto.mizuoto_runtime.text.english.pieces import Ahead, Piece, cut, group, meaningful, merge, written


def texts(*tokens):
    return [p.text for p in cut([Piece(t, tag) for t, tag in tokens])]


def test_tokens_are_cut_at_case_digits_and_signs():
    assert texts(("iPhone", "NNP")) == ["i", "Phone"]
    assert texts(("COVID-19", "NNP")) == ["COVID", "-", "19"]
    assert texts(("1,000.50", "CD")) == ["1,000.50"]


def test_currency_goes_to_the_end_of_the_amount():
    sign, five, million, left = cut(
        [Piece("$", "$"), Piece("5", "CD", " "), Piece("million", "CD", " "), Piece("left", "VBD")]
    )
    assert (sign.phonemes, five.currency, million.currency, left.currency) == ("", None, "$", None)


def test_a_sign_of_money_counts_for_one_amount():
    tokens = [Piece("$", "$"), Piece("5", "CD"), Piece(",", ","), Piece("10", "CD", " "), Piece("20", "CD")]
    assert [p.currency for p in cut(tokens)] == [None, "$", None, None, None]


def test_a_sign_of_money_without_a_number_is_reported():
    pieces = list(cut([Piece("$", "$", " "), Piece("now", "RB"), Piece("€", "$")]))
    assert [p.dropped for p in pieces] == [("$",), (), ("€",)]


def test_punctuation_keeps_what_makes_a_pause():
    pieces = list(cut([Piece("–", ":"), Piece(",", ","), Piece("(", "-LRB-"), Piece("*", "NFP")]))
    assert [p.phonemes for p in pieces] == ["—", ",", "(", ""]


def test_emoji_tagged_as_punctuation_are_reported():
    assert next(cut([Piece("😀", "NFP")])).dropped == ("😀",)


def test_two_between_letters_is_to():
    assert [p.alias for p in cut([Piece("B2B", "NN")])] == [None, "to", None]


def test_pieces_without_a_space_are_one_word():
    pieces = [Piece("a"), Piece("b", space=" "), Piece("c"), Piece(",", phonemes=",")]
    groups = group(pieces)
    assert [written(g) for g in groups] == ["ab", "c", ","]
    assert [p.first for p in pieces] == [True, False, True, True]


def test_a_merged_run_has_the_heaviest_tag():
    run = merge([Piece("e", "SYM"), Piece("-", "HYPH"), Piece("Mail", "NN", " ", currency="$")])
    assert (run.text, run.tag, run.space, run.currency) == ("e-Mail", "NN", " ", "$")


def test_what_the_word_before_hears():
    after_comma = Ahead(True).before(Piece(","), ",")
    assert after_comma == Ahead(None)
    assert after_comma.before(Piece("to"), "tʊ") == Ahead(False, to=True)
    assert Ahead(False).before(Piece("x"), "") == Ahead(False)


def test_meaningful():
    assert meaningful("东, 😀 ₽ - \0 '") == "东😀₽"
