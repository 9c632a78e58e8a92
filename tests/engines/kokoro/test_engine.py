from dataclasses import replace

import pytest
import torch
from mizuoto.engines.artifacts import Codes, VoicePrompt
from mizuoto.engines.base import Options
from mizuoto.engines.kokoro import prompt
from mizuoto.engines.kokoro.languages.table import LANGUAGES, language_of
from mizuoto.engines.kokoro.manifest import MANIFEST
from mizuoto.engines.speech import decode, speak, talk
from mizuoto.engines.voices import preset_voice
from mizuoto.mizuoto_runtime.errors import Cancelled, InvalidRequest, NothingToSay, Unsupported
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.engines.kokoro import tiny

ENGLISH = LANGUAGES[0]


def test_the_files_narrow_the_manifest(model):
    assert len(MANIFEST.voices) == 54
    assert model.manifest.voices == tiny.VOICES
    with pytest.raises(InvalidRequest, match='no voice "bf_emma"; it has af_heart, am_michael'):
        preset_voice(model.manifest, "bf_emma")


def test_a_voice_is_heard_and_the_first_is_the_default(model, ctx, options):
    def spoken(voice, **chosen):
        tensors = model.talk("One.", voice and VoicePrompt("kokoro", voice), options(**chosen), ctx).segments[0].tensors
        return torch.cat([part.float().flatten() for part in tensors.values()])

    default = spoken(None)
    assert torch.equal(default, spoken("af_heart"))
    assert not torch.equal(default[-16:], spoken("am_michael")[-16:])
    mixed = spoken(None, mix="af_heart+am_michael")
    assert torch.equal(mixed, spoken("am_michael+af_heart"))
    assert torch.equal(mixed, spoken("am_michael", mix=" AF_heart:0.5 + am_michael "))
    assert not torch.equal(mixed[-16:], default[-16:])


def test_a_voice_that_is_not_there(model, ctx, options):
    for voice, chosen in ((VoicePrompt("kokoro", "af_sky"), {}), (None, {"mix": "af_heart+af_sky"})):
        with pytest.raises(InvalidRequest, match='no voice "af_sky"; it has af_heart, am_michael'):
            model.talk("One.", voice, options(**chosen), ctx)


def test_speed_changes_the_length(model, ctx, options):
    frames = [
        int(model.talk("One two three.", None, options(speed=speed), ctx).segments[0].tensors["durations"].sum())
        for speed in (0.5, 1.0, 2.0)
    ]
    assert frames == sorted(frames, reverse=True)
    assert frames[0] > 1.5 * frames[2]


def test_a_seed_decides_about_the_sound_only(model, ctx):
    first, again, other = (talk(model, "One.", None, None, Runtime().context(seed)) for seed in (1, 1, 2))
    for name, tensor in first.segments[0].tensors.items():
        assert torch.equal(tensor, other.segments[0].tensors[name])
    sounds = [decode(model, codes, ctx).waveform for codes in (first, again, other)]
    assert torch.equal(sounds[0], sounds[1])
    assert not torch.equal(sounds[0], sounds[2])


def test_decoding_can_be_stopped_before_every_block(model, ctx):
    codes = talk(model, "One.", None, None, ctx)
    calls = []
    decode(model, codes, Runtime().context(on_check=lambda: calls.append(0)))
    assert len(calls) > 8

    def stop():
        calls.pop()
        if not calls:
            raise Cancelled("enough")

    with pytest.raises(Cancelled, match="enough"):
        decode(model, codes, Runtime().context(on_check=stop))


def test_codes_survive_a_file(model, ctx, tmp_path):
    codes = talk(model, "One.", None, None, ctx)
    codes.save(tmp_path / "codes.safetensors")
    found = decode(model, Codes.load(tmp_path / "codes.safetensors"), ctx)
    assert torch.equal(found.waveform, decode(model, codes, ctx).waveform)
    assert found.sample_rate == 24000
    assert found.waveform.abs().max() > 0.01


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("f0", lambda t: None, 'no usable "f0"'),
        ("f0", lambda t: t[0], 'no usable "f0"'),
        ("energy", lambda t: t.half(), 'no usable "energy"'),
        ("energy", lambda t: t[:, 1:], "make them anew"),
        ("text", lambda t: t[:, :, :0], 'no usable "text"'),
        ("text", lambda t: t[:, :9], "another size"),
        ("style", lambda t: t[:, :9], "another size"),
    ],
)
def test_codes_that_were_tampered_with(model, ctx, name, change, sentence):
    codes = talk(model, "One.", None, None, ctx)
    tensors = dict(codes.segments[0].tensors)
    tensors[name] = change(tensors[name])
    if tensors[name] is None:
        del tensors[name]
    with pytest.raises(InvalidRequest, match=sentence):
        decode(model, replace(codes, segments=(replace(codes.segments[0], tensors=tensors),)), ctx)


def test_what_cannot_be_read(model, ctx):
    speak(model, "Tokyo is 東京.", None, None, ctx)
    (warning,) = [warning for warning in ctx.report.warnings if warning["code"] == "dropped_text"]
    assert "東京" in str(warning)
    with pytest.raises(NothingToSay, match=r"cannot read .* as American English; choose a voice or the option"):
        speak(model, "東京", None, None, ctx)


def test_every_language_can_be_chosen(model, ctx):
    codes = talk(model, "hola", None, Options("kokoro", {"language": "spanish"}), ctx)
    assert codes.segments[0].tensors["durations"].shape == (1, 2 + len("ˈola"))


def test_the_first_letter_of_a_voice_tells_its_language():
    tags = [language_of(voice).tag for voice in MANIFEST.voices]
    counts = {tag: tags.count(tag) for tag in dict.fromkeys(tags)}
    assert counts == {"en-US": 20, "en-GB": 8, "es": 3, "fr": 1, "hi": 4, "it": 2, "ja": 5, "pt-BR": 3, "zh": 8}
    assert language_of("zelda").tag == "en-US"
    assert language_of("af_heart", "French").tag == "fr"


def test_a_text_of_too_many_phonemes_becomes_several_segments(model, ctx, options, monkeypatch):
    monkeypatch.setattr(model._encoder, "_max_phonemes", 40)
    text = "One two three four five six. " * 5
    segments = model.talk(text, None, options(), ctx).segments
    assert len(segments) > 3
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.tensors["durations"].shape[1] <= 42 for segment in segments)


def test_chinese_of_the_other_checkpoint(model, ctx, options, monkeypatch):
    monkeypatch.setattr(model._encoder, "_ids", {**tiny.VOCAB, "ㄅ": 177})
    with pytest.raises(Unsupported, match=r"v1.1-zh\) reads Chinese in bopomofo"):
        model.talk("你好", None, options(language="Mandarin Chinese"), ctx)


def test_ids_have_boundaries_and_leave_out_what_is_unknown(model):
    encoder: prompt.PhonemeEncoder = model._encoder
    assert encoder.ids("həX").tolist() == [[0, tiny.VOCAB["h"], tiny.VOCAB["ə"], 0]]


def test_a_digit_counts_as_a_word():
    assert MANIFEST.measure_text("1234") > MANIFEST.measure_text("abcd")
    assert MANIFEST.measure_text("你好") > MANIFEST.measure_text("ab")
