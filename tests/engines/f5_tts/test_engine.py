import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import Codes, Segment, VoicePrompt
from mizuoto.engines.base import Options
from mizuoto.engines.f5_tts import codec
from mizuoto.engines.f5_tts.manifest import MANIFEST
from mizuoto.engines.voices import clone_voice
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest
from mizuoto.tests.engines.f5_tts import models

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def model(checkpoint):
    return models.load(checkpoint())


def test_the_licence_of_the_weights_is_told():
    assert (MANIFEST.code_license, MANIFEST.weights_license) == ("MIT", "CC-BY-NC-4.0")


@pytest.mark.parametrize("words", [None, "", "  \n"])
def test_without_words_there_is_no_voice(model, words):
    with pytest.raises(InvalidRequest, match=r'needs the words of the reference.*"transcript", or connect a'):
        clone_voice(model, models.reference(), words, "", models.RUNTIME.context())


@pytest.mark.parametrize(
    ("language", "said"),
    [("auto", "Anna hat two Hunde."), ("German", "Anna hat 2 Hunde."), ("en", "Anna hat two Hunde.")],
)
def test_numbers_are_put_into_words_of_the_language_that_is_asked_for(model, language, said):
    options = Options(MANIFEST.id, {"language": language, "steps": 1})
    codes = speech.talk(model, "Anna hat 2 Hunde.", models.voice(model), options, models.RUNTIME.context())
    assert [segment.text for segment in codes.segments] == [said]


@pytest.mark.parametrize("seconds", [0.3, 12.2])
def test_the_length_of_a_reference_is_limited(model, seconds):
    with pytest.raises(InvalidRequest, match=r"F5-TTS takes 0\.5 to 12 s; use a clean passage of 5 to 12 s"):
        models.voice(model, seconds=seconds)


def test_without_a_voice_it_does_not_speak(model):
    with pytest.raises(InvalidRequest, match="speaks with a cloned voice only: connect a Voice Prompt node"):
        models.talk(model, TEXT, None)


@pytest.mark.parametrize(
    ("text", "is_told"), [("This is the HOTEL.", False), ("hotel.", True), ("Once upon a time", True)]
)
def test_an_edit_that_says_the_new_words_only_is_told(model, text, is_told):
    ctx = models.RUNTIME.context()
    models.talk(model, text, models.voice(model), ctx=ctx, edit_start=0.4, edit_end=0.6)
    assert ("edit" in [warning["code"] for warning in ctx.report.warnings]) == is_told


def broken(voice, **tensors):
    return VoicePrompt(voice.engine, "odd", {**voice.tensors, **tensors}, voice.facts)


@pytest.mark.parametrize(
    "tensors",
    [
        {"mel": torch.zeros(5, 100)},
        {"mel": torch.full((66, 100), torch.nan)},
        {"mel": torch.zeros(66, 100, dtype=torch.float64)},
        {"level": torch.tensor(0.0)},
        {"level": torch.tensor([0.1])},
        {"num_samples": torch.tensor(10**9)},
        {"num_samples": torch.tensor(1.5)},
    ],
    ids=str,
)
def test_a_damaged_voice_is_refused(model, tensors):
    with pytest.raises(InvalidRequest, match='The voice "odd" is damaged; make it again'):
        models.talk(model, TEXT, broken(models.voice(model), **tensors))


def test_a_voice_without_words_is_refused(model):
    voice = models.voice(model)
    with pytest.raises(InvalidRequest, match="is damaged"):
        models.talk(model, TEXT, VoicePrompt(voice.engine, "odd", voice.tensors))


def test_saved_voices_and_codes_say_the_same(model, tmp_path):
    voice = models.voice(model, level=0.03)
    voice.save(tmp_path / "voice")
    codes = models.talk(model, TEXT, VoicePrompt.load(tmp_path / "voice"), seed=2)
    codes.save(tmp_path / "codes")
    ctx = models.RUNTIME.context(2)
    direct = speech.speak(model, TEXT, voice, models.options(), ctx)
    later = speech.decode(model, Codes.load(tmp_path / "codes"), models.RUNTIME.context())
    assert torch.equal(direct.waveform, later.waveform)


