"""Ids and text are those of openai-whisper's tokenizer."""

import json
import shutil
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mizuoto.engines.whisper.languages import CODES, TAGS, code_of, tag_of
from mizuoto.engines.whisper.tokens import WhisperTokens
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.tests.engines.whisper import tiny
from mizuoto.tests.engines.whisper.conftest import REAL
from whisper.tokenizer import LANGUAGES, get_encoding, get_tokenizer

TEXTS = (
    'Had he married a more amiable woman, he\'d have been -- well -- "respectable".',
    " 12,345 km/h, 3:30 p.m.; caf\u00e9 na\u00efve r\u00e9sum\u00e9",
    "\u6211\u4eec\u53bb\u5317\u4eac\u3002\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
    "\u0441\u044a\u0435\u0448\u044c \u0435\u0449\u0451",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \u266a\u266b",
    "\n\n a\tb   c ",
)


@pytest.fixture(scope="module")
def english():
    return WhisperTokens.from_folder(REAL, is_multilingual=False)


@pytest.fixture(scope="module")
def multilingual(tmp_path_factory):
    """The real multilingual vocabulary, as the folders of large-v3 have it."""
    folder = tmp_path_factory.mktemp("multilingual")
    write_tokenizer(get_encoding("multilingual", 100), folder / "tokenizer.json")
    return WhisperTokens.from_folder(folder, is_multilingual=True)


def write_tokenizer(encoding, path):
    """tiktoken's ranks as a tokenizer.json: the merges are found by taking every token apart."""
    symbols = tiny.byte_symbols()
    ranks = encoding._mergeable_ranks
    spelt = {token: "".join(symbols[byte] for byte in token) for token in ranks}
    merges = [" ".join(spelt[part] for part in halves(token, ranks)) for token in ranks if len(token) > 1]
    specials = sorted(encoding._special_tokens.items(), key=lambda entry: entry[1])
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    added = [{"id": index, "content": token, **plain, "special": True} for token, index in specials]
    model = {"type": "BPE", "vocab": {spelt[token]: rank for token, rank in ranks.items()}, "merges": merges}
    path.write_text(
        json.dumps({
            **{"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None},
            **{"pre_tokenizer": to_bytes, "post_processor": None, "decoder": to_bytes, "model": model},
        }),
        encoding="utf-8",
    )  # fmt: skip


def halves(token, ranks):
    """The two tokens that are merged into `token`."""
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        pairs = [ranks.get(one + other, len(ranks)) for one, other in pairwise(parts)]
        index = pairs.index(min(pairs))
        parts[index : index + 2] = [parts[index] + parts[index + 1]]
    return parts


@pytest.fixture(params=["english", "multilingual"])
def pair(request):
    """Ours and theirs."""
    theirs = get_tokenizer(False) if request.param == "english" else get_tokenizer(True, num_languages=100)
    return request.getfixturevalue(request.param), theirs


def test_languages_are_the_official_ones():
    assert tuple(LANGUAGES) == CODES
    assert len(set(TAGS)) == len(TAGS)
    assert all(code_of(tag_of(code)) == code for code in CODES)
    assert tag_of("jw") == "jv"


def test_special_tokens(pair):
    ours, theirs = pair
    for name in ("sot", "eot", "transcribe", "translate", "sot_lm", "sot_prev", "no_timestamps", "timestamp_begin"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.no_speech == theirs.no_speech


def test_what_nobody_says(pair):
    ours, theirs = pair
    specials = (theirs.transcribe, theirs.translate, theirs.sot, theirs.sot_prev, theirs.sot_lm, theirs.no_speech)
    assert ours.non_speech == tuple(sorted({*theirs.non_speech_tokens, *specials}))


def test_starts(english, multilingual):
    assert english.start("en", "transcribe") == get_tokenizer(False).sot_sequence
    assert english.languages == {}
    for language, task in (("en", "transcribe"), ("jw", "translate"), ("yue", "transcribe")):
        theirs = get_tokenizer(True, num_languages=100, language=language, task=task)
        assert multilingual.start(language, task) == theirs.sot_sequence
    assert tuple(multilingual.languages) == CODES
    assert sorted(multilingual.languages.values()) == sorted(theirs.all_language_tokens)


@pytest.mark.parametrize("text", TEXTS)
def test_text_to_ids_and_back(pair, text):
    ours, theirs = pair
    ids = theirs.encode(text)
    assert ours.encode(text) == ids
    assert ours.decode(ids) == text
    assert ours.decode([*ids[:-1], ours.timestamp_begin + 7, ours.eot]) == theirs.decode([*ids[:-1], theirs.eot])


@given(st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_text(english, text):
    theirs = get_tokenizer(False)
    assert english.encode(text) == theirs.encode(text, disallowed_special=())
    assert english.decode(english.encode(text)) == text


def test_special_tokens_in_a_text_are_text(english):
    text = "say <|endoftext|> and <|en|>"
    assert english.encode(text) == get_tokenizer(False).encode(text, disallowed_special=())
    assert english.eot not in english.encode(text)


@pytest.mark.parametrize("language", ["en", "zh", "yue", "ru"])
@pytest.mark.parametrize("text", TEXTS)
def test_words(multilingual, text, language):
    theirs = get_tokenizer(True, num_languages=100, language=language)
    ids = [*theirs.encode(text), theirs.eot]
    assert multilingual.split_words(ids, language) == theirs.split_to_word_tokens(ids)


@given(st.lists(st.integers(0, 50256), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_words_of_any_ids(multilingual, ids):
    for language in ("en", "ja"):
        theirs = get_tokenizer(True, num_languages=100, language=language)
        assert multilingual.split_words(ids, language) == theirs.split_to_word_tokens(ids)


def test_a_vocabulary_without_whisper_tokens_is_refused(tmp_path):
    folder = shutil.copytree(REAL, tmp_path / "model", ignore=shutil.ignore_patterns("*.bin"))
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text(encoding="utf-8"))
    tokenizer["added_tokens"] = tokenizer["added_tokens"][:1]
    path.write_text(json.dumps(tokenizer), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r'no token "<\|startoftranscript\|>": its files belong to another model'):
        WhisperTokens.from_folder(folder, is_multilingual=False)


def test_older_folders_call_silence_otherwise(english):
    text = (REAL / "tokenizer.json").read_text(encoding="utf-8")
    assert "<|nospeech|>" not in text
    assert english.no_speech == english.no_timestamps - 1
