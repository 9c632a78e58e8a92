"""Codec encoder and speaker encoder against the upstream's voice prompts, bit for bit."""

import json

import librosa
import pytest
import torch
from mizuoto.mizuoto_runtime.loading.keys import load_into, strip_prefix
from mizuoto.mizuoto_runtime.memory.units import layout_of
from mizuoto.mizuoto_runtime.nn import resample as resampling
from mizuoto.mizuoto_runtime.nn.ecapa import EcapaConfig, SpeakerEncoder
from mizuoto.mizuoto_runtime.nn.mel import MelConfig, log_mel
from mizuoto.mizuoto_runtime.nn.mimi import MimiConfig, MimiEncoder
from mizuoto.tests.engines.qwen3_tts import oracle, tiny

MEL = MelConfig(24000, n_fft=1024, hop_length=256, num_mels=128, max_hz=12000.0)


@pytest.fixture(scope="module", params=["0b6", "1b7"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tiny.build(folder, "base", size=request.param)
    return folder


def built(module, folder, prefix):
    load_into(module, strip_prefix(oracle.weights_of(folder, "voice").items(), prefix), folder.name)
    return module.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def codec(folder):
    config = json.loads((folder / "speech_tokenizer" / "config.json").read_text())
    with torch.device("meta"):
        shape = MimiConfig.from_json(config["encoder_config"], config["encoder_valid_num_quantizers"])
        module = MimiEncoder(shape, "qwen3_tts:voice.codec")
    return built(module, folder, "codec.")


@pytest.fixture(scope="module")
def speaker(folder):
    config = json.loads((folder / "config.json").read_text())
    with torch.device("meta"):
        module = SpeakerEncoder(EcapaConfig.from_json(config["speaker_encoder_config"]))
    return built(module, folder, "speaker.")


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.inference_mode():
        yield


@pytest.mark.parametrize("seconds", [0.08, 0.7, 2.0, 5.37, 12.0])
def test_prompts_equal_upstream(seconds, folder, codec, speaker):
    recording = oracle.noise(seconds, seed=int(seconds * 100))
    upstream = oracle.load(folder).create_voice_clone_prompt((recording, 24000), "text")[0]
    waveform = torch.from_numpy(recording)[None]
    codes = codec(waveform[None])[0].T
    assert codes.shape == (-(-len(recording) // 1920), tiny.NUM_CODEBOOKS)
    assert torch.equal(codes, upstream.ref_code)
    assert torch.equal(speaker(log_mel(waveform, MEL))[0], upstream.ref_spk_embedding)
    assert len(codes.unique()) > 8 or seconds < 0.5


@pytest.mark.parametrize("rate", [16000, 44100, 48000])
def test_a_recording_at_another_rate_equals_upstream(rate, folder, codec, speaker):
    pytest.importorskip("soxr")
    recording = oracle.noise(1.0, seed=rate, sample_rate=rate)
    upstream = oracle.load(folder).create_voice_clone_prompt((recording, rate), "text")[0]
    waveform = resampling.resample(torch.from_numpy(recording)[None], rate, 24000)
    assert torch.equal(codec(waveform[None])[0].T, upstream.ref_code)
    assert torch.equal(speaker(log_mel(waveform, MEL))[0], upstream.ref_spk_embedding)
    assert waveform.shape[-1] == len(librosa.resample(recording, orig_sr=rate, target_sr=24000))


def test_layers_stream(codec):
    names = {unit.name for unit in layout_of(codec).units}
    assert {"layers.0", "layers.1"} <= names
