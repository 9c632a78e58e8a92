"""Qwen3-TTS through the API of a real ComfyUI, with tiny random checkpoints of all three kinds in its models folder."""

import json
import time

import numpy as np
import pytest
from mizuoto.tests.host.comfy import HostError, InterruptedPromptError, NodeError
from mizuoto.tests.host.graphs import load, node, report, save, show, sound, sounds, speak
from mizuoto.tests.host.qwen import (
    BASE,
    DESIGN,
    FOLDERS,
    PRESETS,
    SECONDS,
    TEXT,
    WORDS,
    clone,
    design,
    heard,
    in_phases,
    preset,
    refusal,
    said,
)

pytestmark = pytest.mark.usefixtures("qwen_models")

RATE = 24000
FRAME_SAMPLES = 1920


# -- what it does -----------------------------------------------------------------------------------------------------


def test_folders_are_listed_and_official_ones_can_be_fetched(comfy):
    info = comfy.get("/object_info/MizuotoLoadModel")["MizuotoLoadModel"]["input"]["required"]["model"]
    choices = info[0] if isinstance(info[0], list) else info[1]["options"]
    assert {*FOLDERS.values()} <= set(choices)
    assert {f"Qwen3-TTS-12Hz-{name} (download)" for name in ("0.6B-Base", "1.7B-VoiceDesign")} <= set(choices)


@pytest.mark.parametrize("inputs", [{}, {"transcript": WORDS}, {"transcript": WORDS, "mode": "timbre only"}])
def test_a_cloned_voice_speaks_and_phases_give_the_samples_of_speak(comfy, inputs):
    run = comfy.run(said(BASE, clone(**inputs), seed=3))
    samples = sound(comfy, run)
    assert FRAME_SAMPLES <= samples.size <= SECONDS * RATE and samples.size % FRAME_SAMPLES == 0
    phases = comfy.run(in_phases(BASE, clone(**inputs), seed=3))
    assert "decode" in phases.executed
    assert np.array_equal(sound(comfy, phases), samples)


def test_a_transcript_and_the_mode_make_a_difference(comfy):
    timbre = heard(comfy, said(BASE, clone(), seed=1))
    assert not np.array_equal(heard(comfy, said(BASE, clone(transcript=WORDS), seed=1)), timbre)
    again = clone(transcript=WORDS, mode="timbre only")
    assert np.array_equal(heard(comfy, said(BASE, again, seed=1)), timbre)


def test_presets_differ_and_the_first_is_the_default(comfy):
    vivian, ryan = (heard(comfy, said(PRESETS, preset(name), seed=1)) for name in ("vivian", "Ryan"))
    assert not np.array_equal(vivian, ryan)
    assert np.array_equal(heard(comfy, said(PRESETS, seed=1)), vivian)


def test_descriptions_make_a_difference(comfy):
    low, high = (heard(comfy, said(DESIGN, design(words), seed=1)) for words in ("A deep voice.", "A high voice."))
    assert not np.array_equal(low, high)


@pytest.mark.parametrize(
    ("model", "voice"), [(PRESETS, preset("Ryan")), (DESIGN, design("A deep voice."))], ids=["preset", "design"]
)
def test_phases_give_the_samples_of_speak(comfy, model, voice):
    whole = heard(comfy, said(model, voice, seed=5))
    assert np.array_equal(heard(comfy, in_phases(model, voice, seed=5)), whole)


def test_an_instruction_makes_a_difference_where_the_checkpoint_follows_it(comfy):
    plain, angry = (heard(comfy, said("large presets", seed=1, instruction=words)) for words in ("", "Angrily."))
    assert not np.array_equal(plain, angry)


def test_a_take_that_was_cut_is_told_in_the_report(comfy):
    told = report(comfy.run(said(PRESETS, seconds=0.1)))
    (warning,) = told["warnings"]
    assert all(part in str(warning) for part in ("did not come to an end", TEXT, "0.1 s"))
    assert told["engine"] == "qwen3_tts" and told["params"]["max_seconds"] == 0.1
    assert set(told["memory"]) == {"qwen3_tts:talker", "qwen3_tts:codec"}


def test_the_seed_decides(comfy):
    first, other = (heard(comfy, said(PRESETS, seed=seed)) for seed in (7, 8))
    run = comfy.run(said(PRESETS, seed=7))
    assert "speak" in run.executed and np.array_equal(sound(comfy, run), first)
    assert not np.array_equal(first, other)


def test_audio_is_what_core_nodes_expect(comfy):
    prompt = said(PRESETS) | node("shape", "MizuotoTestShape", audio=["speak", 0]) | show(["shape", 0])
    run = comfy.run(prompt)
    facts = json.loads(run.texts()[0])
    assert facts.pop("shape") == [1, 1, sound(comfy, run).size]
    assert facts == {"dtype": "torch.float32", "device": "cpu", "contiguous": True, "sample_rate": RATE}
    cut = node("cut", "TrimAudioDuration", audio=["speak", 0], start_index=0.01, duration=0.05)
    assert sound(comfy, comfy.run(said(PRESETS) | cut | save(["cut", 0], "part")), "part").size == 0.05 * RATE


