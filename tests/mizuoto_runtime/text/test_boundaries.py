import pytest
from mizuoto.mizuoto_runtime.text.boundaries import Strength, places


def marked(text: str) -> str:
    """`text` with its places marked: ¶ paragraph, | sentence, ; clause, _ space, . ideograph."""
    signs = {
        Strength.PARAGRAPH: "¶",
        Strength.SENTENCE: "‖",
        Strength.CLAUSE: "|",
        Strength.SPACE: "_",
        Strength.IDEOGRAPH: "·",
    }
    out, last = "", 0
    for at, strength in places(text):
        out += text[last:at].rstrip() + signs[strength]
        last = at
    return out + text[last:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three, four", "One_two.‖Three,|four"),
        ("One.\n\nTwo\nthree", "One.¶Two|three"),
        ("Dr. Smith met J. R. R. Tolkien", "Dr. Smith_met_J. R. R. Tolkien"),
        ("e.g. this, i.e. that etc. or so", "e.g. this,|i.e. that_etc._or_so"),
        ("Buy it etc. Then go", "Buy_it_etc.‖Then_go"),
        ("the U.S. Army", "the_U.S._Army"),
        ("at 5 p.m. The end", "at_5_p.m.‖The_end"),
        ("No. 5 or no. Then", "No. 5_or_no.‖Then"),
        ("So did I. Then", "So_did_I.‖Then"),
        ("It is 3.14, or 1,000.5 at 10:30", "It_is_3.14,|or_1,000.5_at_10:30"),
        ("5 000 000 people", "5 000 000_people"),
        ("12\u00a0kg here", "12\u00a0kg_here"),
        ("[long pause] Then [a b](/x y/) c", "[long pause]|Then_[a b](/x y/)|c"),
        ("See https://a.b/c,d?e=f;g. Then", "See_https://a.b/c,d?e=f;g.‖Then"),
        ("“Stop!” she said. “Go.” Yes", "“Stop!”|she_said.‖“Go.”‖Yes"),
        ("Wait... what? Yes… No", "Wait...|what?‖Yes…‖No"),
        ("word—word – word", "word—|word_–|word"),
        ("好的。「走吧！」他说，然后", "好·的。‖「走·吧！」‖他·说，|然·后"),
        ("きょう、ラーメン", "きょ·う、|ラー·メ·ン"),
        ("１，０００元", "１，０００元"),
        ("안녕 하세요", "안녕_하세요"),
    ],
)
def test_places(text, expected):
    assert marked(text) == expected


def test_no_place_at_either_end():
    assert list(places(" a ")) == [(1, Strength.SPACE)]
    assert list(places("")) == []
