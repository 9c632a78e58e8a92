import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.nn.rvq import SplitQuantizerDecoder, SplitQuantizerEncoder, fold_codebooks


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def encoder():
    module = SplitQuantizerEncoder(4, 32, 8, 12)
    ops.init_random(module, seeded(), std=0.5)
    return module.requires_grad_(False)


@pytest.fixture
def decoder(encoder):
    """Decoder with the encoder's codebooks."""
    module = SplitQuantizerDecoder(4, 32, 8, 12)
    ops.init_random(module, seeded(1), std=0.5)
    module.load_state_dict({n: t for n, t in encoder.state_dict().items() if "codebooks" in n}, strict=False)
    return module.requires_grad_(False)


def test_codes_are_the_nearest_of_what_is_left(encoder):
    hidden = torch.randn(2, 12, 5, generator=seeded(2))
    codes = encoder(hidden)
    assert codes.shape == (2, 4, 5)
    part = encoder.acoustic
    residual = part.input_proj(hidden)
    for index, book in enumerate(part.codebooks):
        distances = (residual[:, None] - book.weight[None, :, :, None]).square().sum(2)  # [B, size, T]
        assert torch.equal(distances.argmin(1), codes[:, 1 + index])
        residual = residual - book(codes[:, 1 + index]).transpose(1, 2)


def test_decoding_sums_the_projected_entries(decoder):
    codes = torch.randint(0, 32, (2, 4, 5), generator=seeded(3))
    expected = 0
    for part, columns in ((decoder.semantic, codes[:, :1]), (decoder.acoustic, codes[:, 1:])):
        vectors = sum(book.weight[column] for book, column in zip(part.codebooks, columns.unbind(1), strict=True))
        expected = expected + part.output_proj(vectors.transpose(1, 2))
    assert torch.allclose(decoder(codes), expected, atol=1e-6)


def test_the_last_codebook_matters(decoder):
    codes = torch.zeros(1, 4, 3, dtype=torch.int64)
    other = codes.clone()
    other[:, -1] = 1
    assert not torch.equal(decoder(codes), decoder(other))


def test_folding_divides_sums_by_use():
    sums, usage = torch.tensor([[2.0, 4.0], [3.0, 0.0]]), torch.tensor([2.0, 0.0])
    folded = fold_codebooks({"a.embedding_sum": sums, "a.cluster_usage": usage, "b": sums})
    assert folded.keys() == {"a.weight", "b"}
    assert torch.equal(folded["a.weight"], sums / torch.tensor([[2.0], [1e-5]]))


@pytest.mark.parametrize("name", ["a.embedding_sum", "a.cluster_usage"])
def test_half_a_codebook_is_refused(name):
    with pytest.raises(ModelFileError, match=f'"{name}" only'):
        fold_codebooks({name: torch.ones(2, 2)})


def test_counts_of_another_length_are_refused():
    with pytest.raises(ModelFileError, match="3 entries and 2 counts"):
        fold_codebooks({"a.embedding_sum": torch.ones(3, 2), "a.cluster_usage": torch.ones(2)})