def test_our_own_sound_is_a_reference(comfy):
    """A designed voice becomes one that stays: what one model says is the recording for the next."""
    first = {
        **node("designer", "MizuotoLoadModel", model=DESIGN),
        **node("idea", "MizuotoDesignVoice", model=["designer", 0], description="A deep voice."),
        **node("longer", "MizuotoQwen3TtsOptions", max_seconds=2.0),
        **speak(WORDS, 1, "clip", model=["designer", 0], voice=["idea", 0], options=["longer", 0]),
    }
    voice = node("voice", "MizuotoVoicePrompt", model=["load", 0], audio=["clip", 0], transcript=WORDS)
    assert heard(comfy, said(BASE, first | voice)).size >= FRAME_SAMPLES


# -- lists ------------------------------------------------------------------------------------------------------------

LINES = ("One cat.", "Two cats and a dog.", "Three.", "Four cats, who ran away.", "Five.")


def lines(*texts):
    return node("texts", "MizuotoTestTexts", text="|".join(texts))


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_list_of_texts_gives_a_list_of_sounds_in_order(comfy, batch_size):
    prompt = lines(*LINES) | in_phases(PRESETS, text=["texts", 0], seed=2, batch_size=batch_size)
    run = comfy.run(prompt)
    found = sounds(comfy, run)
    reports = [json.loads(text) for text in run.outputs["talk"]["mizuoto_report"]]
    assert len(found) == len(reports) == len(LINES)
    alone = [heard(comfy, in_phases(PRESETS, text=text, seed=2)) for text in LINES]
    if batch_size == 1:
        assert all(map(np.array_equal, found, alone))
    else:
        # The fifth is left over and said alone; the others are takes of their own, in their own order.
        assert np.array_equal(found[4], alone[4])
        assert len({samples.tobytes() for samples in found}) == len(LINES)
        again = comfy.run(prompt | lines(*LINES[:4]))
        assert all(map(np.array_equal, sounds(comfy, again), found))


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_linked_text_is_the_same_as_a_typed_one(comfy, batch_size):
    linked = node("text", "MizuotoTestText", text=TEXT) | in_phases(PRESETS, text=["text", 0], batch_size=batch_size)
    typed = heard(comfy, in_phases(PRESETS, batch_size=batch_size))
    assert np.array_equal(heard(comfy, linked), typed)


@pytest.mark.parametrize("text", ["", "...", " \n"])
def test_an_empty_text_is_refused_typed_before_anything_runs_and_linked_when_it_comes(comfy, text):
    with pytest.raises(HostError, match="nothing to say; type a text with words") as caught:
        comfy.run(in_phases(PRESETS, text=text))
    assert not isinstance(caught.value, NodeError)
    for prompt in (said, in_phases):
        linked = node("text", "MizuotoTestText", text=text) | prompt(PRESETS, text=["text", 0])
        at = "speak" if prompt is said else "talk"
        assert "nothing to say; type a text with words" in refusal(comfy, linked, at)


# -- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("no shard", "model-00002-of-00002.safetensors"),
        ("cut off", "is cut off: 100,000 of at least"),
        ("other architecture", "singer"),
        ("25 Hz", "only the 12 Hz tokenizer"),
        ("no tokenizer", "has no speech tokenizer"),
    ],
)
def test_a_broken_checkpoint_fails_in_the_node_that_loads_it(comfy, folder, sentence):
    told = refusal(comfy, said(folder), "load")
    assert sentence in told and len(told.splitlines()) == 1, told


def empty(seconds):
    return node("clip", "EmptyAudio", duration=seconds, sample_rate=16000, channels=2)


