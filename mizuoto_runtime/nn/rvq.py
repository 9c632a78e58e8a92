"""Residual vector quantisation of codecs: several codebooks, each for what the ones before it leave.

The first codebooks ("semantic") and the rest ("acoustic") quantise the same vectors, each group behind its own
projection. Encoder and decoder are apart: each holds only what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from .. import ops
from ..errors import ModelFileError

_MIN_USAGE = 1e-5
_SUM, _USAGE = ".embedding_sum", ".cluster_usage"


def fold_codebooks(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors with every `x.embedding_sum` and `x.cluster_usage` replaced by the entries `x.weight`.

    The division happens in the type of the tensors.

    Source: EuclideanCodebook.decode, qwen_tts 0.1.1; MimiEuclideanCodebook.embed, transformers 4.57.3.

    Raises:
        ModelFileError: One of the two is missing, or their lengths differ.
    """
    folded = dict(tensors)
    for name in tensors:
        if not name.endswith((_SUM, _USAGE)):
            continue
        book = name.rpartition(".")[0]
        if book + _SUM not in tensors or book + _USAGE not in tensors:
            raise ModelFileError(f'The codebook "{book}" is incomplete: it has "{name}" only; use another file.')
        if name.endswith(_USAGE):
            continue
        sums, usage = folded.pop(book + _SUM), folded.pop(book + _USAGE)
        if usage.shape != sums.shape[:1]:
            raise ModelFileError(f'The codebook "{book}" has {len(sums)} entries and {len(usage)} counts of their use.')
        folded[f"{book}.weight"] = sums / usage.clamp(min=_MIN_USAGE)[:, None]
    return folded


class Codebook(ops.Embedding):
    """Vectors by their code, and codes of the nearest vectors."""

    def nearest(self, rows: torch.Tensor) -> torch.Tensor:
        """Codes of the entries nearest to `rows` [N, D], int64 [N]; distances are taken in float32."""
        return torch.cdist(rows[None].float(), self.weight[None].float(), p=2.0)[0].argmin(dim=-1)


class QuantizerDecoder(nn.Module):
    """Sum of the entries that codes stand for, projected.

    Args:
        num_codebooks: K.
        codebook_size: Entries of a codebook.
        codebook_dim: Width of an entry.
        out_channels: Width of the result.
    """

    def __init__(self, num_codebooks: int, codebook_size: int, codebook_dim: int, out_channels: int) -> None:
        super().__init__()
        self.codebooks = nn.ModuleList(Codebook(codebook_size, codebook_dim) for _ in range(num_codebooks))
        self.output_proj = ops.Conv1d(codebook_dim, out_channels, 1, bias=False)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, K, T] int64 -> [B, out_channels, T]."""
        first, *others = (book(column) for book, column in zip(self.codebooks, codes.unbind(1), strict=True))
        vectors: torch.Tensor = first
        for other in others:
            vectors = vectors + other
        return self.output_proj(vectors.transpose(1, 2))


class QuantizerEncoder(nn.Module):
    """Codes of projected vectors, codebook after codebook.

    Args:
        num_codebooks: K.
        codebook_size: Entries of a codebook.
        codebook_dim: Width of an entry.
        in_channels: Width of the vectors.
    """

    def __init__(self, num_codebooks: int, codebook_size: int, codebook_dim: int, in_channels: int) -> None:
        super().__init__()
        self.codebooks = nn.ModuleList(Codebook(codebook_size, codebook_dim) for _ in range(num_codebooks))
        self.input_proj = ops.Conv1d(in_channels, codebook_dim, 1, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, in_channels, T] -> [B, K, T] int64."""
        residual = self.input_proj(hidden).transpose(1, 2).contiguous()  # [B, T, D]
        codes = []
        for book in self.codebooks:
            assert isinstance(book, Codebook)
            found = book.nearest(residual.flatten(0, 1)).view(residual.shape[:2])
            residual = residual - book(found)
            codes.append(found)
        return torch.stack(codes, dim=1)


class SplitQuantizerDecoder(nn.Module):
    """`QuantizerDecoder` of the semantic codebooks plus that of the acoustic ones.

    Args:
        num_codebooks: K, all codebooks.
        codebook_size: Entries of a codebook.
        codebook_dim: Width of an entry.
        out_channels: Width of the result.
        num_semantic: Codebooks of the first group.

    Source: SplitResidualVectorQuantizer.decode, qwen_tts 0.1.1.
    """

    def __init__(
        self, num_codebooks: int, codebook_size: int, codebook_dim: int, out_channels: int, num_semantic: int = 1
    ) -> None:
        super().__init__()
        self.num_semantic = num_semantic
        self.semantic = QuantizerDecoder(num_semantic, codebook_size, codebook_dim, out_channels)
        self.acoustic = QuantizerDecoder(num_codebooks - num_semantic, codebook_size, codebook_dim, out_channels)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """[B, K, T] int64 -> [B, out_channels, T]."""
        semantic: torch.Tensor = self.semantic(codes[:, : self.num_semantic])
        return semantic + self.acoustic(codes[:, self.num_semantic :])


class SplitQuantizerEncoder(nn.Module):
    """`QuantizerEncoder` of the semantic codebooks and that of the acoustic ones.

    Args:
        num_codebooks: K, all codebooks.
        codebook_size: Entries of a codebook.
        codebook_dim: Width of an entry.
        in_channels: Width of the vectors.
        num_semantic: Codebooks of the first group.

    Source: MimiSplitResidualVectorQuantizer.encode, transformers 4.57.3.
    """

    def __init__(
        self, num_codebooks: int, codebook_size: int, codebook_dim: int, in_channels: int, num_semantic: int = 1
    ) -> None:
        super().__init__()
        self.semantic = QuantizerEncoder(num_semantic, codebook_size, codebook_dim, in_channels)
        self.acoustic = QuantizerEncoder(num_codebooks - num_semantic, codebook_size, codebook_dim, in_channels)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[B, in_channels, T] -> [B, K, T] int64."""
        return torch.cat((self.semantic(hidden), self.acoustic(hidden)), dim=1)
