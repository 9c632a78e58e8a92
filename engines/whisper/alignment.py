"""When each word is said: the tokens of a text are laid along the audio where the alignment heads looked at it.

Source: median_filter, dtw_cpu, backtrace and find_alignment, openai-whisper 20250625 timing.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from .model import WhisperModel
from .segments import FRAMES_PER_STEP, TimedWord, Window
from .settings import Settings

FILTER_WIDTH = 7
STEPS_PER_SECOND = 50


def align(
    model: WhisperModel, features: torch.Tensor, ids: Sequence[int], window: Window, settings: Settings
) -> list[TimedWord]:
    """The words of a window's text with their times from the window's beginning.

    Args:
        model: Outside of its phases.
        features: [1, 1500, d].
        ids: The text without times.
        window: Whose audio it is.
        settings: Language and task.
    """
    tokens = model.tokens
    words, parts = tokens.split_words([*ids, tokens.eot], settings.language)
    if len(parts) <= 1:  # the end of text alone
        return []
    start = tokens.start(settings.language, settings.task)
    read = torch.tensor([*start, tokens.no_timestamps, *ids, tokens.eot], device=model.device)

    def look() -> tuple[torch.Tensor, torch.Tensor]:
        scores, logits = model.cross_attention(features, read)
        scores = scores[:, :, : window.size // FRAMES_PER_STEP]
        probabilities = logits[len(start) :, : tokens.eot].softmax(-1)
        chosen = torch.arange(len(ids), device=model.device)
        return scores.cpu(), probabilities[chosen, read[len(start) + 1 : -1]].cpu()

    scores, probabilities = model.decoding(look)
    matrix = attention_map(scores)[len(start) : -1]
    begins = np.cumsum([0, *(len(part) for part in parts[:-1])])  # of the words, in tokens
    times = _first_steps(-matrix)[begins] / STEPS_PER_SECOND
    values = probabilities.tolist()
    return [
        TimedWord(word, part, float(times[n]), float(times[n + 1]), float(np.mean(values[begins[n] : begins[n + 1]])))
        for n, (word, part) in enumerate(zip(words[:-1], parts[:-1], strict=True))
    ]


def attention_map(scores: torch.Tensor) -> torch.Tensor:
    """How much each token looks at each step of the audio, [heads, n, steps] scores to [n, steps].

    The heads' weights are compared with those of the other tokens, smoothed along time and averaged.
    """
    weights = scores.softmax(-1)
    deviation, mean = torch.std_mean(weights, dim=-2, keepdim=True, unbiased=False)
    return median_filter((weights - mean) / deviation, FILTER_WIDTH).mean(0)


def median_filter(values: torch.Tensor, width: int) -> torch.Tensor:
    """The median of `width` (odd) neighbours along the last of three dimensions, mirrored at the ends.

    What is not longer than half the width stays as it is.
    """
    if values.shape[-1] <= width // 2:
        return values
    padded = F.pad(values, (width // 2, width // 2), mode="reflect")
    return padded.unfold(-1, width, 1).sort().values[..., width // 2]


def warp(costs: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The cheapest monotonic path through a matrix: its rows and its columns, from the first pair to the last.

    Ties are broken as upstream breaks them: of equal predecessors the one in the same row counts, even where it is
    dearer than both others.
    """
    num_rows, num_columns = costs.shape
    num_diagonals = num_rows + num_columns + 1
    # Cells of one diagonal depend on earlier diagonals only, so a diagonal is computed at once. Diagonal d holds
    # cell (i, d - i) at place i; row and column 0 are the border.
    totals = np.full((num_diagonals, num_rows + 1), math.inf)
    totals[0, 0] = 0.0
    shifted = np.pad(costs, ((0, 0), (0, num_rows))).ravel()[: num_rows * (num_diagonals - 2)]
    skewed = shifted.reshape(num_rows, -1).T  # diagonal d is row d - 2
    for diagonal in range(2, num_diagonals):
        first, last = max(1, diagonal - num_columns), min(num_rows, diagonal - 1) + 1
        both = totals[diagonal - 2, first - 1 : last - 1]
        above, before = totals[diagonal - 1, first - 1 : last - 1], totals[diagonal - 1, first:last]
        cheaper = np.minimum(both, above)
        is_strict = (cheaper < before) & (both != above)
        total = np.where(is_strict, cheaper, before)
        np.add(total, skewed[diagonal - 2, first - 1 : last - 1], totals[diagonal, first:last])
    return _path_back(totals, num_rows, num_columns)


def _path_back(
    totals: npt.NDArray[np.float64], row: int, column: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    path: list[tuple[int, int]] = []
    while row > 0 or column > 0:
        path.append((row - 1, column - 1))
        if row == 0:
            column -= 1
            continue
        if column == 0:
            row -= 1
            continue
        diagonal = row + column
        both, above, before = totals[diagonal - 2, row - 1], totals[diagonal - 1, row - 1], totals[diagonal - 1, row]
        if both < above and both < before:
            row, column = row - 1, column - 1
        elif above < both and above < before:
            row -= 1
        else:
            column -= 1
    pairs = np.array(path[::-1], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def _first_steps(costs: torch.Tensor) -> npt.NDArray[np.int64]:
    """The step at which the path reaches each row of the costs."""
    rows, steps = warp(costs.double().numpy())
    is_first = np.diff(rows, prepend=rows[0] - 1).astype(bool)
    return steps[is_first]
