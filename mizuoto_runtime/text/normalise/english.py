"""What English text holds beside words: rules for numbers and signs, and the words that are written short."""

from __future__ import annotations

import re
import string
from functools import cache

from ..english.dates import DateReader
from ..english.numbers import ordinal
from ..english.roman import ROMAN, roman_value
from . import english_readings as say
from . import english_tables as tables
from .rewrite import DIGITS, Rule, Rules, any_of, rule, stands_behind

LETTERS = string.ascii_letters
NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
_START = r"(?<![\w.\-/:])"  # nothing of the same expression stands before
_END = r"(?![A-Za-z0-9/]|[-.:,][0-9])"  # and nothing follows
_HALF = r"([AaPp])(?:[Mm]\b|\.[Mm](?:\.(?= [a-z0-9]| ?[-–]|[,;:)?!])|(?!\w)))"
_SIGNS_OF_MONEY = [sign for sign in tables.CURRENCIES if not sign.isalpha()]
_SIGN = any_of(_SIGNS_OF_MONEY)
_CURRENCY = any_of(tables.CURRENCIES)
_MAGNITUDE = rf"(?:\s?({any_of(tables.MONEY_MAGNITUDES)})\b)?"
_SPACED = r"[0-9]{1,3}(?: [0-9]{3})+(?![0-9])"
_BEHIND_DAYTIME = re.compile(r"[0-9]\s?[AaPp]\.?[Mm]\.?\s?\Z")
_BEHIND_ON = re.compile(r"\b(?:[Oo]n|[Ss]ince|[Uu]ntil|[Tt]ill|[Dd]ated|[Dd]ue) \Z")
_BEHIND_ARTICLE = re.compile(r"\b(?i:an?|the|this|that|my|your|his|her|our|their|its) \Z")
_BEHIND_CALL = re.compile(r"\b(?i:call|dial|phone|ring|text)(?:s|ed|l?ing)? \Z")
_BEHIND_STREET = re.compile(rf"\b(?!(?:{any_of(tables.NO_STREETS)}) )[A-Z][a-z]+ \Z")
_DIMENSION = r"[ -](?:tall|wide|long|high|deep|thick|apart)\b"
_QUOTE = re.compile('"')
_MAX_QUOTE = 200  # characters looked back for the start of a quotation


SIGNS = "".join(dict.fromkeys("-*_~^|.:(" + "".join(symbol[0] for symbol in tables.SYMBOLS)))
"""Every character but letters and digits that a match of `rules` may start with."""


@cache
def rules() -> Rules:
    """The rules for what starts with a digit, a sign or a letter, in order of precedence."""
    ornament = rule(SIGNS, r"([^\w\s.:(])\1\1+", lambda m: m[0])
    symbols = rule(SIGNS, f"({any_of(tables.SYMBOLS)})", lambda m: tables.SYMBOLS[m[1]])
    numbers = [*_names(), *_dates(), *_phones(), *_money(), *_lengths(), *_amounts(), *_numbers(), *_between()]
    return Rules([ornament, *numbers, symbols, *_words()])


@cache
def starts() -> re.Pattern[str]:
    """Finds where `rules` may match; cheap, since most of a text is plain words."""
    signs = re.escape(SIGNS.translate({ord(c): None for c in ".:("}))
    words = any_of([*tables.month_names(), *tables.TITLES, *_cues(), *_kings(), "et al.", "vs", "VS", "v", "V"])
    return re.compile(
        rf"[0-9{signs}]|[.:(](?=[0-9])"
        rf"|(?<![\w.&])(?:(?:{words}|(?i:{any_of(tables.BEFORE_NUMBERS)})\.)(?![a-z])|[A-Za-z&][A-Za-z.]{{0,9}}\."
        r"|[A-Z]{1,2}\$(?=\s?[0-9]))"
    )


@cache
def _units() -> dict[str, tuple[str, ...]]:
    return {unit: tuple(forms) for unit, forms in tables.shared_tables()["units"].items()} | tables.UNITS


