"""Prepare Voice in a real ComfyUI: whatever Load Audio reads becomes a reference that a voice can be made of."""

import io
import json

import av
import numpy as np
import pytest
from mizuoto.tests.host import media
from mizuoto.tests.host.comfy import NodeError
from mizuoto.tests.host.ear import EAR, WORDS, clip, ear, installed, listen
from mizuoto.tests.host.graphs import load, node, report, save, show, sound
from mizuoto.tests.host.qwen import BASE, CLIP, CLIPS, said
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, word_error_rate

CLIP_S = 2.99


@pytest.fixture(scope="module", autouse=True)
def _models_in_place(comfy, qwen_models):
    with installed(comfy):
        yield


def prepare(source=("clip", 0), **inputs):
    return node("prepare", "MizuotoPrepareVoice", audio=list(source), **inputs)


def prepared(comfy, prompt):
    """(what Prepare Voice gave as its transcript, its report, samples at the rate of the saved file, that rate)"""
    run = comfy.run(prompt | save(["prepare", 0]) | show(["prepare", 1]))
    (file,) = run.outputs["save"]["audio"]
    with av.open(io.BytesIO(comfy.view(file))) as container:
        rate = container.streams.audio[0].rate
    return run.outputs["show"]["text"][0], report(run, "prepare"), sound(comfy, run) / 32768, rate


def refusal(comfy, prompt):
    with pytest.raises(NodeError) as caught:
        comfy.run(prompt | save(["prepare", 0]))
    assert caught.value.node_id == "prepare"
    return caught.value.message


@pytest.mark.parametrize("kind", media.KINDS)
def test_whatever_load_audio_reads_is_prepared(comfy, kind):  # P57
    media.write(comfy.base / "input" / kind, CLIPS / CLIP, kind)
    _, told, samples, rate = prepared(
        comfy, load(BASE) | node("clip", "LoadAudio", audio=kind) | prepare(model=["load", 0])
    )
    facts = told["params"]["reference"]
    assert rate == 24000 == facts["sample_rate"]
    assert len(samples) / rate == pytest.approx(CLIP_S, abs=0.4)
    assert facts["recorded_sample_rate"] == media.KINDS[kind][3] and not told["warnings"]
    assert 0.3 < np.abs(samples).max() <= 0.95


def test_a_film_without_sound_says_so_before_it_gets_here(comfy):
    media.write_silent_film(comfy.base / "input" / "silent.mp4")
    with pytest.raises(NodeError, match="No audio"):
        comfy.run(node("clip", "LoadAudio", audio="silent.mp4") | prepare() | save(["prepare", 0]))


def test_without_a_model_the_rate_stays_and_a_listener_finds_the_words(comfy):
    text, told, samples, rate = prepared(comfy, clip() | ear() | prepare(listener=["ear", 0]))
    assert word_error_rate(WORDS, text) <= MAX_WORD_ERROR_RATE
    assert rate == 16000 and told["task"] == "prepare voice" and told["model"] == EAR
    assert told["audio_seconds"] == pytest.approx(len(samples) / rate, abs=1e-3)


def test_a_cut_recording_takes_its_words_along(comfy):  # P53
    words = node("options", "MizuotoWhisperOptions", word_timestamps=True)
    heard = clip() | ear() | words | listen(options=["options", 0])
    text, _, samples, rate = prepared(comfy, heard | prepare(heard=["listen", 1], max_seconds=4.0))
    assert len(samples) / rate <= 4.0 and 1 <= len(text.split()) < len(WORDS.split())
    misheard = [word for word in text.lower().replace("mr.", "mister").split() if word.strip(",.") not in WORDS.split()]
    assert len(misheard) <= 1
    assert "its transcript does not tell which words are left" in refusal(
        comfy, clip() | prepare(transcript=WORDS, max_seconds=4.0)
    )


def test_a_voice_is_made_of_what_was_prepared(comfy):
    voice = node("voice", "MizuotoVoicePrompt", model=["load", 0], audio=["prepare", 0], transcript=["prepare", 1])
    chain = clip() | prepare(model=["load", 0], transcript=WORDS) | voice
    assert np.abs(sound(comfy, comfy.run(said(BASE, chain)))).max() > 0


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"model": ["built_in", 0]}, "clones no voices"),
        ({"listener": ["load", 0]}, "cannot transcribe"),
        ({"audio": "clip.wav"}, '"audio" is "clip.wav", which is no sound'),
        ({"model": "a name"}, '"model" is "a name", which is no speech model'),
        ({"heard": "words"}, '"heard" is "words", which is no transcript'),
        ({"model": ["load", 0], "max_seconds": 0.1}, "max_seconds is 0.1 and"),
    ],
)
def test_wrong_inputs_are_named(comfy, inputs, sentence):
    built_in = node("built_in", "MizuotoLoadModel", model="hibari (built-in)")
    prompt = load(BASE) | built_in | clip() | node("prepare", "MizuotoPrepareVoice", **{"audio": ["clip", 0], **inputs})
    assert sentence in refusal(comfy, prompt)


def test_silence_is_refused(comfy):  # P55
    silence = node("clip", "EmptyAudio", duration=2.0, sample_rate=44100, channels=2)
    assert "is silent" in refusal(comfy, silence | prepare())


def test_the_report_is_json_whatever_was_found(comfy):
    run = comfy.run(clip() | prepare(trim=False, level=False) | show(["prepare", 2]))
    facts = json.loads(run.outputs["show"]["text"][0])["params"]["reference"]
    assert facts["start"] == 0 and facts["seconds"] == facts["recorded_seconds"][0]
