"""Scripts, subtitles, plans and lists of texts in a real ComfyUI, spoken by the built-in voice."""

import json

import numpy as np
import pysubs2
import pytest
from mizuoto.tests.host.comfy import HostError, NodeError
from mizuoto.tests.host.graphs import load, node, report, save, show, sound, sounds, speak
from mizuoto.tests.judges import transcribe, word_error_rate

RATE = 24000
SILENCE = 40  # of 32768: what SaveAudio makes of a sample that is not heard
SCRIPT = "Anna: Good morning, my friend. [pause:2s] How are you today?\nBen: I am very well, thank you.\n"


def bank():
    """Two names for the one voice that is there."""
    return (
        node("preset", "MizuotoPresetVoice", model=["load", 0], name="heart")
        | node("anna", "MizuotoVoiceBank", name="Anna", voice=["preset", 0])
        | node("ben", "MizuotoVoiceBank", name="Ben", voice=["preset", 0], voices=["anna", 0])
    )


def script(text=SCRIPT, **inputs):
    given = {"model": ["load", 0], "script": text, "seed": 3, "voices": ["ben", 0], **inputs}
    return load() | bank() | node("script", "MizuotoSpeakScript", **given) | save(["script", 0])


def texts_of(run, shown):
    """What a node that shows text was given."""
    return run.outputs[shown]["text"]


def silences(samples, longer_than_s):
    """(start, end) in seconds of stretches without sound."""
    loud = np.flatnonzero(np.abs(samples.astype(int)) > SILENCE)
    gaps = np.flatnonzero(np.diff(loud) > longer_than_s * RATE)
    return [(loud[gap] / RATE, loud[gap + 1] / RATE) for gap in gaps]


def test_a_script_is_spoken_line_by_line(comfy):
    more = save(["script", 1], "lines") | show(["script", 2], "timeline") | show(["script", 3], "srt")
    run = comfy.run(script() | more)
    whole, lines = sound(comfy, run), sounds(comfy, run, "lines")
    timeline = json.loads(texts_of(run, "timeline")[0])
    assert [(take["speaker"], take["line"]) for take in timeline] == [("Anna", 1), ("Anna", 1), ("Ben", 2)]
    assert len(lines) == 2
    first, last = timeline[0]["start"], timeline[1]["end"]
    assert np.array_equal(lines[0], whole[round(first * RATE) : round(last * RATE)])
    assert [round(end - start, 1) for start, end in silences(whole, 1.5)] == [2.0]
    heard = transcribe(whole / 32768, RATE)
    assert word_error_rate("Good morning my friend how are you today I am very well thank you", heard) <= 0.10, heard
    subtitles = pysubs2.SSAFile.from_string(texts_of(run, "srt")[0])
    assert [event.plaintext.partition(":")[0] for event in subtitles] == ["Anna", "Anna", "Ben"]
    assert report(run, "script")["params"]["speakers"] == ["Anna", "Ben"]


def test_after_a_change_only_the_changed_line_is_spoken(comfy):
    comfy.run(script())
    run = comfy.run(script(SCRIPT.replace("very well", "rather tired")))
    assert report(run, "script")["applied"]["cached_segments"] == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Anna: Hi.\nBob: Hi.", r'Line 2: there is no voice for "Bob"; the voice bank has Anna, Ben'),
        ("[Anna|speed:9] Hi.", r"speed is .9.; it takes a number from 0.25 to 4"),
        ("[pause:1s]", "The script has no words"),
        ('[{"speaker": "Anna"}]', 'Entry 1 of the script has no "text"'),
    ],
)
def test_a_script_that_cannot_be_followed_is_refused(comfy, text, told):
    with pytest.raises(NodeError, match=told):
        comfy.run(script(text))


def test_names_are_checked_before_anything_runs(comfy):
    prompt = script()
    prompt["anna"]["inputs"]["name"] = "a]b"
    with pytest.raises(HostError, match="cannot be the name of a speaker"):
        comfy.run(prompt)
    prompt["anna"]["inputs"]["name"] = "ben"
    with pytest.raises(NodeError, match='has a voice "Ben" already'):
        comfy.run(prompt)


def stamp(ms):
    return f"{ms // 3600000:02}:{ms // 60000 % 60:02}:{ms // 1000 % 60:02},{ms % 1000:03}"


def srt(starts_ms, length_ms, words):
    cues = (f"{n}\n{stamp(at)} --> {stamp(at + length_ms)}\n{words(n)}\n" for n, at in enumerate(starts_ms, 1))
    return "\n".join(cues)


def subtitled(text, **inputs):
    given = {"model": ["load", 0], "subtitles": text, "policy": "strict", "speed_up": True, "seed": 1, **inputs}
    return load() | node("cues", "MizuotoSpeakSubtitles", **given) | save(["cues", 0]) | show(["cues", 1], "timeline")


