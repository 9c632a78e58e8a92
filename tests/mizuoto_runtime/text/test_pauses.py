import pytest
from mizuoto.mizuoto_runtime.text.pauses import CLAUSE_PAUSE_S, SENTENCE_PAUSE_S, WORD_PAUSE_S, pause_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("End.", SENTENCE_PAUSE_S),
        ('He said "end!"', SENTENCE_PAUSE_S),
        ("终于。", SENTENCE_PAUSE_S),
        ("《你好。》", SENTENCE_PAUSE_S),
        ("end.】", SENTENCE_PAUSE_S),
        ("Hello! 😀", SENTENCE_PAUSE_S),
        ("Hello. [laugh] [sigh]", SENTENCE_PAUSE_S),
        ("Hello!~", SENTENCE_PAUSE_S),
        ("first, ", CLAUSE_PAUSE_S),
        ("一，", CLAUSE_PAUSE_S),
        ("cut in the", WORD_PAUSE_S),
        ("3.14", WORD_PAUSE_S),
        ("a [laugh]", WORD_PAUSE_S),
        ("", WORD_PAUSE_S),
    ],
)
def test_the_pause_follows_the_last_mark(text, seconds):
    assert pause_after(text) == seconds
