import pytest
import torch
from mizuoto.mizuoto_runtime import ops
from mizuoto.mizuoto_runtime.nn.albert import Albert, AlbertConfig

transformers = pytest.importorskip("transformers")
CONFIG = AlbertConfig(40, 64, num_heads=4, intermediate_size=96, num_passes=5, max_positions=300, embedding_size=32)
LAYER = "encoder.albert_layer_groups.0.albert_layers.0."
NAMES = {
    "embeddings.words.": "embeddings.word_embeddings.",
    "embeddings.positions.": "embeddings.position_embeddings.",
    "embeddings.kinds.": "embeddings.token_type_embeddings.",
    "embeddings.norm.": "embeddings.LayerNorm.",
    "widen.": "encoder.embedding_hidden_mapping_in.",
    **{f"layer.{name}.": f"{LAYER}attention.{name}." for name in ("query", "key", "value")},
    "layer.out.": f"{LAYER}attention.dense.",
    "layer.attention_norm.": f"{LAYER}attention.LayerNorm.",
    "layer.expand.": f"{LAYER}ffn.",
    "layer.project.": f"{LAYER}ffn_output.",
    "layer.norm.": f"{LAYER}full_layer_layer_norm.",
}


@pytest.fixture(scope="module")
def pair():
    ours = Albert(CONFIG, "test:albert")
    ops.init_random(ours, torch.Generator().manual_seed(0), std=0.2)
    with torch.random.fork_rng(devices=[]):
        theirs = transformers.AlbertModel(
            transformers.AlbertConfig(
                vocab_size=40, embedding_size=32, hidden_size=64, num_hidden_layers=5, num_attention_heads=4,
                intermediate_size=96, max_position_embeddings=300,
            ),
            add_pooling_layer=False,
        )  # fmt: skip
    renamed = {}
    for name, tensor in ours.state_dict().items():
        prefix = next(prefix for prefix in NAMES if name.startswith(prefix))
        renamed[NAMES[prefix] + name.removeprefix(prefix)] = tensor
    theirs.load_state_dict(renamed)
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("length", [1, 17, 300])
@torch.inference_mode()
def test_equals_transformers(pair, length):
    ours, theirs = pair
    ids = torch.randint(0, 40, (1, length), generator=torch.Generator().manual_seed(length))
    expected = theirs(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    assert torch.equal(ours(ids), expected)