@pytest.mark.parametrize(
    "tensors",
    [{}, {"mel": torch.zeros(1, 100)}, {"mel": torch.zeros(9, 80)}, {"mel": torch.full((9, 100), torch.inf)}],
    ids=str,
)
def test_damaged_codes_are_refused(model, tensors):
    codes = Codes("f5_tts", 24000, (Segment("Hi.", 0, {"level": torch.tensor(0.2), **tensors}),))
    with pytest.raises(InvalidRequest, match="The codes are damaged"):
        speech.decode(model, codes, models.RUNTIME.context())


def test_pieces_of_a_segment_are_said_in_one_go_as_in_two_phases(model):
    text = "One, two. Three four five. " * 6
    voice = models.voice(model, "Slow.", seconds=1.2)
    codes = models.talk(model, text, voice, seed=3, steps=1)
    assert [segment.text for segment in codes.segments] == [text[: len(text) // 2].strip()] * 2
    later = speech.decode(model, codes, models.RUNTIME.context())
    direct = speech.speak(model, text, voice, models.options(steps=1), models.RUNTIME.context(3))
    assert torch.equal(direct.waveform, later.waveform)


def test_every_seed_is_another_take(model):
    voice = models.voice(model)
    takes = [models.talk(model, TEXT, voice, seed=seed).segments[0].tensors["mel"] for seed in (1, 2, 1)]
    assert not torch.equal(takes[0], takes[1])
    assert torch.equal(takes[0], takes[2])


@pytest.mark.parametrize(
    ("name", "file", "version"),
    [
        ("F5TTS_v1_Base", "model_1250000.safetensors", "v1"),
        ("F5TTS_Base", "model_1200000.safetensors", "v0"),
        ("my voice", "F5TTS_v1_Base_last.safetensors", "v1"),
        ("my voice", "model_5000.safetensors", None),
        ("tuned-v10", "model_5000.safetensors", None),
    ],
)
def test_the_name_tells_the_release(checkpoint, name, file, version):
    model, ctx = models.load(checkpoint(name, file=file)), models.RUNTIME.context()
    models.talk(model, "Hi there, you.", models.voice(model), ctx=ctx, steps=1)
    assert ctx.report.params["version"] == (version or "v1")
    told = [warning["text"] for warning in ctx.report.warnings if warning["code"] == "version"]
    assert told == ([] if version else [f'The name "{name}" does not say if it is v0 or v1; took v1. '
                                        "If it mumbles, choose v0."])  # fmt: skip


def test_a_chosen_release_counts(model):
    voice = models.voice(model)
    mels = {version: models.talk(model, TEXT, voice, version=version).segments[0].tensors["mel"]
            for version in ("auto", "v0", "v1")}  # fmt: skip
    assert torch.equal(mels["auto"], mels["v1"])
    assert not torch.equal(mels["v0"], mels["v1"])


def test_half_the_memory_gives_the_same_bits(model):
    talker, seen = model.handles[0].module, []
    hook = talker.register_forward_hook(lambda module, args, velocity: seen.append((args, velocity)))
    models.talk(model, TEXT, models.voice(model), steps=2)
    hook.remove()
    with torch.inference_mode():
        for (state, step, given, _), velocity in seen:
            assert torch.equal(talker(state, step, given, True), velocity)


def test_windows_of_the_codec_differ_by_rounding_only(model):
    module = model.handles[1].module
    mel = torch.randn(90, 100, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        whole, windows = codec.decoded(module, mel), codec.decoded_in_windows(module, mel, 32)
    assert whole.shape == windows.shape
    torch.testing.assert_close(windows, whole, rtol=1e-4, atol=1e-5)


def test_a_step_is_where_it_can_be_cancelled(model):
    voice, ctx, steps = models.voice(model), models.RUNTIME.context(), []

    def progress(fraction, what):
        steps.append(fraction)
        if len(steps) == 3:
            ctx.cancelled.set()

    ctx.progress = progress
    with pytest.raises(Cancelled):
        models.talk(model, TEXT, voice, ctx=ctx, steps=20)
    assert len(steps) < 6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(checkpoint, model, dtype):
    half = models.load(checkpoint(), dtype)
    voice = models.voice(model)
    found, expected = (models.talk(each, TEXT, voice, steps=4).segments[0].tensors["mel"] for each in (half, model))
    assert half.handles[1].module.out.weight.dtype == torch.float32
    assert half.handles[0].module.frequencies.dtype == torch.float32
    assert found.dtype == torch.float32
    assert torch.corrcoef(torch.stack((found.flatten(), expected.flatten())))[0, 1] > 0.99
