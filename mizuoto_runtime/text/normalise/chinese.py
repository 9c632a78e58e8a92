"""What Chinese text holds beside characters: rules for numbers and signs."""

from __future__ import annotations

import re
from functools import cache

from . import chinese_readings as say
from . import chinese_tables as tables
from . import english
from .rewrite import DIGITS, Rule, Rules, any_of, rule, stands_behind

NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?)"
_START = r"(?<![0-9A-Za-z.\-/:])"
_END = r"(?![A-Za-z0-9/]|[-.:,][0-9])"
_RANGE = r"\s?(?:[-–—~～]|至|到)\s?"
_MINUS = r"(-(?<![\w)\]%°.,/\-]-)|-(?<=[\u3400-\u9fff]-))?"
_CURRENCY = any_of(tables.CURRENCIES)
_MONEY_SIGNS = "".join(dict.fromkeys(sign[0] for sign in tables.CURRENCIES if not sign[0].isalpha()))
_TENTHS = r"([万亿千百]{0,2})"
_COUNTED = any_of(tables.COUNTED)
_COUNTS = "0-9零〇一二三四五六七八九十百千万亿两半几"
_BEHIND_COUNTED = re.compile(rf"[{_COUNTS}]\s?(?:{_COUNTED})半?\s?\Z")
_BEHIND_CUE = re.compile(rf"(?:{any_of(tables.CUES)}|(?<![{_COUNTS}])[号號])[是为為]?[:：]?\s?\Z")
_NO_CODE = rf"(?![0-9.,:/-]*[0-9]|\s?(?:{_COUNTED}|{any_of(tables.UNITS)}|{_CURRENCY}))"


@cache
def rules() -> Rules:
    """The rules for what starts with a digit or a sign, in order of precedence."""
    signs = "".join(dict.fromkeys(symbol[0] for symbol in tables.SYMBOLS))
    ornament = rule(signs + "-*_~^|", r"([^\w\s])\1\1+", lambda m: m[0])
    symbols = rule(signs + "-", f"({any_of(tables.SYMBOLS)})", lambda m: tables.SYMBOLS[m[1]])
    return Rules([ornament, *_ranges(), *_dates(), *_phones(), *_amounts(), *_money(), *_numbers(), symbols])


@cache
def starts() -> re.Pattern[str]:
    """Finds where these rules, or those for English signs, may match."""
    signs = "".join(c for c in rules().first + english.SIGNS if not c.isalpha())
    return re.compile(rf"[{re.escape(signs)}]|(?<![A-Za-z])(?:[A-Z]{{1,2}}\$|N[oO]\.)(?=\s?[0-9])")


def _ranges() -> list[Rule]:
    """Dashes behind what is counted, which are not minus: "3楼-5楼"."""

    def to(m: re.Match[str]) -> str | None:
        return "到" if stands_behind(_BEHIND_COUNTED, m) else None

    return [rule("-–—~～", r"[-–—~～]\s?(?=[$€£¥]?第?[0-9])", to)]


def _dates() -> list[Rule]:
    def whole(m: re.Match[str]) -> str | None:
        return say.date(m[1], m[3], m[4])

    return [
        rule(DIGITS, rf"{_START}([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}})日?{_END}", whole),
        rule(DIGITS, r"([0-9]{4})\s?(?=年(?!前|后|以|间|来|历))", lambda m: say.spelled(m[1])),
        rule(DIGITS, r"(?<![0-9.第])([0-9][05])(?=后(?!来|天|面|续|悔|退|卫))", lambda m: say.spelled(m[1])),
        rule(DIGITS, r"([0-9]{1,2})\s?(?=月|日|号(?!码))", lambda m: say.cardinal(str(int(m[1])))),
        rule(
            DIGITS,
            r"(?<![0-9.:])([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?:\s?([AaPp])[Mm]\b)?(?![0-9:])",
            say.clock,
        ),
        rule(DIGITS, r"([0-9]+):(?=[0-9])", lambda m: say.number(m[1]) + "比"),
    ]


def _phones() -> list[Rule]:
    def digits(m: re.Match[str]) -> str:
        return say.spelled("".join(re.findall("[0-9]", m[0])), one="幺")

    return [
        rule("+", r"\+(?=86)[0-9]{2}[- ]?[0-9]{3,4}[- ]?[0-9]{4}[- ]?[0-9]{3,4}(?![0-9])", lambda m: "加" + digits(m)),
        rule(DIGITS, rf"{_START}1[3-9][0-9][- ]?[0-9]{{4}}[- ]?[0-9]{{4}}(?![0-9])", digits),
        rule(DIGITS, rf"{_START}(?:0[0-9]{{2,3}}-[0-9]{{7,8}}|[48]00-[0-9]{{3,4}}-[0-9]{{3,4}})(?![0-9])", digits),
        rule(DIGITS, rf"{_START}[0-9]+(?:-[0-9]+){{2,}}(?![0-9])", digits),
        rule(DIGITS, rf"{_START}[0-9]{{9,}}{_NO_CODE}", digits),
        rule(DIGITS, rf"[0-9]{{3,}}{_NO_CODE}", lambda m: digits(m) if stands_behind(_BEHIND_CUE, m) else None),
        rule("N", r"N[oO]\.\s?([0-9]+)", lambda m: say.number(m[1]) + "号"),
        rule(
            DIGITS,
            r"[0-9]+(?:\.[0-9]+){2,}(?![0-9])",
            lambda m: "点".join(say.number(part) for part in m[0].split(".")),
        ),
    ]