def _names() -> list[Rule]:
    """Numbers behind a name, whose points and dashes are no decimals, ranges or magnitudes: "Llama-3.1-8B"."""
    unit = rf"[0-9.]+(?:{any_of(_units())})(?!\w)"
    behind = (
        rf"(?:(?<=[^\W\d_])|(?<=[^\W\d_]-)(?!{unit})"
        r"(?<![0-9][A-Za-z]-)(?<![0-9][A-Za-z]{2}-)(?<![0-9][A-Za-z]{3}-))"
    )
    release = r"[0-9]+(?:\.[0-9]+){0,2}"
    size = r"[0-9]+(?:\.[0-9]+)?(?=[BMKbk](?![A-Za-z0-9]))"
    return [
        rule(
            DIGITS,
            rf"{behind}((?:{release}-)?{size}|[0-9]+(?:\.[0-9]+){{1,2}}(?!\.?[0-9]))",
            lambda m: say.name_parts(m[1]),
        )
    ]


def _dates() -> list[Rule]:
    names, month = tables.month_names(), any_of(tables.month_names())
    reader = DateReader(tables.shared_tables()["months"])

    def slashed(m: re.Match[str]) -> str | None:
        first, second = (m[1], m[2]) if int(m[1]) <= 12 else (m[2], m[1])
        return say.date(reader, m[3], first, second)

    def day_month(m: re.Match[str]) -> str | None:
        words = say.day_of_month(m[1], names[m[2]], m[3])
        has_article = m.string[max(0, m.start() - 4) : m.start()].lower() == "the "
        return words[4:] if words and has_article else words

    return [
        rule(
            DIGITS,
            rf"{_START}([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_END}",
            lambda m: say.date(reader, m[1], m[3], m[4]),
        ),
        rule(DIGITS, rf"{_START}([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}|[0-9]{{2}}){_END}", slashed),
        rule(DIGITS, rf"{_START}([0-9]{{1,2}})-([0-9]{{1,2}})-([0-9]{{4}}){_END}", slashed),
        rule(
            DIGITS,
            rf"{_START}([0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]({month})\b"
            r"(?:\.(?= ?[a-z0-9,]))?(?:,? ([0-9]{4})\b)?",
            day_month,
        ),
        rule(DIGITS, rf"(?<![\w.:])([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}}))?(?:\s?{_HALF})?(?![0-9:])", say.clock),
        rule(DIGITS, rf"(?<![\w.:])([0-9]{{1,2}})\s?{_HALF}", say.hour),
    ]


def _phones() -> list[Rule]:
    def international(m: re.Match[str]) -> str | None:
        return "plus " + say.spelled(m[0]) if sum(c.isdigit() for c in m[0]) >= 7 else None

    return [
        rule("+", r"\+[0-9]{1,4}(?:[-. ]?\(?[0-9]{1,12}\)?){1,5}(?![0-9A-Za-z])", international),
        rule(
            DIGITS + "(",
            rf"(?<![\w.\-/])(?:1[-. ])?(?:\([0-9]{{3}}\) ?|[0-9]{{3}}[-. ])[0-9]{{3}}[-. ][0-9]{{4}}{_END}",
            lambda m: say.spelled(m[0]),
        ),
        rule(DIGITS, rf"{_START}[0-9]{{3}}-[0-9]{{4}}{_END}", lambda m: say.spelled(m[0])),
        rule(DIGITS, rf"{_START}[0-9]+(?:-[0-9]+){{2,}}{_END}", lambda m: say.spelled(m[0])),
        rule(DIGITS, rf"{_START}0[0-9]{{2,4}}(?:[ -][0-9]{{3,6}}){{1,3}}{_END}", lambda m: say.spelled(m[0])),
        rule(DIGITS, rf"[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}{_END}", lambda m: say.dotted(m[0])),
        rule(DIGITS, r"[0-9]+(?:\.[0-9]+){2,}", lambda m: say.version(m[0])),
    ]