def test_a_hundred_cues_land_at_their_times_and_the_length_is_exact(comfy):
    starts = [500 + 2100 * n + 37 * (n % 7) for n in range(100)]
    words = ("Good morning.", "Who is there?", "It is late.", "Come here.")
    run = comfy.run(subtitled(srt(starts, 1500, lambda n: words[n % 4])))
    samples = sound(comfy, run)
    assert samples.size == round((starts[-1] + 1500) * RATE / 1000)
    loud = np.abs(samples.astype(int)) > SILENCE
    for start in starts:
        at = start * RATE // 1000
        window = loud[at - RATE // 10 : at + RATE // 5]
        assert abs(np.flatnonzero(window)[0] / RATE - 0.1) <= 0.05, start
    timeline = json.loads(texts_of(run, "timeline")[0])
    assert [take["line"] for take in timeline] == list(range(1, 101))
    assert max(abs(take["start"] - start / 1000) for take, start in zip(timeline, starts, strict=True)) <= 0.05


def test_speech_that_is_too_long_is_sped_up_shifted_or_refused(comfy):
    text = srt([0, 1500], 1400, lambda n: "This sentence takes two seconds or so." if n == 1 else "Yes.")
    fast = comfy.run(subtitled(text))
    assert json.loads(texts_of(fast, "timeline")[0])[1]["start"] == 1.5
    slow = comfy.run(subtitled(text, speed_up=False, policy="shift"))
    assert json.loads(texts_of(slow, "timeline")[0])[1]["start"] > 1.6
    assert report(slow, "cues")["warnings"][0]["items"] == ["cue 2"]
    with pytest.raises(NodeError, match=r'Cue 1, "This sentence takes .*give it more time'):
        comfy.run(subtitled(text, speed_up=False))


def test_wrong_subtitles_are_refused_with_their_line_before_anything_runs(comfy):
    with pytest.raises(HostError, match=r"Line 2 of the subtitles, .*is no time such as"):
        comfy.run(subtitled("1\n00:00:01 --> 00:00:02\nHi.\n"))


def test_a_plan_needs_no_model(comfy):
    text = "Dr. Smith paid $50. [pause:1s] [Anna] Really? [laugh]"
    plan = node("plan", "MizuotoPlanText", text=text, engine="hibari", speakers="Anna", normalise="on", max_size=0)
    run = comfy.run(plan | show(["plan", 1], "lines") | show(["plan", 2], "count"))
    assert texts_of(run, "lines") == ["Doctor Smith paid fifty dollars.", "Really? [laugh]"]
    assert texts_of(run, "count") == ["2"]
    assert texts_of(run, "plan")[0].splitlines() == [
        "  1 Doctor Smith paid fifty dollars.", "    pause 1 s", "  2 Anna: Really? [laugh]",
    ]  # fmt: skip


def texts(*lines):
    return node("texts", "MizuotoTestTexts", text="|".join(lines))


def talked(*lines):
    talk = node("talk", "MizuotoTalker", model=["load", 0], text=["texts", 0], seed=2)
    return (
        load()
        | texts(*lines)
        | talk
        | node("decode", "MizuotoCodecDecoder", model=["load", 0], codes=["talk", 0])
        | save(["decode", 0])
    )


def test_one_text_of_a_list_that_fails_stops_only_itself(comfy):
    run = comfy.run(talked("This is the first.", "...", "This is the third.") | show(["talk", 1], "reports"))
    files = sounds(comfy, run)
    assert len(files) == 2
    for samples, words in zip(files, ("This is the first.", "This is the third."), strict=True):
        assert np.array_equal(samples, sound(comfy, comfy.run(load() | speak(words, 2) | save(["speak", 0]))))
    told = [json.loads(text) for text in texts_of(run, "reports")]
    assert ["error" in each for each in told] == [False, True, False]
    assert told[1]["message"].startswith('Text 2 of 3: "..." has no letter or digit')
    assert "Text 2 of 3" in comfy.log()


def test_a_list_of_which_nothing_can_be_said_is_an_error(comfy):
    with pytest.raises(NodeError, match="Text 1 of 2: "):
        comfy.run(talked("...", "!"))


ODD = {
    "🎉 Party! 🎉": "party",
    "He is tall [ and old ]": "he is tall and old",
    "The word " + "ab" * 300 + " is long.": None,
    "English and \u202eעברית\u202c and العربية mixed.": None,
    "It costs $1,234.56 on 2024/10/01 at 3:00.": None,
}


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_are_spoken(comfy, text):
    run = comfy.run(load() | speak(text) | save(["speak", 0]))
    samples = sound(comfy, run)
    assert samples.size > RATE / 4 and np.abs(samples.astype(int)).max() > 1000
    if ODD[text] is not None:
        assert word_error_rate(ODD[text], transcribe(samples / 32768, RATE)) <= 0.34