@pytest.mark.parametrize(
    ("prompt", "at", "sentence"),
    [
        (said(BASE, clone() | empty(61.0)), "voice", "61.0 s long and Qwen3-TTS takes 0.5 to 60 s"),
        (said(BASE, clone() | empty(0.1)), "voice", "0.1 s long and Qwen3-TTS takes 0.5 to 60 s"),
        (said(BASE, clone() | empty(3.0)), "voice", "The reference recording is silent"),
        (said(BASE, clone(mode="with transcript")), "voice", 'The mode "with transcript" needs the words'),
        (said(BASE, clone(mode="with transcript", transcript=" \n")), "voice", "needs the words of the recording"),
        (said(PRESETS, clone()), "voice", "clones no voices"),
        (said(BASE, design("A deep voice.")), "voice", "designs no voices"),
        (said(DESIGN, design(" \n")), "voice", "The description of the voice is empty"),
        (said(BASE, preset("Ryan")), "voice", 'has no voice "Ryan"; it brings none along'),
        (said(PRESETS, preset("Ryn")), "voice", 'has no voice "Ryn"; it has Vivian, Serena'),
        (said(PRESETS, preset("Ryn")), "voice", 'Did you mean "Ryan"'),
        (said(PRESETS, preset("heart")), "voice", 'has no voice "heart"'),
        (said(BASE), "speak", "speaks with a cloned voice only: connect a Voice Prompt node"),
        (in_phases(BASE), "talk", "speaks with a cloned voice only: connect a Voice Prompt node"),
        (said(PRESETS, instruction="Angrily."), "speak", "follows no instruction; empty that option"),
        (in_phases(BASE, clone(), instruction="Angrily."), "talk", "follows no instruction; empty that option"),
        (said(PRESETS, seconds=0.1, at_limit="fail"), "speak", "did not come to an end"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_a_sentence(comfy, prompt, at, sentence):
    told = refusal(comfy, prompt, at)
    assert sentence in told and len(told.splitlines()) == 1, told


def test_an_unknown_language_is_refused_with_the_others(comfy):
    with pytest.raises(HostError, match=r"language.*Klingon.*Chinese.*English"):
        comfy.run(said(PRESETS, language="Klingon"))


HIBARI = "hibari (built-in)"


def test_voices_codes_and_options_of_another_engine_are_refused(comfy):
    voice = node("other", "MizuotoLoadModel", model=HIBARI) | preset("heart")
    voice["voice"]["inputs"]["model"] = ["other", 0]
    told = refusal(comfy, said(PRESETS, voice), "speak")
    assert 'The voice came from engine "hibari" but the model is "qwen3_tts"' in told
    assert 'The voice came from engine "hibari"' in refusal(comfy, in_phases(PRESETS, voice), "talk")
    codes = in_phases(PRESETS) | node("other", "MizuotoLoadModel", model=HIBARI)
    codes["decode"]["inputs"]["model"] = ["other", 0]
    assert 'The codes came from engine "qwen3_tts" but the model is "hibari"' in refusal(comfy, codes, "decode")
    for prompt, at in ((said, "speak"), (in_phases, "talk")):
        told = refusal(comfy, prompt(HIBARI), at)
        assert 'The options are for engine "qwen3_tts" but the model is "hibari"' in told


@pytest.mark.parametrize(
    ("model", "source", "voice", "sentence"),
    [
        (PRESETS, BASE, clone(), "is cloned from a recording, which a custom_voice model cannot use"),
        (DESIGN, PRESETS, preset("Eric"), "is a preset, which a voice_design model cannot use"),
        (PRESETS, DESIGN, design("Deep."), "is a description, which a custom_voice model cannot use"),
        (BASE, PRESETS, preset("Eric"), "speaks with a cloned voice only"),
        ("large base", BASE, clone(), "was made by a Qwen3-TTS model of another size"),
    ],
)
def test_a_voice_of_another_kind_of_checkpoint_is_refused(comfy, model, source, voice, sentence):
    voice = {**node("other", "MizuotoLoadModel", model=source), **json.loads(json.dumps(voice))}
    voice["voice"]["inputs"]["model"] = ["other", 0]
    assert sentence in refusal(comfy, said(model, voice), "speak")


@pytest.mark.parametrize(
    "voice",
    [
        clone() | node("voice", "MizuotoVoicePrompt", model="x", audio=["clip", 0]),
        node("voice", "MizuotoVoicePrompt", model=["load", 0], audio="x"),
        node("voice", "MizuotoDesignVoice", model="x", description="Deep."),
        node("voice", "MizuotoSaveVoice", voice="x", name="x"),
    ],
    ids=["model", "audio", "design", "save"],
)
def test_literals_in_place_of_links_are_refused(comfy, voice):
    prompt = load(BASE) | voice | node("out", "MizuotoTestOut", value=["voice", 0])
    assert '" is "x", which is no ' in refusal(comfy, prompt, "voice")


@pytest.mark.parametrize("name", [5, None, {"name": "Ryan"}])
def test_a_preset_that_is_no_name(comfy, name):
    assert "has no voice" in refusal(comfy, said(PRESETS, preset(name)), "voice")


# -- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [said, in_phases])
def test_an_interrupt_ends_a_take_within_frames_and_the_next_prompt_works(comfy, prompt):
    comfy.run(prompt(PRESETS))
    endless = prompt(PRESETS, text=f"{TEXT} " * 1000, seed=9, seconds=600.0, stop_loops=False)
    prompt_id = comfy.queue(endless)
    comfy.wait_until_running(prompt_id)
    time.sleep(0.5)
    asked = time.monotonic()
    comfy.interrupt(prompt_id)
    took = time.monotonic() - asked
    with pytest.raises(InterruptedPromptError):
        comfy.wait(prompt_id)
    assert took < 1.0
    assert not any(model["busy"] for model in comfy.get("/mizuoto/runtime")["models"])
    assert heard(comfy, prompt(PRESETS, seed=10)).size >= FRAME_SAMPLES