def _amounts() -> list[Rule]:
    def degrees(m: re.Match[str]) -> str:
        unit = tables.DEGREES[m[3]]
        minus = ("零下" if unit != "度" else "负") if m[1] else ""
        return minus + say.number(m[2]) + unit

    def measured(m: re.Match[str]) -> str:
        unit = tables.UNITS[m[3]]
        return ("负" if m[1] else "") + (tables.PER[m[4]] if m[4] else "") + say.count(m[2]) + unit

    signed = DIGITS + "-"
    return [
        rule(DIGITS, rf"{NUMBER}%{_RANGE}{NUMBER}%", lambda m: f"{say.share(m[1], '百')}到{say.share(m[2], '百')}"),
        rule(signed, rf"{_MINUS}{NUMBER}\s?%", lambda m: ("负" if m[1] else "") + say.share(m[2], "百")),
        rule(signed, rf"{_MINUS}{NUMBER}\s?‰", lambda m: ("负" if m[1] else "") + say.share(m[2], "千")),
        rule(signed, rf"{_MINUS}{NUMBER}\s?({any_of(tables.DEGREES)})", degrees),
        rule(
            signed,
            rf"{_MINUS}{NUMBER}\s?({any_of(tables.UNITS)})(?:/({any_of(tables.PER)}))?(?![A-Za-z0-9²³/])",
            measured,
        ),
    ]


def _money() -> list[Rule]:
    coded = [sign for sign in tables.CURRENCIES if sign[0].isalpha() and not sign.isalpha()]

    def amount(m: re.Match[str]) -> str:
        return say.count(m[2]) + m[3] + tables.CURRENCIES[m[1]]

    def after(m: re.Match[str]) -> str:
        return say.count(m[1]) + m[2] + tables.CURRENCIES[m[3]]

    return [
        rule("".join(sign[0] for sign in coded), rf"({any_of(coded)})\s?{NUMBER}{_TENTHS}", amount),
        rule(
            _MONEY_SIGNS,
            rf"([{_MONEY_SIGNS}])\s?{NUMBER}{_TENTHS}(?=[^\w]|\Z|[\u2e80-\U0003ffff])(?!{_RANGE}[0-9])元?",
            amount,
        ),
        rule(
            _MONEY_SIGNS,
            rf"([{_MONEY_SIGNS}])\s?{NUMBER}{_RANGE}\1?{NUMBER}",
            lambda m: f"{say.number(m[2])}到{say.count(m[3])}{tables.CURRENCIES[m[1]]}",
        ),
        rule(DIGITS, rf"{NUMBER}{_TENTHS}\s?({_CURRENCY})(?![A-Za-z]|\s?[0-9])", after),
    ]


def _numbers() -> list[Rule]:
    two = any_of(tables.MEASURES)
    parts = "".join(sign for sign, words in tables.SYMBOLS.items() if "分之" in words)
    return [
        rule(DIGITS, rf"([0-9]+)\s?([{parts}])", lambda m: f"{say.number(m[1])}又{tables.SYMBOLS[m[2]]}"),
        rule(
            DIGITS,
            rf"{_START}([0-9]{{1,4}})/([0-9]{{1,4}}){_END}",
            lambda m: f"{say.number(m[2])}分之{say.number(m[1])}",
        ),
        rule(
            DIGITS,
            rf"{NUMBER}[eE]([-+]?)([0-9]{{1,3}})(?![A-Za-z0-9])",
            lambda m: f"{say.number(m[1])}乘以十的{'负' if m[2] == '-' else ''}{say.number(m[3])}次方",
        ),
        rule(DIGITS, rf"([0-9]{{4}}){_RANGE}(?=[0-9]{{4}}年)", lambda m: f"{say.spelled(m[1])}到"),
        rule(DIGITS, rf"(?<!第){NUMBER}{_RANGE}(?=[0-9])", lambda m: f"{say.number(m[1])}到"),
        rule(DIGITS, rf"(?<![第周期拜.])2\s?(?={two})(?!年级|次方|人称)", "两"),
        rule(DIGITS, NUMBER, lambda m: say.number(m[1])),
        rule("-", r"-(?:(?<![\w)\]%°.,/\-]-)|(?<=[\u3400-\u9fff]-))(?=[0-9$€£¥])", "负"),
        rule("-–~～", r"[-–~～](?:(?<=[0-9%℃].)|(?<=[0-9][A-Za-z].)|(?<=[0-9][a-z]{2}.))(?=[$€£¥]?[0-9])", "到"),
        rule(".", r"\.(?<![\w.]\.)([0-9]+)", lambda m: f"零点{say.spelled(m[1])}"),
        rule("~", r"~\s?(?=[$€£¥]?[0-9])", "约"),
        rule("*", r"\*(?:(?<=[0-9]\*)|(?<=[0-9] \*))(?= ?[0-9])", "乘"),
        rule("^", r"\^(?=-?[0-9])", "的幂"),
    ]
