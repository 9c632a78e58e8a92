"""The codec decoder against the upstream's, bit for bit."""

import json

import pytest
import torch
from mizuoto.engines.qwen3_tts.codec import SAMPLES_PER_FRAME, CodecConfig, CodecDecoder, Window, windows
from mizuoto.mizuoto_runtime.errors import InvalidRequest, ModelFileError
from mizuoto.mizuoto_runtime.loading.keys import load_into
from mizuoto.mizuoto_runtime.memory.units import layout_of
from mizuoto.tests.engines.qwen3_tts import models, oracle, tiny

WINDOW = tiny.CODEC_DECODER["sliding_window"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codec")
    tiny.build(folder)
    return folder


@pytest.fixture(scope="module")
def decoder(folder):
    config = json.loads((folder / "speech_tokenizer" / "config.json").read_text())
    with torch.device("meta"):
        module = CodecDecoder(CodecConfig.from_json(config["decoder_config"]))
    load_into(module, oracle.weights_of(folder, "codec"), "the tiny codec")
    return module.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def upstream(folder):
    return oracle.codec_decoder(folder)


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


def random_codes(num_frames, batch=1):
    shape = (batch, tiny.NUM_CODEBOOKS, num_frames)
    return torch.randint(0, tiny.CODEBOOK_SIZE, shape, generator=torch.Generator().manual_seed(num_frames))


@pytest.mark.parametrize("num_frames", [1, 2, 3, 25, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW + 5])
def test_waveforms_equal_upstream(num_frames, decoder, upstream):
    codes = random_codes(num_frames)
    waveform = decoder(codes)
    assert waveform.shape == (1, 1, num_frames * SAMPLES_PER_FRAME)
    assert torch.equal(waveform, upstream(codes))


def test_a_batch_equals_upstream(decoder, upstream):
    codes = random_codes(WINDOW + 9, batch=3)
    assert torch.equal(decoder(codes), upstream(codes))


@pytest.mark.parametrize("num_frames", [300, 301, 640])
def test_chunks_equal_upstream(num_frames, decoder, upstream):
    codes = random_codes(num_frames)
    pieces = list(models.decode_chunks(decoder, codes))
    assert len(pieces) == -(-num_frames // 300)
    assert torch.equal(torch.cat(pieces, -1), upstream.chunked_decode(codes))


@pytest.mark.parametrize(("chunk", "left_context"), [(10, 25), (25, 25), (7, 3), (26, 0)])
def test_other_chunks_equal_upstream(chunk, left_context, decoder, upstream):
    codes = random_codes(60)
    pieces = list(models.decode_chunks(decoder, codes, chunk, left_context))
    assert torch.equal(torch.cat(pieces, -1), upstream.chunked_decode(codes, chunk, left_context))


def test_windows_tile_the_sequence():
    assert list(windows(640)) == [Window(0, 300, 0), Window(275, 600, 25), Window(575, 640, 25)]
    assert list(windows(0)) == []


def test_the_sound_differs_with_the_codes(decoder):
    codes = random_codes(10)
    other = codes.clone()
    other[0, -1, 9] = (other[0, -1, 9] + 1) % tiny.CODEBOOK_SIZE
    first, second = decoder(codes), decoder(other)
    assert torch.equal(first[..., : 9 * SAMPLES_PER_FRAME], second[..., : 9 * SAMPLES_PER_FRAME])
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(1, 15, 4), (1, 16, 0)])
def test_codes_of_another_shape_are_refused(shape, decoder):
    with pytest.raises(InvalidRequest, match="codebooks"):
        decoder(torch.zeros(shape, dtype=torch.int64))


def test_layers_and_stages_stream(decoder):
    names = [unit.name for unit in layout_of(decoder).units]
    assert names == ["transformer.layers.0", "transformer.layers.1", "upsample.0", "upsample.1", "wave.0", "wave.1.1"]


@pytest.mark.parametrize("key", ["latent_dim", "sliding_window", "rope_theta", "upsample_rates", "num_quantizers"])
def test_a_missing_key_is_named(key):
    config = {name: value for name, value in tiny.CODEC_DECODER.items() if name != key}
    with pytest.raises(ModelFileError, match=f'"{key}"'):
        CodecConfig.from_json(config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"attention_bias": True}, "attention_bias"),
        ({"upsample_rates": [8, 5, 4]}, "640 samples of a frame"),
        ({"upsample_rates": "8543"}, "no list of sizes"),
    ],
)
def test_another_codec_is_refused(change, message):
    with pytest.raises(ModelFileError, match=message):
        CodecConfig.from_json({**tiny.CODEC_DECODER, **change})
