import pytest
from mizuoto.mizuoto_runtime.text.normalise.weekdays import read_days


@pytest.mark.parametrize("padding", ["", "some words " * 20])
def test_days_are_read_anywhere(padding):
    text = (
        f"{padding}open Mon-Fri, 9 to 5. The sun and the Sun. {padding}On Tue, 3 May we met; {padding}until Sat at noon"
    )
    wanted = text.replace("Mon-Fri", "Monday to Friday").replace("Tue,", "Tuesday,").replace("Sat ", "Saturday ")
    assert read_days(text) == wanted


def test_days_in_full_and_other_words_stay():
    text = "He Sat on it, a Monk on Monday and Sunday; the Sun. " * 8
    assert read_days(text) == text
