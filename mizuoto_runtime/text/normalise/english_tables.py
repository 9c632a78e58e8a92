"""What English text is full of beside words; the rest of the tables is shared with the built-in voice's front end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..english.data import DATA_FOLDER


@cache
def shared_tables() -> Mapping[str, Any]:
    """Months, titles, abbreviations, units, currencies and the names before roman numerals."""
    return json.loads((DATA_FOLDER / "normalize.json").read_text("utf-8"))


@cache
def month_names() -> Mapping[str, str]:
    """Written form -> month in full: "Oct", "October" and so on."""
    months = {short.capitalize(): full for short, full in shared_tables()["months"].items()}
    return months | {full: full for full in months.values()} | {"Sept": "September"}


TITLES = {"Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Dr": "Doctor"}
"""Titles with or without a full stop, before a name."""

ABBREVIATIONS = {
    "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Dr.": "Doctor", "MR.": "Mister", "MRS.": "Missus",
    "DR.": "Doctor", "ST.": "Saint", "VS.": "versus", "VS": "versus", "etc.": "et cetera", "ETC.": "et cetera",
    "Etc.": "et cetera", "&c.": "et cetera", "e.g.": "for example", "E.g.": "For example", "E.G.": "for example",
    "eg.": "for example", "i.e.": "that is", "I.e.": "That is", "I.E.": "that is", "et al.": "and others",
    "a.k.a.": "also known as", "c.f.": "compare", "viz.": "namely", "ft.": "feet", "a.m.": "AM", "p.m.": "PM",
    "A.M.": "AM", "P.M.": "PM",
}  # fmt: skip
"""Beside those of the shared table, or in place of them; what engines know without a full stop is left alone."""

BEFORE_NUMBERS = {
    "no": "number", "nos": "numbers", "fig": "figure", "figs": "figures", "vol": "volume", "vols": "volumes",
    "ch": "chapter", "chap": "chapter", "p": "page", "pp": "pages", "sec": "section", "art": "article",
    "eq": "equation", "ed": "edition", "par": "paragraph",
}  # fmt: skip
"""Abbreviations only where a number follows: "no. 5"."""

NOT_ALWAYS = frozenset(
    [
        "no.", "nos.", "fig.", "Fig.", "ch.", "Ch.", "vol.", "Vol.", "pp.", "ed.", "Sun.", "Sat.", "Mon.", "Wed.",
        "Mar.", "May.", "w/", "aka", "BTW", "IMO", "TBD", "AKA", "cf.",
    ]
)  # fmt: skip
"""Of the shared table: words too, or fine as they are."""

ENDS_SENTENCES = frozenset(
    [
        "et al.",
        "etc.", "ETC.", "Etc.", "&c.", "a.m.", "p.m.", "A.M.", "P.M.", "Jr.", "Sr.", "Inc.", "Ltd.",
        "Co.", "Corp.", "Bros.", "St.", "Ave.", "Blvd.", "Rd.", "ft.",
    ]
)  # fmt: skip
"""Their full stop may end the sentence, too."""

UNITS = {
    "m": ("meter", "meters"), "g": ("gram", "grams"), "l": ("liter", "liters"), "L": ("liter", "liters"),
    "s": ("second", "seconds"), "h": ("hour", "hours"), "t": ("ton", "tons"), "mL": ("milliliter", "milliliters"),
    "cl": ("centiliter", "centiliters"), "dl": ("deciliter", "deciliters"), "dm": ("decimeter", "decimeters"),
    "V": ("volt", "volts"), "W": ("watt", "watts"), "kV": ("kilovolt", "kilovolts"), "mW": ("milliwatt", "milliwatts"),
    "J": ("joule", "joules"), "kJ": ("kilojoule", "kilojoules"), "N": ("newton", "newtons"), "Wh": ("watt hour",) * 2,
    "Ω": ("ohm", "ohms"), "mA": ("milliampere", "milliamperes"), "Pa": ("pascal", "pascals"),
    "hPa": ("hectopascal", "hectopascals"), "kPa": ("kilopascal", "kilopascals"), "bar": ("bar", "bars"),
    "dB": ("decibel", "decibels"), "cal": ("calorie", "calories"), "kcal": ("kilocalorie", "kilocalories"),
    "ha": ("hectare", "hectares"), "px": ("pixel", "pixels"), "dpi": ("D P I",) * 2, "bpm": ("beats per minute",) * 2,
    "rpm": ("revolutions per minute",) * 2, "GiB": ("gibibyte", "gibibytes"), "MiB": ("mebibyte", "mebibytes"),
    "KiB": ("kibibyte", "kibibytes"), "PB": ("petabyte", "petabytes"), "kbps": ("kilobits per second",) * 2,
    "m²": ("square meter", "square meters"), "m2": ("square meter", "square meters"),
    "km²": ("square kilometer", "square kilometers"), "km2": ("square kilometer", "square kilometers"),
    "cm²": ("square centimeter", "square centimeters"), "m³": ("cubic meter", "cubic meters"),
    "m3": ("cubic meter", "cubic meters"), "cm³": ("cubic centimeter", "cubic centimeters"),
    "°C": ("degree Celsius", "degrees Celsius"), "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "° C": ("degree Celsius", "degrees Celsius"), "° F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "℃": ("degree Celsius", "degrees Celsius"), "℉": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"), "%": ("percent", "percent"), "‰": ("per mille", "per mille"),
    "x": ("times", "times"), "µs": ("microsecond", "microseconds"), "μm": ("micrometer", "micrometers"),
}  # fmt: skip
"""Written form -> singular, plural; beside those of the shared table."""

PER = {
    "h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "m": "meter", "km": "kilometer",
    "kg": "kilogram", "g": "gram", "l": "liter", "L": "liter", "ml": "milliliter", "day": "day", "d": "day",
    "week": "week", "month": "month", "year": "year", "mo": "month", "yr": "year", "m²": "square meter",
    "m³": "cubic meter", "cm³": "cubic centimeter",
}  # fmt: skip
"""After the slash of "m/s"."""

CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"), "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"), "¥": ("yen", "yen", "sen", "sen"), "₩": ("won", "won", "", ""),
    "₹": ("rupee", "rupees", "paisa", "paise"), "₽": ("ruble", "rubles", "kopeck", "kopecks"),
    "USD": ("dollar", "dollars", "cent", "cents"), "EUR": ("euro", "euros", "cent", "cents"),
    "GBP": ("pound", "pounds", "penny", "pence"), "JPY": ("yen", "yen", "sen", "sen"),
    "CNY": ("yuan", "yuan", "fen", "fen"), "RMB": ("yuan", "yuan", "fen", "fen"),
    "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"),
    "US$": ("US dollar", "US dollars", "cent", "cents"),
    "HK$": ("Hong Kong dollar", "Hong Kong dollars", "cent", "cents"),
    "C$": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "CA$": ("Canadian dollar", "Canadian dollars", "cent", "cents"),
    "A$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "AU$": ("Australian dollar", "Australian dollars", "cent", "cents"),
    "NZ$": ("New Zealand dollar", "New Zealand dollars", "cent", "cents"),
    "S$": ("Singapore dollar", "Singapore dollars", "cent", "cents"),
}  # fmt: skip
"""Sign or code -> unit and hundredth, each singular and plural."""

MAGNITUDES = {
    "hundred": "hundred", "thousand": "thousand", "million": "million", "billion": "billion", "trillion": "trillion",
    "k": "thousand", "K": "thousand", "M": "million", "mn": "million", "B": "billion", "bn": "billion",
    "T": "trillion", "tn": "trillion",
}  # fmt: skip
MONEY_MAGNITUDES = MAGNITUDES | {"m": "million", "b": "billion", "t": "trillion"}

SYMBOLS = {
    "&": "and", "@": "at", "+": "plus", "=": "equals", "==": "equals", "!=": "is not equal to", "<": "less than",
    ">": "greater than", "<=": "less than or equal to", ">=": "greater than or equal to", "->": "to", "=>": "to",
    "<-": "from", "→": "to", "⇒": "to", "←": "from", "≤": "less than or equal to", "≥": "greater than or equal to",
    "≠": "is not equal to", "≈": "approximately", "±": "plus or minus", "×": "times", "÷": "divided by",
    "%": "percent", "‰": "per mille", "°": "degrees", "℃": "degrees Celsius", "℉": "degrees Fahrenheit",
    "½": "one half", "⅓": "one third", "⅔": "two thirds", "¼": "one quarter", "¾": "three quarters",
    "⅛": "one eighth", "⅜": "three eighths", "⅝": "five eighths", "⅞": "seven eighths",
    "²": "squared", "³": "cubed", "√": "square root of", "∞": "infinity", "§": "section", "№": "number",
    "$": "dollars", "€": "euros", "£": "pounds", "¥": "yen", "₩": "won", "₹": "rupees", "₽": "rubles", "¢": "cents",
    "#": "hash", "™": "", "®": "", "©": "copyright",
}  # fmt: skip
"""Signs wherever they stand, longest first; runs of three and more of one are ornaments and stay."""

PARTS = {
    "½": "a half", "⅓": "a third", "⅔": "two thirds", "¼": "a quarter", "¾": "three quarters", "⅛": "an eighth",
    "⅜": "three eighths", "⅝": "five eighths", "⅞": "seven eighths",
}  # fmt: skip
"""Behind a number: "1½" is "one and a half"."""

PAIRS = {"24/7": "twenty-four seven", "9/11": "nine eleven"}
DENOMINATORS = frozenset([*range(2, 11), 16, 32, 64, 100, 1000])
"""Of fractions that people write with a slash; over others it is a day of a month: "12/25"."""

LENGTHS = {"'": ("foot", "feet"), '"': ("inch", "inches")}

NO_STREETS = (
    "The", "A", "Dear", "My", "Our", "Your", "His", "Her", "Their", "Hi", "Hello", "Hey", "Yes", "No", "Thanks", "Good",
    "Ask", "Call", "See", "Is", "And", "But", "Oh", "So", "Well",
)  # fmt: skip
"""Words in front of a doctor, not of a drive."""

ADDRESS_SIGNS = {
    ".": "dot", "/": "slash", "@": "at", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals",
    "&": "and", "#": "hash", "%": "percent", ":": "colon", "~": "tilde", "+": "plus",
}  # fmt: skip

SPELLED = frozenset(
    [
        "USA", "UK", "EU", "UN", "UAE", "FBI", "CIA", "AI", "API", "GPU", "CPU", "IBM", "IPO", "IQ", "URL", "USB",
        "UFO", "ATM", "ABC", "AC", "DIY", "FAQ", "HIV", "IRS", "MIT", "NBA", "TV", "UI", "UV", "UX", "VIP", "IP",
        "IOS",
    ]
)  # fmt: skip
"""Words in capitals that are read letter by letter although they could be pronounced."""
