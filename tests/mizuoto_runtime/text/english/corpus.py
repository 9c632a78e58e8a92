"""Lines of English for the comparison with the wheel: old prose, and templates of what front ends get wrong."""

import random
from pathlib import Path

NAMES = "Smith Jones Nakamura O'Brien McDonald Zelensky Patel Kowalski Bennet Huang Schmidt Xanthopoulos"
TITLES = "Mr. Mrs. Ms. Dr. Prof. Gen. Gov. Sen. Capt. Lt. Sgt. Rev. St."
MONTHS = "January Feb. March Apr. May June Jul. August Sept. Oct. November Dec."
UNITS = "km cm mm kg mg lb lbs oz ft mi ml mph km/h Hz kHz MHz GHz MB GB TB hrs mins sec ms yd kWh MW fps"
ROMANS = "II III IV V VI VII VIII IX XI XIV XIX"
SYLLABLES = "ba dro fli gra ki lo mun nep quo ril sta tru vex wim zor pla the shi cha ost ung ard"

HOMOGRAPHS = [
    "I read the book that you read yesterday, and I will read it again.",
    "They live near the live music, and the record will record them.",
    "He wound the bandage around the wound before the wind could wind it.",
    "The bass player caught a bass close to the dock; close the door.",
    "She will present the present to the absent minister.",
    "We used to use the tools that he used to fix it, and he is used to it.",
    "The desert is no place to desert a friend, and the dessert was used up.",
    "An estimate is what they estimate; a separate fund is hard to separate.",
    "The dove dove into the bushes, and a tear fell from the tear in her coat.",
    "Perfect practice lets you perfect the permit that they permit.",
    "I am in. Come in! The end is in sight, and in April the others go in.",
    "The apple, the orange and the pear: a lot to eat, to you, to us, to a friend, to.",
    "THE END IS NEAR, AND I AM AT IT.",
    "NASA and the FBI met the CEO of IBM, a UFO fan with a PhD from MIT.",
    "The iPhone, the eBay listing, a T-shirt and an e-mail to the B2B team.",
    "Don't you think we'll've finished? It's Jones's, not the Joneses' or James'.",
    "Write to info@example.com or see www.example.org/help and https://example.net.",
    "He's gonna go 'cause y'all can't, o'clock or not.",
    "Rock 'n' roll isn't dead; it just smells funny (or so Frank said).",
    "The U.S. and the U.K. signed it, i.e. both of them, e.g. on Monday, etc.",
    "A well-known, state-of-the-art, twenty-first-century, mother-in-law joke.",
    "50% of 20 & 30 + 5 is more than 10, isn't it?",
    "She walked, waited, begged, baited, passed, hugged and planned; hopping, baking, panicking.",
    "Buses, boxes, cats, dogs, ladies, watches, judges' robes and the boss's chair.",
    "[Kokoro](/kˈOkəɹO/) is said as written, and [Mizuoto](/mˌizuˈOtO/) too.",
]


TEMPLATES = [
    "There were {big:,} visitors and {n} guides in {year} alone.",
    "The {rank} of them scored {n}.{digit} points.",
    "It cost {money} in the {decade}s, but {money} today.",
    "{title} {name} left on {month} {day}, {year}, for good.",
    "On {hour}/{day}/{year} at {hour}:{minute:02} pm it rained.",
    "Meet me at {hour}:{minute:02} on {year}-{hour:02}-{day:02} sharp.",
    "It weighs {n} {unit} and is {n}{unit} away, at -{day}°C or {n}°F or so.",
    "{king} {roman} is in Chapter {roman} of World War {roman}.",
    "Add {digit}/{digit} cup to {digit}-{n} parts of it, no. {n} on the list.",
    "The F{day}, the B{big} and the A{hundreds} flew -{n} miles.",
    "Use v{digit}.{digit}.{digit} or {digit}.{digit}.{digit} of {word} now!",
    "The {word}s {word}ed a {word}ing, said {name}'s Prof. {word}.",
    "Call {hundreds}-{hundreds}-{year} or ask for #{n} at {n} Main St. near the Ave. sign.",
]
KINGS = ["Henry", "Louis", "Pope Pius", "Elizabeth"]


def _word(rng):
    word = "".join(rng.choice(SYLLABLES.split()) for _ in range(rng.randint(2, 4)))
    return rng.choice([word, word.capitalize(), word.upper()])


def _rank(rng):
    n = rng.randint(1, 120)
    return f"{n}{'th' if 3 < n % 100 < 21 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _money(rng):
    amounts = [
        f"{rng.randint(1, 999)}",
        f"{rng.randint(1, 99)}.{rng.randint(11, 99)}",
        f"{rng.randint(1, 999)},{rng.randint(0, 999):03}",
        f"{rng.randint(2, 90)} {rng.choice(['million', 'billion', 'thousand'])}",
        f"{rng.randint(2, 90)}{rng.choice('kMB')}",
    ]
    return rng.choice("$£€") + rng.choice(amounts)


class _Fields(dict):
    """Draws a new value every time a template asks for a field."""

    def __init__(self, rng):
        ranges = {"n": 120, "digit": 9, "day": 28, "hour": 12, "big": 10**9}
        self.draw = {
            **{name: lambda top=top: rng.randint(1, top) for name, top in ranges.items()},
            "minute": lambda: rng.randint(0, 59),
            "hundreds": lambda: rng.randint(200, 999),
            "year": lambda: rng.randint(1066, 2099),
            "decade": lambda: 1900 + 10 * rng.randint(0, 9),
            "rank": lambda: _rank(rng),
            "money": lambda: _money(rng),
            "word": lambda: _word(rng),
            "king": lambda: rng.choice(KINGS),
            "title": lambda: rng.choice(TITLES.split()),
            "name": lambda: rng.choice(NAMES.split()),
            "month": lambda: rng.choice(MONTHS.split()),
            "unit": lambda: rng.choice(UNITS.split()),
            "roman": lambda: rng.choice(ROMANS.split()),
        }

    def __missing__(self, name):
        return self.draw[name]()


def prose():
    return (Path(__file__).parent / "prose.txt").read_text("utf-8").splitlines()


def lines(num_templates=500, seed=7):
    rng = random.Random(seed)
    fields = _Fields(rng)
    return [*prose(), *HOMOGRAPHS, *(rng.choice(TEMPLATES).format_map(fields) for _ in range(num_templates))]
