"""Text of one megabyte cleaned, normalised and split: processor time against one second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from mizuoto.mizuoto_runtime.text.clean import clean
from mizuoto.mizuoto_runtime.text.normalise import normalise
from mizuoto.mizuoto_runtime.text.split import split
from mizuoto.tests.bench.body import row

ROUNDS = 3
SIZE = 1_000_000  # bytes of UTF-8: a third as many ideographs
LIMIT_S = 1.0
LIMIT_OF_SPLIT = 300
ENGLISH = (
    "The committee, which had met 3 times since January 5, 2021, decided on a $1.5M budget (see example.com/report). "
    "Dr. Smith, the chair, said: “We have waited long enough for this.” Nobody in the room disagreed with her, and the "
    "vote was over by 3:05pm. Outside, the rain had stopped and people walked slowly along the river. It was warm, and "
    "most of the shops were open; children played in the square, where a band had begun to set up its instruments. "
    "She thought of the years before the war, of the long evenings by the lake, and of everything that was lost.\n\n"
)
CHINESE = (
    "委员会在2021年1月5日之后开了3次会，决定花费¥150万。史密斯博士说：“我们等得够久了。”房间里没有人反对，投票很快就结束了。"
    "外面的雨停了，人们沿着河慢慢地走。天气很暖和，大约25°C，大多数商店开着门；孩子们在广场上玩耍，乐队开始准备乐器。\n\n"
)


def of_size(text: str) -> str:
    """`text` repeated to SIZE."""
    return (text * (SIZE // len(text.encode()) + 1)).encode()[:SIZE].decode(errors="ignore")


def cpu_s(work: Callable[[], object]) -> float:
    """The least processor seconds of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def run() -> Iterable[dict]:
    """A row for each step and language."""
    for language, text in (("en", of_size(ENGLISH)), ("zh", of_size(CHINESE))):
        tidy = clean(text)
        steps: dict[str, Callable[[], object]] = {
            "clean": lambda text=text: clean(text),
            "normalise": lambda text=tidy, language=language: normalise(text, language),
            "split": lambda text=text: split(text, LIMIT_OF_SPLIT),
        }
        for name, work in steps.items():
            what = f"CPU s to {name} {SIZE / 1e6:.0f} MB of text ({language}), against {LIMIT_S:.0f} s"
            yield row(f"TEXT-{name}-{language}", what, cpu_s(work), LIMIT_S, 1.0)
