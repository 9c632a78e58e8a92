"""Folders as users have them: complete, in shards, shared, incomplete, of other models."""

import json
import shutil

import pytest
import torch
from mizuoto.engines.qwen3_tts.checkpoint import SHARED_TOKENIZER, read_components
from mizuoto.engines.qwen3_tts.config import CheckpointConfig
from mizuoto.engines.qwen3_tts.engine import ENGINE
from mizuoto.mizuoto_runtime.errors import ModelFileError
from mizuoto.mizuoto_runtime.loading import safetensors
from mizuoto.mizuoto_runtime.snapshot import snapshot
from mizuoto.tests.engines.qwen3_tts import models, tiny


@pytest.fixture
def folder(checkpoint, tmp_path):
    """A copy of a Base checkpoint, to be changed."""
    return shutil.copytree(checkpoint("base", "0b6"), tmp_path / "model")


def edit(path, change):
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def outputs(folder, kind="base", dtype=torch.float32):
    """Codes and waveform of a short text."""
    model = models.load(folder, dtype)
    codes = models.speech.talk(
        model, "Hi.", models.voice_for(model, kind), models.options(3), models.RUNTIME.context(1)
    )
    return codes.segments[0].tensors["codes"], models.speech.decode(model, codes, models.RUNTIME.context()).waveform


def test_shards_give_what_one_file_gives(checkpoint, tmp_path):
    tiny.build(tmp_path / "sharded", "base", size="0b6", shards=3)
    for one, other in zip(outputs(checkpoint("base", "0b6")), outputs(tmp_path / "sharded"), strict=True):
        assert torch.equal(one, other)


def test_the_speech_tokenizer_may_be_shared(folder):
    expected = outputs(folder)
    shutil.move(folder / "speech_tokenizer", folder.parent / SHARED_TOKENIZER)
    for one, other in zip(outputs(folder), expected, strict=True):
        assert torch.equal(one, other)


def test_without_a_speech_tokenizer_both_places_are_named(folder):
    shutil.rmtree(folder / "speech_tokenizer")
    with pytest.raises(
        ModelFileError, match=f'no speech tokenizer: neither "speech_tokenizer" .* "{SHARED_TOKENIZER}"'
    ):
        models.load(folder)


def test_a_missing_shard_is_named(tmp_path):
    tiny.build(tmp_path, shards=3)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r'"model-00002-of-00003\.safetensors" of "model.*is missing'):
        models.load(tmp_path)


@pytest.mark.parametrize("file", ["model.safetensors", "speech_tokenizer/model.safetensors"])
def test_a_truncated_file_is_named(folder, file):
    path = folder / file
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        models.load(folder)


