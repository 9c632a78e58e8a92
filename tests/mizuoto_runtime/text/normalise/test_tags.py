import pytest
from mizuoto.mizuoto_runtime.text.normalise import tag_spans


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a [laugh] b [pause:1s]", ["[laugh]", "[pause:1s]"]),
        ("[Ann|seed:42]hi[/Ann]", ["[Ann|seed:42]", "[/Ann]"]),
        ("[word](/w1d/) x", ["[word](/w1d/)"]),
        ('<b>x</b> <break time="1s"/> <|eot|>', ["<b>", "</b>", '<break time="1s"/>', "<|eot|>"]),
        ("see [1] and [ 2 ], a < b > c, 3<4>2, <3", []),
        ("[open [laugh] a]", ["[laugh]"]),
        ("[a\nb] <a\nb>", []),
        ("[" + "a" * 300 + "]", []),
    ],
)
def test_tags(text, tags):
    assert [text[start:end] for start, end in tag_spans(text)] == tags
