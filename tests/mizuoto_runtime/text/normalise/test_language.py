import pytest
from mizuoto.mizuoto_runtime.text.normalise import guess_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *[
            ("Hello there.", "en"),
            ("你好，世界。", "zh"),
            ("今日はいい天気ですね。", "ja"),
            ("안녕하세요", "ko"),
            ("Привет", ""),
        ],
        *[
            ("我用GPT-4写了3个file", "zh"),
            ("Tokyo is written 東京 in Japanese.", "en"),
            ("他说の是假名，很长的中文。", "zh"),
        ],
        *[("", ""), ("123 !?", ""), ("😀", "")],
    ],
)
def test_guesses(text, language):
    assert guess_language(text) == language
