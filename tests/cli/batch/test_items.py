"""Reading lines: every spelling of a spreadsheet, and every mistake with its line number."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mizuoto.cli.batch.items import file_stem, read
from mizuoto.mizuoto_runtime.errors import InvalidRequest


def written(tmp_path, content, name="lines.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def numbers(lines):
    return [(line.number, line.id, line.values["text"]) for line in lines]


# -- CSV ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv(tmp_path, mark, end):
    rows = ["id,text,seed", 'a,"One, two",1', "", ",Three.,", 'c,"Two', 'lines",3']
    lines = read(written(tmp_path, mark + end.join(rows) + end))
    assert numbers(lines) == [(2, "a", "One, two"), (4, "4", "Three."), (5, "c", f"Two{end}lines")]
    assert lines[0].values["seed"] == "1" and "seed" not in lines[1].values


@pytest.mark.parametrize("sign", [";", "\t"])
def test_what_spreadsheets_of_other_countries_write(tmp_path, sign):
    assert numbers(read(written(tmp_path, f'id{sign}"text"\na{sign}One, two.\n'))) == [(2, "a", "One, two.")]


def test_a_short_row_lacks_its_last_columns(tmp_path):
    (line,) = read(written(tmp_path, "text,seed,voice\nOne.\n"))
    assert line.values == {"text": "One."}


def test_other_encodings_are_read_if_they_are_named_and_refused_if_not(tmp_path):
    path = written(tmp_path, "text\n一。\n你好。\n".encode("gbk"))
    assert numbers(read(path, "gbk")) == [(2, "2", "一。"), (3, "3", "你好。")]
    with pytest.raises(InvalidRequest, match=r"is not written in UTF-8 \(line 2\): save it as UTF-8.*--encoding gbk"):
        read(path)
    with pytest.raises(InvalidRequest, match='no encoding "klingon"'):
        read(path, "klingon")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("speech,seed\nOne.,1", 'line 1: the first line names the columns, and there is no "text" among them: speech'),
        ("text,seed,seed\nOne.,1,2", 'line 1: there are two columns "seed"'),
        ("text,seed\nOne.,1\nOne, two.,1", "line 3: it has 3 values for 2 columns; put a text with commas into quotes"),
        ('text\nOne.\n"Two.\nThree.\n', r"line 3: it is no CSV \(unexpected end of data\)"),
        ("text,seed\nOne.,1\n ,2", 'line 3: there is no "text"'),
        ("text\n" + "x" * 200_000, "line 2: it is no CSV"),
        ("text\n", "holds no line with a text"),
        ("", "holds no line with a text"),
    ],
)
def test_bad_csv(tmp_path, content, told):
    with pytest.raises(InvalidRequest, match=told):
        read(written(tmp_path, content))


# -- JSONL --------------------------------------------------------------------------------------------------------


def test_jsonl(tmp_path):
    values = [{"text": "One.\u2028Still one.", "id": 7}, {"text": "Two.", "seed": 3, "note": None, "speed": ""}]
    content = "\n\n".join(json.dumps(value, ensure_ascii=False) for value in values)
    lines = read(written(tmp_path, content, "lines.jsonl"))
    assert numbers(lines) == [(1, "7", "One.\u2028Still one."), (3, "3", "Two.")]
    assert lines[1].values == {"text": "Two.", "seed": 3}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"text": "a", "speed": NaN}', "NaN is no number"),
        ('"Hello."', "it is no JSON object"),
        ('{"words": "Hello."}', 'there is no "text"'),
        ('{"text": 5}', '"text" is 5 and must be a string'),
        ('{"text": "a", "id": true}', '"id" must be a string or a whole number'),
        ('{"text": "a", "id": 1.5}', '"id" must be a string or a whole number'),
        ('{"text": "\\ud83d"}', "half a character"),
    ],
)
def test_bad_jsonl(tmp_path, line, told):
    with pytest.raises(InvalidRequest, match=f"line 2: .*{told}"):
        read(written(tmp_path, '{"text": "fine"}\n' + line, "lines.jsonl"))


# -- both ---------------------------------------------------------------------------------------------------------


def test_every_bad_line_is_named_before_anything_is_sent(tmp_path):
    content = "text,seed\n" + "a,b,c\n" * 25
    with pytest.raises(InvalidRequest) as caught:
        read(written(tmp_path, content))
    told = str(caught.value).splitlines()
    assert told[0].startswith("Nothing was sent; correct ") and len(told) == 22
    assert told[1].startswith("  line 2: ") and told[-1] == "  and 5 more"


@pytest.mark.parametrize("ids", [("a", "a"), ("a", "A"), ("3", ""), ("a/b", "a/b")])
def test_ids_that_would_be_one_file_are_refused(tmp_path, ids):
    content = "id,text\n" + "".join(f"{name},Hello.\n" for name in ids)
    with pytest.raises(InvalidRequest, match=r"lines 2 and 3 of .*the same file"):
        read(written(tmp_path, content))


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(InvalidRequest, match=r'lines\.txt" is neither \.csv nor \.jsonl'):
        read(written(tmp_path, "text\nOne.", "lines.txt"))
    with pytest.raises(OSError, match=r"none\.csv"):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["a", "第一", "Ünder score-1.2", "a" * 80])
def test_a_name_that_every_system_stores_is_kept(name):
    assert file_stem(name) == name


def test_other_names_are_told_apart():
    odd = ["a/b", "a:b", "..", "../x", "con", "NUL.1", "", " a", "a.", "a" * 81, "a" * 82, "第" * 40, "a\x00", "\ud800"]
    stems = [file_stem(name) for name in odd]
    assert len(set(stems)) == len(odd)
    assert file_stem("a/b").startswith("a_b-")


@given(st.text(st.characters(exclude_categories=[])))
def test_every_name_stays_in_its_folder(name):
    stem = file_stem(name)
    assert stem and not set(stem) & set('/\\:*?"<>|\0') and stem[0] not in ". " and stem[-1] not in ". "
    assert len(f"{stem}.flac".encode()) <= 100