def _money() -> list[Rule]:
    def span(m: re.Match[str]) -> str:
        low = say.quantity(m[2]) + (f" {tables.MONEY_MAGNITUDES[m[3]]}" if m[3] else "")
        return f"{low} to {say.amount(m[4], m[1], m[5])}"

    def price(m: re.Match[str]) -> str:
        return say.amount(m[2], m[1], m[3]) + (f" per {tables.PER[m[4]]}" if m[4] else "")

    signs = "".join(dict.fromkeys(sign[0] for sign in _SIGNS_OF_MONEY))
    return [
        rule(signs, rf"({_SIGN}){NUMBER}{_MAGNITUDE}\s?[-–]\s?\1?{NUMBER}{_MAGNITUDE}", span),
        rule(signs, rf"({_SIGN})\s?{NUMBER}{_MAGNITUDE}(?:/({any_of(tables.PER)})\b)?", price),
        rule(
            DIGITS + ".",
            rf"(?<!\w){NUMBER}{_MAGNITUDE}\s?({_CURRENCY})(?!\w|\s?[0-9])",
            lambda m: say.amount(m[1], m[3], m[2]),
        ),
        rule(DIGITS, rf"{NUMBER}\s?¢", lambda m: say.counted(m[1], ("cent", "cents"))),
    ]


def _lengths() -> list[Rule]:
    unit = any_of(_units().keys() - {"s"})  # "2x4s" are several

    def sides(m: re.Match[str]) -> str:
        numbers = re.findall("[0-9.]+", m[1])
        is_long = all(re.fullmatch("[0-9]{3,4}", number) for number in numbers)
        words = " by ".join(say.side(number, is_long) for number in numbers)
        return f"{words} {_units()[m[2]][1]}" if m[2] else words

    def both(m: re.Match[str]) -> str:
        forms = tables.LENGTHS[m[2]]
        return f"{say.counted(m[1], forms)} by {say.counted(m[3], forms)}"

    return [
        rule(
            DIGITS,
            rf"(?<!\w)([0-9]+(?:\.[0-9]+)?(?:\s?[x×]\s?[0-9]+(?:\.[0-9]+)?)+)(?:\s?({unit}))?(?![\w^])",
            sides,
        ),
        rule(
            DIGITS,
            r"(?<![\w'’])([0-9])['’](?: ?([0-9]{1,2})(?:\"|['’]{2}|″)|([0-9]|1[01])(?![\w'’\"″]|\.[0-9]))",
            lambda m: f"{say.quantity(m[1])} foot {say.quantity(m[2] or m[3])}",
        ),
        rule(DIGITS, rf"(?<![\w'\"]){NUMBER}(['\"]) ?(?:by|x|×) ?{NUMBER}\2(?!\w)", both),
        rule(DIGITS, rf"(?<![\w'\"]){NUMBER}(['\"])(?!\w)", _length),
    ]


def _length(m: re.Match[str]) -> str | None:
    one, _ = forms = tables.LENGTHS[m[2]]
    is_adjective = stands_behind(_BEHIND_ARTICLE, m)
    if m[2] == "'":
        is_length = is_adjective or re.match(_DIMENSION, m.string[m.end() : m.end() + 8]) is not None
    else:
        is_length = not _is_in_quotation(m.string, m.start())
    if not is_length:
        return None
    return f"{say.quantity(m[1])} {one}" if is_adjective else say.counted(m[1], forms)


def _is_in_quotation(text: str, at: int) -> bool:
    """Whether a double quote is open at `at`; one behind a digit closes, or it means inches."""
    is_open = False
    for quote in _QUOTE.finditer(text, max(text.rfind("\n", 0, at) + 1, at - _MAX_QUOTE), at):
        is_open = not is_open and not text[quote.start() - 1 : quote.start()].isdigit()
    return is_open


