import copy
import random
from itertools import pairwise

import pytest
from mizuoto.engines.whisper.segments import Segment, TimedWord
from mizuoto.engines.whisper.words import AFTER_WORDS, BEFORE_WORDS, join_signs, put_words
from mizuoto.tests.engines.whisper import upstream
from whisper import timing
from whisper.timing import WordTiming

EOT = 50257
TEXTS = (" the", " he", "llo", ".", ",", ' "', '"', " (", ")", "?", " -", " ", "!", " so", "。", " wait")


def words_of(texts):
    return [TimedWord(text, [place], place * 0.3, place * 0.3 + 0.3, 0.9) for place, text in enumerate(texts)]


def test_signs_go_to_their_words():
    words = words_of([" He", " said", ",", ' "', " I", " go", "!", '"', " (", "now", ")."])
    join_signs(words)
    assert [word.text for word in words if word.text] == [" He", " said,", ' " I', ' go!"', " (now", ")."]
    assert [word.ids for word in words if word.text] == [[0], [1, 2], [3, 4], [5, 6, 7], [8, 9], [10]]


def random_words(draws):
    """Texts, tokens and rising times with now and then a very long or an empty word."""
    words, time, token = [], draws.choice((0.0, 0.5, 6.0)), 1
    for _ in range(draws.randint(0, 24)):
        length = draws.choice((0.0, 0.02, 0.1, 0.24, 0.3, 0.36, 0.5, 1.9, 3.1))
        count = draws.randint(1, 3)
        words.append((draws.choice(TEXTS), list(range(token, token + count)), time, time + length, draws.random()))
        time, token = time + length, token + count
    return words


def random_segments(draws, num_ids, offset):
    """(first token, last token, start, end) of segments that share the tokens."""
    borders = sorted({0, num_ids, *(draws.randint(0, num_ids) for _ in range(draws.randint(0, 3)))})
    start = offset
    for first, last in pairwise(borders):
        end = start + draws.choice((0.5, 2.0, 4.0))
        yield first, last, start, end
        start = end + draws.choice((0.0, 1.0))


@pytest.mark.parametrize("seed", range(300))
def test_words_of_segments_equal_upstream(seed, monkeypatch):
    draws = random.Random(seed)
    words = random_words(draws)
    seek = draws.choice((0, 1234, 300007))
    offset, last_end = seek * 160 / 16000, seek / 100 - draws.choice((0.0, 0.4, 5.0))
    ids = [token for _, tokens, *_ in words for token in tokens]
    theirs, ours = [], []
    for first, last, start, end in random_segments(draws, len(ids), offset):
        tokens = [EOT + 200, *ids[first:last], EOT + 300]
        theirs.append({"seek": seek, "start": start, "end": end, "tokens": tokens})
        ours.append(Segment(start, end, tuple(tokens), ""))
    timings = [WordTiming(*copy.deepcopy(word)) for word in words]
    monkeypatch.setattr(timing, "find_alignment", lambda *args, **kwargs: timings)
    timing.add_word_timestamps(
        segments=theirs, model=None, tokenizer=upstream.get_tokenizer(False), mel=None, num_frames=3000,
        last_speech_timestamp=last_end,
    )  # fmt: skip
    put_words(ours, [TimedWord(*copy.deepcopy(word)) for word in words], offset, last_end, EOT)
    for found, expected in zip(ours, theirs, strict=True):
        assert (found.start, found.end) == (expected["start"], expected["end"])
        assert [(word.text, word.start, word.end, word.probability) for word in found.words] == [
            (word["word"], word["start"], word["end"], word["probability"]) for word in expected["words"]
        ]


def test_the_signs_are_upstreams():
    defaults = timing.add_word_timestamps.__kwdefaults__
    assert defaults == {"prepend_punctuations": BEFORE_WORDS, "append_punctuations": AFTER_WORDS}


def test_a_word_that_ends_long_after_its_segment_is_shortened():
    segment = Segment(0.0, 1.0, (1, 2), "")
    put_words([segment], [TimedWord(" a", [1], 0.0, 0.4, 1.0), TimedWord(" b", [2], 0.4, 2.0, 1.0)], 0.0, 0.0, EOT)
    assert segment.words[-1].end == 1.1  # the usual duration behind its start
    assert segment.end == 1.0