@pytest.mark.parametrize("file", ["config.json", "generation_config.json", "model.safetensors", "vocab.json"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(ModelFileError, match=file):
        models.load(folder)


def test_another_model_is_refused(folder):
    edit(folder / "config.json", lambda config: config.update(model_type="qwen3_omni"))
    with pytest.raises(ModelFileError, match=r'"model" is no Qwen3-TTS model: its config\.json says "qwen3_omni"'):
        models.load(folder)
    assert not ENGINE.manifest.recognise(folder)


def test_weights_of_another_model_are_refused(checkpoint, folder):
    shutil.copy(checkpoint("voice_design", "1b7") / "model.safetensors", folder / "model.safetensors")
    with pytest.raises(ModelFileError, match="does not fit Talker"):
        models.load(folder)


def test_a_25_hz_model_is_refused(folder):
    edit(folder / "config.json", lambda config: config.update(tokenizer_type="qwen3_tts_tokenizer_25hz"))
    with pytest.raises(ModelFileError, match=r'"qwen3_tts_tokenizer_25hz", and only the 12 Hz .*use a 12Hz checkpoint'):
        models.load(folder)


def test_a_25_hz_speech_tokenizer_is_refused(folder):
    config = folder / "speech_tokenizer" / "config.json"
    edit(config, lambda config: config.update(model_type="qwen3_tts_tokenizer_25hz"))
    with pytest.raises(ModelFileError, match='holds a "qwen3_tts_tokenizer_25hz" and the model needs'):
        models.load(folder)


@pytest.mark.parametrize(
    "keys",
    [
        *[("tts_model_type",), ("tts_bos_token_id",), ("talker_config",), ("speaker_encoder_config",)],
        *[("talker_config", name) for name in ("hidden_size", "codec_bos_id", "codec_language_id", "vocab_size")],
        ("talker_config", "max_position_embeddings"),
        ("talker_config", "code_predictor_config"),
        ("talker_config", "code_predictor_config", "vocab_size"),
    ],
    ids=lambda keys: keys[-1],
)
def test_a_missing_key_is_named(folder, keys):
    def remove(config):
        *outer, last = keys
        for key in outer:
            config = config[key]
        del config[last]

    edit(folder / "config.json", remove)
    with pytest.raises(ModelFileError, match=f'"{keys[-1]}"'):
        models.load(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [("codec_language_id", {"english": "two"}), ("spk_id", {"ryan": None}), ("spk_is_dialect", {"eric": "klingon"})],
)
def test_damaged_tables_are_told(checkpoint, tmp_path, key, value):
    shutil.copytree(checkpoint("custom_voice", "0b6"), tmp_path / "model")
    edit(tmp_path / "model" / "config.json", lambda config: config["talker_config"].update({key: value}))
    with pytest.raises(ModelFileError, match="|".join(value)):
        CheckpointConfig.read(tmp_path / "model")


@pytest.mark.parametrize("key", ["temperature", "max_new_tokens"])
def test_damaged_defaults_are_told(folder, key):
    edit(folder / "generation_config.json", lambda config: config.update({key: "hot"}))
    with pytest.raises(ModelFileError, match=f"\"{key}\": 'hot'"):
        models.load(folder)


def test_names_are_known_however_they_are_written(checkpoint, tmp_path):
    """Whoever trains a checkpoint of their own calls speakers as they like."""
    folder = shutil.copytree(checkpoint("custom_voice", "0b6"), tmp_path / "model")
    edit(folder / "config.json", lambda config: config["talker_config"].update(spk_id={"MyVoice": 40}))
    model = models.load(folder)
    assert model.manifest.voices == ("myvoice",)
    assert len(models.say(model, "Hi.", models.preset_voice(model.manifest, "MyVoice"))) == 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["base", "custom_voice"])
def test_half_precision(checkpoint, kind, dtype):  # P12
    codes, waveform = outputs(checkpoint(kind, "0b6"), kind, dtype)
    assert codes.shape == (3, 16)
    assert waveform.isfinite().all()
    assert waveform.abs().max() > 0
    assert waveform.dtype == torch.float32


def test_weights_are_in_the_wanted_type_from_the_start(checkpoint, monkeypatch):
    """No float32 copy of a model that is to run in half of that."""
    folder, read = checkpoint("base", "0b6"), []

    def noting(*args):
        for name, tensor in inner(*args):
            read.append(tensor.dtype)
            yield name, tensor

    inner = safetensors.read_safetensors
    monkeypatch.setattr("mizuoto.mizuoto_runtime.loading.checkpoint.read_safetensors", noting)
    components = read_components(folder, CheckpointConfig.read(folder), torch.bfloat16)
    assert set(read) == {torch.bfloat16}
    for module in (components.talker, components.codec, components.voice):
        assert {tensor.dtype for tensor in module.state_dict().values()} == {torch.bfloat16}


@pytest.mark.parametrize("kind", ["custom_voice", "voice_design"])
def test_voice_encoders_are_not_read_where_there_is_no_use(checkpoint, monkeypatch, kind):
    names = []

    def noting(path, dtype=None, select=None):
        for name, tensor in inner(path, dtype, select):
            names.append(name)
            yield name, tensor

    inner = safetensors.read_safetensors
    monkeypatch.setattr("mizuoto.mizuoto_runtime.loading.checkpoint.read_safetensors", noting)
    model = models.load(checkpoint(kind, "0b6"))
    assert [handle.name for handle in model.handles] == ["qwen3_tts:talker", "qwen3_tts:codec"]
    assert names
    assert not [name for name in names if name.startswith(("encoder.", "speaker_encoder."))]


def test_loading_draws_nothing_and_leaves_everything_as_it_was(checkpoint):  # S045
    folder, before = checkpoint("base", "0b6"), snapshot()
    model = models.load(folder)
    assert snapshot() == before
    assert [handle.name.split(":")[1] for handle in model.handles] == ["voice", "talker", "codec"]
