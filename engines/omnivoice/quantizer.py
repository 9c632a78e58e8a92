"""The codec's residual quantizer: every codebook has projections of its own, and codes what those before it left."""

from __future__ import annotations

import torch
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.nn.rvq import Codebook


class Book(nn.Module):
    """One codebook between its projections; only encoders need the first.

    Source: HiggsAudioV2TokenizerVectorQuantization, transformers 5.24.0.
    """

    def __init__(self, size: int, width: int, hidden_size: int, is_encoder: bool) -> None:
        super().__init__()
        self.codebook = Codebook(size, width)
        self.project_in = ops.Linear(hidden_size, width) if is_encoder else None
        self.project_out = ops.Linear(width, hidden_size)

    def encode(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, hidden_size, T] -> the nearest codes, [B, T] int64."""
        assert self.project_in is not None
        rows = self.project_in(hidden.transpose(1, 2))
        flat, entries = rows.flatten(0, 1), self.codebook.weight.t()
        # The square of a difference, expanded as the publisher does: other forms break other ties.
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ entries + entries.pow(2).sum(0, keepdim=True)
        return (-distance).max(dim=-1).indices.view(rows.shape[:-1])

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, T] int64 -> [B, hidden_size, T]."""
        return self.project_out(self.codebook(codes)).transpose(1, 2)


class Quantizer(nn.Module):
    """All codebooks.

    Args:
        num_codebooks: K.
        size: Entries of a codebook.
        width: Of an entry.
        hidden_size: Width of the vectors.
        is_encoder: Whether codes are looked for; decoders do without half of the weights.
    """

    def __init__(self, num_codebooks: int, size: int, width: int, hidden_size: int, is_encoder: bool) -> None:
        super().__init__()
        self.books = nn.ModuleList(Book(size, width, hidden_size, is_encoder) for _ in range(num_codebooks))

    def encode(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, hidden_size, T] -> [B, K, T] int64."""
        residual, codes = hidden, []
        for book in self.books:
            assert isinstance(book, Book)
            codes.append(book.encode(residual))
            residual = residual - book.decode(codes[-1])
        return torch.stack(codes, dim=1)

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, K, T] int64 -> [B, hidden_size, T]."""
        total = torch.zeros((), device=codes.device)
        for book, column in zip(self.books, codes.unbind(1), strict=True):
            assert isinstance(book, Book)
            total = total + book.decode(column)
        return total
