import pytest
from mizuoto.mizuoto_runtime.text.english.days import DayReader


@pytest.fixture(scope="module")
def read(data):
    return DayReader(data.tables["abbreviations"], data.tables["months"].values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mon, 3 May", "Monday, 3 May"),
        ("Sat May 5", "Saturday May 5"),
        ("Tue 10:00", "Tuesday 10:00"),
        ("Sun 9 am", "Sunday 9 am"),
        ("Wed the 3rd", "Wed the 3rd"),
        ("Fri", "Friday"),
        ("open Thu, not Tues", "open Thursday, not Tuesday"),
        ("on Mon, please", "on Monday, please"),
        ("Every Sat we go", "Every Saturday we go"),
        ("Mon-Fri", "Monday to Friday"),
        ("Mon - Fri", "Monday to Friday"),
        ("Mon/Wed/Fri", "Monday, Wednesday, Friday"),
        ("Sat and Sun", "Saturday and Sunday"),
        ("Monday to Fri", "Monday to Friday"),
        ("Wed", "Wednesday"),
        ("Mon, we start", "Monday, we start"),
    ],
)
def test_days_are_read_in_full(read, text, words):
    assert read(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Sun is shining.",
        "The Sun, 5 planets.",
        "He sat. Sat, he said.",
        "Sat 5 exams",
        "Mon ami",
        "Wed in 1990",
        "Thu Nguyen",
        "on Sun Microsystems",
        "they wed on Monday",
        "Frieda and Sunny Monica",
        "Thu-Ha and Fri-fri",
        "on the Sun",
    ],
)
def test_other_words_stay(read, text):
    assert read(text) == text