def _amounts() -> list[Rule]:
    attached = any_of(m for m in tables.MAGNITUDES if len(m) < 3)

    def measured(m: re.Match[str]) -> str:
        words = say.counted(m[1], _units()[m[2]])
        return f"{words} per {tables.PER[m[3]]}" if m[3] else words

    def and_part(m: re.Match[str]) -> str:
        words = f"{say.quantity(m[1])} and {tables.PARTS[m[2]]}"
        return f"{words} {_units()[m[3]][1]}" if m[3] else words

    def magnitude(m: re.Match[str]) -> str:
        if m[2] == "K" and m[1] in ("2", "4", "8"):
            return f"{say.quantity(m[1])} K"  # of pictures
        return f"{say.quantity(m[1])} {tables.MAGNITUDES[m[2]]}"

    return [
        rule(DIGITS, r"(?<!\w)([1-9][0-9]{2}0|[2-9]0)['’]?s\b", lambda m: say.decade(m[1])),
        rule(
            DIGITS,
            rf"(?<!\w)([0-9]{{1,6}})\s?([{''.join(tables.PARTS)}])(?:[ -]?({any_of(_units())})(?!\w))?",
            and_part,
        ),
        rule(
            DIGITS + ".",
            rf"(?<!\w){NUMBER}[ -]?({any_of(_units())})(?:/({any_of(tables.PER)}))?(?![\w²³]|['’/]\w)(?:\.(?= [a-z]))?",
            measured,
        ),
        rule(DIGITS + ".", rf"(?<!\w){NUMBER}({attached})(?!\w)", magnitude),
    ]


def _numbers() -> list[Rule]:
    reader = DateReader(tables.shared_tables()["months"])

    def is_dated(m: re.Match[str]) -> bool:
        return stands_behind(_BEHIND_ON, m) and not m.string.startswith(" of", m.end())

    called = r"(?:112|999|988|[1-8]11)"

    return [
        rule(DIGITS, rf"{_START}911{_END}", "nine one one"),
        rule(DIGITS, rf"{called}{_END}", lambda m: say.spelled(m[0]) if stands_behind(_BEHIND_CALL, m) else None),
        rule(
            DIGITS,
            rf"{_START}([0-9]{{1,6}})[ -]([0-9]{{1,3}})/([0-9]{{1,3}}){_END}",
            lambda m: f"{say.quantity(m[1])} and {say.fraction(m[2], m[3])}",
        ),
        rule(
            DIGITS,
            rf"{_START}([0-9]{{1,4}})/([0-9]{{1,4}}){_END}",
            lambda m: say.slashed(reader, m[1], m[2], is_dated(m)),
        ),
        rule(DIGITS, rf"(?<!\w){NUMBER}[eE]([-+]?)([0-9]{{1,3}})(?!\w)", lambda m: say.power(m[1], m[2], m[3])),
        rule(
            DIGITS,
            rf"(?<!\w){NUMBER}\s?[x×*]\s?10\^([-+]?)([0-9]{{1,3}})(?!\w)",
            lambda m: say.power(m[1], m[2], m[3]),
        ),
        rule(DIGITS, r"((?:[0-9]{1,3},)?[0-9]+)(?:st|nd|rd|th|ST|ND|RD|TH)\b", lambda m: say.rank(m[1])),
        rule(DIGITS, rf"(?<![\w.,]){_SPACED}", lambda m: say.quantity(m[0].replace(" ", ""))),
        rule(DIGITS, r"(?<=[^\W_])([0-9]+)", lambda m: say.code(m[1])),
        rule(DIGITS, r"(?<=[^\W\d_]-)([0-9]+)", lambda m: say.code(m[1])),
        rule(
            DIGITS,
            r"(?![0-9]{1,3}(?:,[0-9]{3})+(?![0-9]))([0-9]+(?:\.[0-9]+)?),(?=[0-9])",
            lambda m: f"{say.plain(m[1])}, ",
        ),
        rule(DIGITS, NUMBER, lambda m: say.plain(m[1])),
        rule(".", rf"(?<![\w.]){NUMBER}", lambda m: say.quantity(m[1])),
    ]


