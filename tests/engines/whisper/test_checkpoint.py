"""Folders as users have them: one file or shards, half precision, incomplete, of other models."""

import json
import shutil

import pytest
import torch
from mizuoto.engines import recognise
from mizuoto.engines.whisper.checkpoint import read_components
from mizuoto.engines.whisper.engine import ENGINE
from mizuoto.engines.whisper.keys import packed
from mizuoto.engines.whisper.manifest import MANIFEST
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.whisper import tiny
from mizuoto.tests.engines.whisper.conftest import REAL
from safetensors.torch import load_file, save_file


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of a tiny checkpoint, to be changed."""
    return shutil.copytree(checkpoint(), tmp_path / "model")


def edit(path, change):
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def edit_weights(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def states(folder, dtype=torch.float32):
    found = read_components(folder, dtype)
    return {f"{name}.{key}": tensor for name in ("encoder", "decoder") for key, tensor in
            getattr(found, name).state_dict().items()}  # fmt: skip


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    assert [name for name in found if not torch.equal(found[name], expected[name])] == []


def test_both_layouts_are_recognised_and_others_are_not(checkpoint, tmp_path):
    assert recognise(checkpoint()) is MANIFEST
    assert recognise(REAL) is MANIFEST
    assert recognise(tmp_path) is None
    (tmp_path / "config.json").write_text('{"model_type": "wav2vec2"}')
    assert recognise(tmp_path) is None
    (tmp_path / "model.bin").write_bytes(b"\x80\x02}q\x00.")
    assert recognise(tmp_path) is None


def test_every_number_of_a_folder_is_read(checkpoint):
    config = read_components(checkpoint(num_mels=128, is_multilingual=False), torch.float32).config
    assert (config.num_mels, config.hidden_size, config.vocab_size) == (128, 64, 262 + len(tiny.SPECIALS) + 1501)
    assert (config.encoder_layers, config.encoder_heads, config.encoder_size) == (2, 4, 256)
    assert (config.decoder_layers, config.decoder_heads, config.decoder_size) == (2, 4, 256)
    assert config.max_positions == 24
    assert not config.is_multilingual
    assert config.alignment_heads == ((0, 3), (1, 0), (1, 2))


def test_without_a_generation_config_the_vocabulary_decides(folder):
    (folder / "generation_config.json").unlink()
    config = read_components(folder, torch.float32).config
    assert not config.is_multilingual  # official ones have 51865 tokens and more
    assert config.alignment_heads == ((1, 0), (1, 1), (1, 2), (1, 3))


def test_shards_give_what_one_file_gives(checkpoint, tmp_path):
    tiny.build(tmp_path, shards=3)
    assert_same(states(tmp_path), states(checkpoint()))


def test_a_stored_last_layer_is_the_embedding(folder, checkpoint):
    edit_weights(folder, lambda tensors: tensors.update({"proj_out.weight": torch.zeros(2, 64)}))
    assert_same(states(folder), states(checkpoint()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_hears_about_the_same(checkpoint, dtype):
    one, other = (read_components(checkpoint(), dtype).encoder for dtype in (torch.float32, dtype))
    mel = torch.randn(1, 80, 3000, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected, found = one(mel), other(mel.to(dtype))
    assert found.dtype == dtype
    assert torch.nn.functional.cosine_similarity(found.float().flatten(), expected.flatten(), dim=0) > 0.99


def test_loading_changes_nothing_else(checkpoint):
    before = snapshot()
    read_components(checkpoint(), torch.float32)
    assert snapshot() == before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, load, name):
    (folder / name).unlink()
    if name == "tokenizer.json":
        (folder / "vocab.json").unlink()
    with pytest.raises(ModelFileError, match=name.replace("tokenizer", "(tokenizer_config|vocab)")):
        load(folder)


BROKEN_CONFIGS = {
    "another model": (lambda c: c.update(model_type="bart"), r'is no Whisper model: its config.json says "bart"'),
    "mels": (lambda c: c.update(num_mel_bins=40), "takes 40 mel bands; Whisper has 80 or 128"),
    "heads": (lambda c: c.update(decoder_attention_heads=7), "width 64 cannot be shared by 4 and 7 heads"),
    "no heads": (lambda c: c.update(encoder_attention_heads=0), "encoder_attention_heads"),
    "activation": (lambda c: c.update(activation_function="relu"), "has \"activation_function\" 'relu'"),
    "window": (lambda c: c.update(max_source_positions=3000), "max_source_positions"),
    "width": (lambda c: c.update(d_model=128), r"does not fit AudioEncoder: .* shape \(64, 80, 3\)"),
    "endless": (lambda c: c.update(decoder_layers=10**9), "more than 200 layers"),
    "more layers": (lambda c: c.update(decoder_layers=3), r'"layers.2.attention_norm.weight" is missing'),
    "no width": (lambda c: c.pop("d_model"), 'has no "d_model"'),
}


@pytest.mark.parametrize(("change", "message"), BROKEN_CONFIGS.values(), ids=BROKEN_CONFIGS)
def test_a_configuration_that_cannot_be_is_one_sentence(folder, change, message):
    edit(folder / "config.json", change)
    with pytest.raises(ModelFileError, match=message):
        read_components(folder, torch.float32)


@pytest.mark.parametrize(
    ("heads", "message"),
    [([[9, 0]], "head 0 of layer 9"), ("all", "no list"), ([[0, 0.5]], "no list"), ([3], "no list")],
)
def test_alignment_heads_must_be_there(folder, heads, message):
    edit(folder / "generation_config.json", lambda config: config.update(alignment_heads=heads))
    with pytest.raises(ModelFileError, match=message):
        read_components(folder, torch.float32)


BROKEN_WEIGHTS = {
    "missing": (
        lambda t: t.pop("model.encoder.layers.0.self_attn.k_proj.weight"),
        '"layers.0.attention.qkv.weight" is missing',
    ),
    "misshapen": (
        lambda t: t.update({"model.decoder.layers.1.encoder_attn.v_proj.weight": torch.zeros(3)}),
        '"layers.1.cross.key_value.weight" is missing',
    ),
    "bias": (
        lambda t: t.update({"model.decoder.layers.1.encoder_attn.v_proj.bias": torch.zeros(3)}),
        r'"layers.1.cross.key_value.bias" has shape \(67,\) instead of \(128,\)',
    ),
    "foreign": (lambda t: t.update({"lm.weight": torch.zeros(3)}), 'a tensor "lm.weight", which Whisper has not'),
    "more": (
        lambda t: t.update({"model.encoder.adapter.weight": torch.zeros(3)}),
        '"adapter.weight" is not part of this architecture',
    ),
}


@pytest.mark.parametrize(("change", "message"), BROKEN_WEIGHTS.values(), ids=BROKEN_WEIGHTS)
def test_weights_that_do_not_fit_are_named(folder, change, message):
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=message):
        read_components(folder, torch.float32)


def test_keys_without_a_bias_get_zeros():
    pieces = {f"a.attention.{name}.weight": torch.full((2, 3), float(index)) for index, name in enumerate("qkv")}
    found = packed({**pieces, "a.attention.q.bias": torch.ones(2), "a.attention.v.bias": torch.ones(2)})
    assert found.keys() == {"a.attention.qkv.weight", "a.attention.qkv.bias"}
    assert found["a.attention.qkv.bias"].tolist() == [1, 1, 0, 0, 1, 1]
    assert found["a.attention.qkv.weight"][:, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_engine_is_registered():
    assert ENGINE.manifest is MANIFEST
    assert "whisper-large-v3-turbo" in {download.name for download in MANIFEST.downloads}
