"""Matched numbers, amounts, dates and times in Chinese characters."""

from __future__ import annotations

import re

from .chinese_tables import HALVES

_DIGITS = "零一二三四五六七八九"
_PLACES = ("", "十", "百", "千")
_GROUPS = ("", "万", "亿", "万亿", "亿亿")
_MAX_DIGITS = 4 * len(_GROUPS)


def spelled(digits: str, one: str = "一") -> str:
    """Every digit by its name: "2024" -> "二零二四"; in telephone numbers `one` is "幺"."""
    return "".join(one if d == "1" else _DIGITS[int(d)] for d in digits)


def _below_ten_thousand(n: int) -> str:
    words, has_gap = "", False
    for place in (3, 2, 1, 0):
        d = n // 10**place % 10
        if d == 0:
            has_gap = bool(words)
            continue
        name = "两" if d == 2 and place == 3 else _DIGITS[d]
        words += ("零" if has_gap else "") + name + _PLACES[place]
        has_gap = False
    return words


def cardinal(digits: str) -> str:
    """Digits by place value: "12" -> "十二", "105" -> "一百零五", "20000" -> "两万".

    Those with leading zeros, and those of more than 20 digits, are read one by one.
    """
    if digits == "0":
        return "零"
    if digits[0] == "0" or len(digits) > _MAX_DIGITS:
        return spelled(digits)
    words, has_gap = "", False
    for group in reversed(range(len(_GROUPS))):
        n = int(digits) // 10 ** (4 * group) % 10_000
        if n == 0:
            has_gap = bool(words)
            continue
        name = "两" if n == 2 and group else _below_ten_thousand(n)
        words += ("零" if words and (has_gap or n < 1000) else "") + name + _GROUPS[group]
        has_gap = False
    return words[1:] if words.startswith("一十") else words


def number(digits: str) -> str:
    """Digits with commas and a point: "1,234.50" -> "一千二百三十四点五零"."""
    whole, _, fraction = digits.replace(",", "").partition(".")
    words = cardinal(whole or "0")
    return f"{words}点{spelled(fraction)}" if fraction else words


def count(digits: str) -> str:
    """A number before what is counted: "2" -> "两"."""
    return "两" if digits == "2" else number(digits)


def date(year: str | None, month: str, day: str) -> str | None:
    """A date: "2024", "10", "1" -> "二零二四年十月一日"; None if there is no such day."""
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    start = f"{spelled(year)}年" if year else ""
    return f"{start}{cardinal(str(int(month)))}月{cardinal(str(int(day)))}日"


def clock(m: re.Match[str]) -> str | None:
    """Groups hour, minute, second, "a" or "p": "3:30" -> "三点半", "3:05" -> "三点零五分"; None if impossible."""
    hour, minute, second = int(m[1]), int(m[2]), m[3]
    if hour > 24 or minute > 59 or int(second or 0) > 59:
        return None
    words = (HALVES[m[4].lower()] if m[4] else "") + count(str(hour)) + "点"
    if minute == 30 and second is None:
        return words + "半"
    if minute or second is not None:
        words += cardinal(m[2] if minute < 10 else str(minute)) + "分"
    return words + (cardinal(second if int(second) < 10 else str(int(second))) + "秒" if second is not None else "")


def share(digits: str, base: str) -> str:
    """Percent and the like: "50", "百" -> "百分之五十"."""
    return f"{base}分之{number(digits)}"
