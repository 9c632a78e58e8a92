"""The lines of a batch: CSV or JSONL in, one `Line` a piece of speech out, checked before anything is sent."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest

_DELIMITERS = ",;\t"  # spreadsheets of some countries write the latter two
_MAX_NAME = 80
_MAX_SHOWN = 20
# What some system cannot store, and what would leave the folder.
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f\ud800-\udfff<>:"/\\|?*]|^[. ]|[. ]$')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the input.

    Attributes:
        number: Where it begins in the file, counted from 1.
        id: Its own, or else the line number.
        values: The columns that are filled in, `text` among them; strings if they come from a CSV file.
    """

    number: int
    id: str
    values: dict[str, Any]

    @property
    def stem(self) -> str:
        """The id as a file name without an ending, for every system."""
        return file_stem(self.id)


def read(path: Path, encoding: str = "utf-8") -> list[Line]:
    """Every line of a .csv or .jsonl file that is not blank, in order.

    Raises:
        InvalidRequest: Something is wrong with the file or with lines of it, which are named.
        OSError: It cannot be read.
    """
    readers: dict[str, Callable[[str], Iterator[_Record]]] = {".csv": _csv_records, ".jsonl": _json_records}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidRequest(f'"{path}" is neither .csv nor .jsonl: name the file by what it holds.')
    records, problems = [], []
    for number, values in reader(_decode(path, encoding)):
        problem = values if isinstance(values, str) else _problem_of(values)
        if problem:
            problems.append((number, problem))
        else:
            records.append((number, values))
    refuse(path, problems)
    lines = [Line(number, _id_of(number, values), values) for number, values in records]
    _refuse_duplicates(path, lines)
    if not lines:
        raise InvalidRequest(f'"{path}" holds no line with a text: there is nothing to do.')
    return lines


def refuse(path: Path, problems: Iterable[tuple[int, str]]) -> None:
    """Nothing if there are no problems.

    Raises:
        InvalidRequest: There are; each with its line number, as one message of a line each.
    """
    shown = [f"line {number}: {problem}" for number, problem in sorted(problems)]
    if shown:
        rest = [f"and {len(shown) - _MAX_SHOWN} more"] if len(shown) > _MAX_SHOWN else []
        raise InvalidRequest("\n  ".join([f'Nothing was sent; correct "{path}":', *shown[:_MAX_SHOWN], *rest]))


def file_stem(name: str) -> str:
    """`name` if every system can store a file of that name, else what is left of it and a mark that tells it apart."""
    if name and not _FORBIDDEN.search(name) and not _RESERVED.fullmatch(name) and len(name.encode()) <= _MAX_NAME:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    kept = _FORBIDDEN.sub("_", name).encode()[: _MAX_NAME - 9].decode("utf-8", "ignore")
    return f"{kept}-{mark}"


def parse_json(text: str | bytes) -> Any:
    """What `text` says, which may not hold the numbers NaN and Infinity: no host reads them.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is too deep.
    """
    return json.loads(text, parse_constant=_no_constant)


_Record = tuple[int, Any]  # (line number, values by column, or a string that says what is wrong)


def _decode(path: Path, encoding: str) -> str:
    data = path.read_bytes()
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except LookupError:
        raise InvalidRequest(
            f'There is no encoding "{encoding}"; --encoding takes utf-8, gbk or another one.'
        ) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        told = encoding.removesuffix("-sig").upper()
        raise InvalidRequest(
            f'"{path}" is not written in {told} (line {line}): save it as UTF-8, or name its encoding, as in '
            "--encoding gbk."
        ) from None


def _csv_records(text: str) -> Iterator[_Record]:
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = next((sign for sign in _DELIMITERS if "text" in _cells(head, sign)), ",")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    while True:
        number = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield number, f"it is no CSV ({error})"
            return
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        if columns is None:
            columns = [cell.strip() for cell in row]
            problem = _problem_of_columns(columns)
            if problem:
                yield number, problem
                return
        elif len(row) > len(columns):
            yield number, f"it has {len(row)} values for {len(columns)} columns; put a text with commas into quotes"
        else:
            yield number, {column: cell for column, cell in zip(columns, row, strict=False) if cell.strip()}


def _cells(head: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"') for cell in head.split(delimiter)]


def _problem_of_columns(columns: list[str]) -> str:
    if "text" not in columns:
        return f'the first line names the columns, and there is no "text" among them: {", ".join(columns)[:200]}'
    twice = sorted({column for column in columns if columns.count(column) > 1})
    return f'there are two columns "{twice[0]}"' if twice else ""


def _json_records(text: str) -> Iterator[_Record]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values = parse_json(line)
            except (ValueError, RecursionError) as error:
                yield number, f"it is no JSON ({error})"
                continue
            if isinstance(values, dict):
                yield number, {column: value for column, value in values.items() if value not in (None, "")}
            else:
                yield number, 'it is no JSON object such as {"text": "Hello."}'


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _problem_of(values: dict[str, Any]) -> str:
    text = values.get("text", "")
    if not isinstance(text, str):
        return f'"text" is {json.dumps(text)[:40]} and must be a string'
    if not text.strip():
        return 'there is no "text"'
    if not isinstance(values.get("id", ""), (str, int)) or isinstance(values.get("id"), bool):
        return '"id" must be a string or a whole number'
    for value in values.values():
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            return "it has half a character (a lone surrogate)"
    return ""


def _id_of(number: int, values: dict[str, Any]) -> str:
    return str(values.get("id", "")).strip() or str(number)


def _refuse_duplicates(path: Path, lines: list[Line]) -> None:
    seen: dict[str, Line] = {}
    for line in lines:
        # Some systems take "A.flac" and "a.flac" for the same file.
        other = seen.setdefault(line.stem.casefold(), line)
        if other is not line:
            raise InvalidRequest(
                f'Nothing was sent: lines {other.number} and {line.number} of "{path}" have the ids "{other.id}" and '
                f'"{line.id}", which would be the same file; give each line an id of its own (without one, it is the '
                "line number)."
            )