def _between() -> list[Rule]:
    """Signs whose reading depends on what stands beside them."""
    return [
        rule("-–", "[-–](?= ?[0-9])", lambda m: "to" if stands_behind(_BEHIND_DAYTIME, m) else None),
        rule("-", r"-(?<=[0-9] -)(?= [0-9.,]+\s?=)", "minus"),
        rule("-", r"-(?<![\w)\]%°.,/\-]-)(?=[$€£¥]?\.?[0-9])", "minus"),
        rule("-–", r"[-–](?:(?<=[0-9%°][-–])|(?<=[0-9][A-Za-z][-–])|(?<=[0-9] [-–])|(?<=[0-9][a-z]{2}[-–]))"
                   r"(?= ?[$€£¥]?\.?[0-9])", "to"),
        rule("-", r"-(?<=[^\W\d_]-)(?=[0-9])", ""),
        rule(":", r":(?<=[0-9]:)(?=[0-9])", "to"),
        rule("*", r"\*(?:(?<=[0-9]\*)|(?<=[0-9] \*))(?= ?[0-9])", "times"),
        rule("^", r"\^(?=-?[0-9])", "to the power of"),
        rule("~", r"~\s?(?=[$€£¥]?\.?[0-9])", "about"),
        rule("#", r"#(?=[0-9])", "number"),
        rule("#", r"#(?<=\bC#)(?!\w)", "sharp"),
        rule("#", r"#(?=[^\W\d_])", "hashtag"),
    ]  # fmt: skip


def _cues() -> list[str]:
    return list(tables.shared_tables()["roman_cardinal"])


def _kings() -> list[str]:
    return list(tables.shared_tables()["roman_ordinal"])


def _words() -> list[Rule]:
    names, month = tables.month_names(), any_of(tables.month_names())
    reader = DateReader(tables.shared_tables()["months"])
    order = list(dict.fromkeys(names.values()))

    def month_day(m: re.Match[str]) -> str | None:
        return say.date(reader, m[3], str(order.index(names[m[1]]) + 1), m[2])

    return [
        rule(
            LETTERS,
            rf"({month})\.? ([0-9]{{1,2}})(?:st|nd|rd|th)?\b(?![:%/]|[.,][0-9])(?:,? ([0-9]{{4}})\b(?![.,]?[0-9]))?",
            month_day,
        ),
        rule(LETTERS, rf"({month})\.?(?=,? [0-9]{{4}}\b)", lambda m: names[m[1]]),
        rule(
            LETTERS,
            rf"({any_of([*tables.BEFORE_NUMBERS, *map(str.capitalize, tables.BEFORE_NUMBERS)])})\. ?(?=[0-9])",
            lambda m: _cased(tables.BEFORE_NUMBERS[m[1].lower()], m[1]),
        ),
        rule(LETTERS, rf"({any_of(_cues())}) {ROMAN}", lambda m: f"{m[1]} {say.quantity(str(roman_value(m[2])))}"),
        rule(LETTERS, rf"({any_of(_kings())}) {ROMAN}", lambda m: f"{m[1]} the {ordinal(roman_value(m[2]))}"),
        rule("vV", r"(?:v|V(?=\.|[0-9]+\.))\.? ?(?=[0-9])", "version"),
        rule(LETTERS + "&", r"([A-Za-z&][A-Za-z.]{0,9}\.|et al\.|vs\b|VS\b)(?!\w)", _abbreviation),
        rule("DM", rf"({any_of(tables.TITLES)})(?= [A-Z])", lambda m: tables.TITLES[m[1]]),
    ]


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like[0].isupper() else word


@cache
def _abbreviations() -> dict[str, str]:
    shared = tables.shared_tables()
    table = {short: full for short, full in shared["abbreviations"].items() if short not in tables.NOT_ALWAYS}
    return table | tables.ABBREVIATIONS


@cache
def _titles() -> dict[str, str]:
    return tables.shared_tables()["titles"] | tables.TITLES


def _abbreviation(m: re.Match[str]) -> str | None:
    short = m[1]
    words = _abbreviations().get(short)
    if words is None:
        return None
    after = m.string[m.end() : m.end() + 3]
    if re.match(r" [A-Z]", after):
        words = _titles().get(short[:-1], words)
    elif short == "Dr." and stands_behind(_BEHIND_STREET, m):
        words = "Drive"
    is_end = (
        not after.strip() or after[0] == "\n" or (short in tables.ENDS_SENTENCES and re.match(r" ['\"(A-Z]", after))
    )
    return words + "." if is_end and short.endswith(".") and words != "Saint" else words
