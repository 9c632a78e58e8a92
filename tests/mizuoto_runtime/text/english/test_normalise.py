import pytest
from mizuoto.mizuoto_runtime.text.english.normalise import Normaliser


@pytest.fixture(scope="module")
def normalise(data):
    return Normaliser(data.tables)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at 9:05 pm", "at nine oh five P.M."),
        ("at 9:00", "at nine o'clock"),
        ("at 9:00 a.m. sharp", "at nine A.M. sharp"),
        ("in 1:02:03", "in one oh two and three seconds"),
        ("odds of 99:99", "odds of 99:99"),
        ("on 2024-02-29", "on February twenty-ninth, 2024"),
        ("on 2024-13-29", "on 2024-13-29"),
        ("on 7/4/76", "on July fourth, 1976"),
        ("on 25/12/2020", "on December twenty-fifth, 2020"),
        ("Sept. 3, 1999", "September third, 1999"),
        ("the 3 of May", "the third of May"),
        ("May 45", "May 45"),
        ("$5k", "5 thousand dollars"),
        ("€2bn", "2 billion euros"),
        ("¥500 and ₹1", "500 yen and 1 rupee"),
        ("USD 3 million", "3 million dollars"),
        ("1¢ or 5 ¢", "1 cent or 5 cents"),
        ("-5°C", "-5 degrees Celsius"),
        ("1 km and 5km", "1 kilometer and 5 kilometers"),
        ("60 km/h", "60 kilometers per hour"),
        ("Dr. Smith of St. Ives", "Dr Smith of Saint Ives"),
        ("Main St.", "Main Street."),
        ("No. 5 and #7", "Number 5 and number 7"),
        ("Chapter IV of Henry VIII", "Chapter 4 of Henry the eighth"),
        ("Part I'm in", "Part I'm in"),
        ("Part Ivory", "Part Ivory"),
        ("555-1234", "5 5 5 , 1 2 3 4".replace(" ,", ",")),
        ("open 24/7.", "open twenty-four seven."),
        ("1/2, 3/4 and 9/11", "one half, 3 quarters and September eleventh"),
        ("pages 10-20.", "pages 10 to 20."),
        ("won 21–14!", "won 21 to 14!"),
        ("5€, 5 £ or 5M$", "€5, £5 or 5 million dollars"),
        ("5 $10 notes", "5 $10 notes"),
        ("$5-$10, £3–5", "5 to $10, 3 to £5"),
        ("$5.50-$10", "$5.50 to $10"),
        ("$1500 - $2M", "1,500 to 2 million dollars"),
        ("$5-$10-$15", "$5-$10-$15"),
        ("US$20 and A$1", "20 US dollars and 1 Australian dollar"),
        ("¥1999", "1,999 yen"),
        ("-$5", "$-5"),
        ("1,2,3 and 1,234", "1, 2, 3 and 1,234"),
        ("May 5,1999", "May fifth, 1999"),
        ("10:30-11:45", "ten thirty to eleven forty-five"),
        ("9:00 am – 5:00 pm", "nine A.M. to five P.M."),
        ("10:30-2, 9-11:30", "ten thirty to 2, 9 to eleven thirty"),
        ("9am-5pm, 9 am – 5 pm", "9 A.M. to 5 P.M., 9 A.M. to 5 P.M."),
        ("10am. 10ams", "10am. 10ams"),
        ("5-10€, 5€-10€", "5 to €10, 5 to €10"),
        ("US$5-10, US$5M-US$1B", "5 to 10 US dollars, 5 million to 1 billion US dollars"),
        ("10:30 - 5 came", "ten thirty - 5 came"),
        ("1-800-555-0199", "1, 8 0 0, 5 5 5, 0 1 9 9"),
        ("the Sun. It", "the Sun. It"),
        ("on Sun. 5 of us", "on Sunday 5 of us"),
        ("on Fri. Then we", "on Friday. Then we"),
        ("wait -- now, word--word", "wait — now, word — word"),
        ("a = b < c", "a equals b less than c"),
        ("x > y", "x greater than y"),
        ("50 ± 2 × 3", "50 plus or minus 2 times 3"),
        ("Brand™ •", "Brand"),
        ("  two\nlines\t here  ", "two lines here"),
        ("don’t", "don't"),
    ],
)
def test_special_forms_become_words(normalise, text, words):
    assert normalise(text) == words


def test_plain_prose_stays(normalise):
    text = "It was a plain sentence, with 12 words or so (nearly): was it not?"
    assert normalise(text) == text
