import pytest
from mizuoto.mizuoto_runtime.text.normalise.caps import fold_caps


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("NASA SAYS HELLO", "Nasa says hello"),
        ("BREAKING NEWS: THE BBC AND I DON'T KNOW", "Breaking news: the BBC and I don't know"),
        ("WORLD WAR II BEGINS", "World war II begins"),
        ("THE USA AND A DOG", "The USA and a dog"),
        ("NASA SAYS hello", "NASA SAYS hello"),
        ("The FBI. And BBC News", "The FBI. And BBC News"),
        ("ÉCOLE MODERNE", "ÉCOLE MODERNE"),
    ],
)
def test_folding(text, folded):
    assert fold_caps(text) == folded
    assert fold_caps(folded) == folded
