import pytest
from mizuoto.mizuoto_runtime.text.normalise import normalise

READINGS = {
    "numbers": {
        "1,234.56": "one thousand two hundred thirty four point five six",
        "3.14": "three point one four",
        ".75": "point seven five",
        "-3.5": "minus three point five",
        "1 000 000": "one million",
        "007": "zero zero seven",
        "1,2,3": "one, two, three",
        "1.5e-6": "one point five times ten to the minus sixth",
        "2×10^8": "two times ten to the eighth",
        "in 1984, 2005 and 3500": "in nineteen eighty four, two thousand five and three thousand five hundred",
        "the 1990s, the '80s": "the nineteen nineties, the 'eighties",
        "21st, 2nd, 1,000th": "twenty first, second, one thousandth",
        "10K 7B 4K": "ten thousand seven billion four K",
    },
    "ranges and fractions": {
        "pages 3-5": "pages three to five",
        "2010 - 2015": "twenty ten to twenty fifteen",
        "1st-3rd": "first to third",
        "1/2 3/4 2/3 5/16": "one half three quarters two thirds five sixteenths",
        "1 1/2 cups": "one and one half cups",
        "½": "one half",
        "24/7": "twenty-four seven",
        "16:9": "sixteen to nine",
        "1920x1080": "nineteen twenty by one thousand eighty",
    },
    "dates": {
        "2024/10/01": "October first, twenty twenty-four",
        "2024-10-01": "October first, twenty twenty-four",
        "10/01/2024": "October first, twenty twenty-four",
        "1 Oct 2024": "the first of October, twenty twenty-four",
        "the 1st of May": "the first of May",
        "Oct. 1, 2024": "October first, twenty twenty-four",
        "Mon-Fri": "Monday to Friday",
        "On Tue, 3 May": "On Tuesday, the third of May",
    },
    "times": {
        "3:00": "three o'clock",
        "15:30": "fifteen thirty",
        "3:05pm": "three oh five PM",
        "3 p.m. today": "three PM today",
        "It is 3 p.m.": "It is three PM.",
        "9am-5pm": "nine AM to five PM",
        "9:00-17:30": "nine o'clock to seventeen thirty",
    },
    "money": {
        "$50": "fifty dollars",
        "$1": "one dollar",
        "$1.5M": "one point five million dollars",
        "$2 billion": "two billion dollars",
        "€3.20": "three euros and twenty cents",
        "£0.01": "one penny",
        "¥100": "one hundred yen",
        "-$5": "minus five dollars",
        "5 €": "five euros",
        "100 USD": "one hundred dollars",
        "$5-$10": "five to ten dollars",
        "50¢": "fifty cents",
        "$3.50/kg": "three dollars and fifty cents per kilogram",
    },
    "percent and units": {
        "-5%": "minus five percent",
        "50 % off": "fifty percent off",
        "5kg": "five kilograms",
        "1 km": "one kilometer",
        "10 km/h": "ten kilometers per hour",
        "3 m/s": "three meters per second",
        "25°C": "twenty five degrees Celsius",
        "-5 °F": "minus five degrees Fahrenheit",
        "3GB": "three gigabytes",
        "20 m²": "twenty square meters",
        "5'10\" tall": "five feet ten inches tall",
    },
    "telephone numbers and codes": {
        "555-1234": "five five five, one two three four",
        "(555) 123-4567": "five five five, one two three, four five six seven",
        "+44 20 7946 0958": "plus four four, two zero, seven nine four six, zero nine five eight",
        "123-45-6789": "one two three, four five, six seven eight nine",
        "192.168.1.1": "one ninety two dot one sixty eight dot one dot one",
        "v1.2.3": "version one point two point three",
        "v2": "version two",
    },
    "names with digits": {
        "wan22": "wan twenty two",
        "IPv6": "IPv six",
        "GPT-4": "GPT four",
        "COVID-19": "COVID nineteen",
        "H2O": "H two O",
        "MP3 3D 5G B2B": "MP three three D five G B two B",
    },
    "short forms": {
        "Dr. Smith and Mr. X": "Doctor Smith and Mister X",
        "Mrs Jones": "Missus Jones",
        "e.g. this, i.e. that": "for example this, that is that",
        "cats, dogs, etc.": "cats, dogs, et cetera.",
        "cats etc. are": "cats et cetera are",
        "A vs. B vs C": "A versus B versus C",
        "St. John, Main St.": "Saint John, Main Street.",
        "No. 5, pp. 3-5, Fig. 2": "Number five, pages three to five, Figure two",
        "I said no. Then": "I said no. Then",
        "the U.S. Army": "the U.S. Army",
    },
    "roman numerals": {
        "Henry VIII": "Henry the eighth",
        "World War II": "World War two",
        "Chapter IV": "Chapter four",
        "I am MIXED, DVD": "I am MIXED, DVD",
    },
    "addresses": {
        "https://www.example.com/a-b?c=1.": "www dot example dot com slash a dash b question mark c equals one.",
        "see example.com, ok": "see example dot com, ok",
        "me_2@x.org": "me underscore two at x dot org",
        "report.pdf": "report dot pdf",
    },
    "signs": {
        "a + b = c": "a plus b equals c",
        "AT&T": "AT and T",
        "#5 #tag": "number five hashtag tag",
        "3 * 4": "three times four",
        "5 - 3 = 2": "five minus three equals two",
        "x <= 5": "x less than or equal to five",
        "C++ C#": "C plus plus C sharp",
        "2^10": "two to the power of ten",
        "~5": "about five",
        "---- ===== ***": "---- ===== ***",
        "and/or, well-known, *a* _b_": "and/or, well-known, *a* _b_",
    },
}
ROWS = [(text, words) for rows in READINGS.values() for text, words in rows.items()]


@pytest.mark.parametrize(("text", "words"), ROWS)
def test_readings(text, words):  # P43, and the strings of P40
    assert normalise(text, "en") == words
    assert normalise(words, "en") == words


@pytest.mark.parametrize("text", [text for text, _ in ROWS])
def test_readings_in_a_sentence(text):
    alone = normalise(f"It was {text} there", "en")
    assert alone.startswith("It was ") and alone.endswith(" there")
    assert normalise(f"We saw ({text}), yes", "en").startswith("We saw (")
