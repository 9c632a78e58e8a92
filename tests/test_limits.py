"""The limits of every engine in both READMEs are those of the manifests; a failure shows the right table."""

import bisect
import math
from pathlib import Path

import pytest
from mizuoto import engines

ROOT = Path(__file__).resolve().parents[1]
ENGLISH = "The quick brown fox jumps over the lazy dog and hides in the dark green forest. " * 80
CHINESE = "今天的天气很好我们一起去海边看日出然后慢慢走回家。" * 200
WORDS = {
    "README.md": {
        "head": "| engine | reference recording | its words | letters in a segment | or Chinese characters "
        "| texts at once | languages | sample rate |",
        **{"needed": "needed", "helps": "help", "": "–", "seconds": "{:g} to {:g} s", "about": "about {}"},
    },
    "README.zh.md": {
        "head": "| 引擎 | 参考音频 | 参考文本 | 每段最多字母 | 或汉字 | 同时处理的文本 | 语言数 | 采样率 |",
        **{"needed": "必需", "helps": "有帮助", "": "–", "seconds": "{:g} 至 {:g} 秒", "about": "约 {}"},
    },
}


def fitting(text, manifest):
    """How many characters of a text make the longest segment, in tens."""
    count = bisect.bisect_right(range(len(text)), manifest.max_text_size, key=lambda n: manifest.measure_text(text[:n]))
    return (count - 1) // 10 * 10


def row(manifest, words):
    is_cloning, longest = "clone" in manifest.tasks, manifest.reference_seconds[1]
    assert math.isfinite(longest) == is_cloning == bool(manifest.transcript)
    is_chinese = bool({"zh", "cmn"} & set(manifest.languages))
    sizes = [words["about"].format(fitting(text, manifest)) for text in (ENGLISH, CHINESE)[: 1 + is_chinese]]
    letters, characters = (*(sizes if manifest.max_text_size else []), "–", "–")[:2]
    cells = (
        f"`{manifest.id}`",
        words["seconds"].format(*manifest.reference_seconds) if is_cloning else "–",
        words[manifest.transcript],
        letters,
        characters,
        str(manifest.max_batch),
        str(len(manifest.languages)),
        f"{manifest.sample_rate / 1000:g} kHz",
    )
    return f"| {' | '.join(cells)} |"


def table(words):
    """The limits of every engine."""
    order = sorted(engines.manifests().values(), key=lambda manifest: (not manifest.max_text_size, manifest.id))
    return "\n".join([words["head"], "|" + "---|" * 8, *(row(manifest, words) for manifest in order)])


@pytest.mark.parametrize("name", WORDS)
def test_the_table_of_limits(name):
    expected = table(WORDS[name])
    assert expected in (ROOT / name).read_text(encoding="utf-8"), f"\n{expected}\n"


@pytest.mark.parametrize("name", WORDS)
def test_every_download_is_offered_in_the_table_of_models(name):
    rows = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for manifest in engines.manifests().values():
        first = next(line for line in rows if line.startswith(f"| `{manifest.id}` |"))
        assert ("(download)" in first) == bool(manifest.downloads)
        assert manifest.weights_license in first
