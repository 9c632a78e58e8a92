"""Finished segments over the websocket of a real ComfyUI, while the rest is made."""

import io
import wave

import numpy as np
import pytest
from mizuoto.tests.host.comfy import InterruptedPromptError
from mizuoto.tests.host.graphs import TEXT, load, node, phases, save, sound, speak, spoken
from mizuoto.tests.host.listener import connected

RATE = 24000
LONG = "This sentence is one of very many that nobody wants to hear to the end. " * 200


def samples(comfy, segment):
    with wave.open(io.BytesIO(comfy.view(segment["file"]))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def files(comfy):
    return {path.name for path in (comfy.base / "temp").glob("mizuoto/*")}


def check_all_of(comfy, run, segments):
    """Joined they are the recording, up to the silence at its end."""
    whole = sound(comfy, run).astype(int)
    joined = np.concatenate([samples(comfy, segment) for segment in segments]).astype(int)
    assert 0 <= whole.size - joined.size < RATE
    assert np.abs(whole[: joined.size] - joined).max() <= 1  # rounded by another encoder
    assert np.abs(whole[joined.size :]).max(initial=0) < 40


def test_segments_come_while_the_rest_is_made_and_are_the_recording(comfy):
    sentence = "The <script>alert(1)</script> is said like any other text, to whoever wants to hear it. "
    text = f"{TEXT} {sentence * 8}"
    with connected(comfy) as socket:
        run, segments = socket.run(spoken(text, seed=101))
        lines = socket.of("text")
        kinds = [kind for kind, data in socket.told if kind == "text" or data.get("prompt_id") == run.prompt_id]
    assert len(segments) > 2
    assert {(told["node"], told["speaker"]) for told in segments} == {("speak", "")}
    assert [told["number"] for told in segments] == list(range(1, len(segments) + 1))
    assert any("<script>" in told["text"] for told in segments)
    assert lines == [("speak", f"{told['total_seconds']:.0f} s of speech, segment {told['number']} of {len(segments)}")
                     for told in segments]  # fmt: skip
    first = kinds.index("mizuoto.segment")
    second = kinds.index("mizuoto.segment", first + 1)
    assert "progress_state" in kinds[first:second]
    assert "executed" not in kinds[:second] and "executed" in kinds
    check_all_of(comfy, run, segments)


def test_the_decoder_tells_too(comfy):
    with connected(comfy) as socket:
        run, segments = socket.run(phases(f"{TEXT} " * 6, seed=102))
    assert segments and {told["node"] for told in segments} == {"decode"}
    check_all_of(comfy, run, segments)


def test_speakers_and_cues_are_told_once(comfy):
    script = node(
        "script", "MizuotoSpeakScript", model=["load", 0], seed=1, script="Good morning. [pause:1s] How are you?"
    )
    cues = "1\n00:00:00,000 --> 00:00:00,300\nMuch too short for its text.\n\n2\n00:00:09,000 --> 00:00:10,000\nTwo."
    subtitles = node(
        "cues", "MizuotoSpeakSubtitles", model=["load", 0], seed=1, subtitles=cues, policy="shift", speed_up=True
    )
    with connected(comfy) as socket:
        _, of_script = socket.run(load() | script | save(["script", 0]))
        run, of_cues = socket.run(load() | subtitles | save(["cues", 0]))
    assert [told["text"] for told in of_script] == ["Good morning.", "How are you?"]
    assert of_script[1]["seconds"] > 1.0  # with the pause before it
    assert [told["text"] for told in of_cues] == ["Much too short for its text.", "Two."]
    assert [told["start"] for told in of_cues] == [0.0, 9.0]
    assert {told["start"] for told in of_script} == {None}
    second = samples(comfy, of_cues[1]).astype(int)
    whole = sound(comfy, run).astype(int)[9 * RATE :][: second.size]
    assert np.abs(whole - second).max() <= 1


def test_a_list_of_texts_is_one_list_of_segments(comfy):
    texts = node("texts", "MizuotoTestTexts", text="One.|Two.|Three.")
    with connected(comfy) as socket:
        _, segments = socket.run(load() | texts | speak(["texts", 0], seed=103) | save(["speak", 0]))
    assert [(told["number"], told["text"]) for told in segments] == [(1, "One."), (2, "Two."), (3, "Three.")]
    assert len({told["file"]["filename"] for told in segments}) == 3
    assert all(samples(comfy, told).size for told in segments)


def test_files_of_a_node_go_when_it_runs_again(comfy):
    with connected(comfy) as socket:
        _, first = socket.run(spoken(seed=104))
        _, other = socket.run(load() | speak(seed=105, node="other") | save(["other", 0]))
        _, again = socket.run(spoken(seed=106))
    names = [{told["file"]["filename"] for told in segments} for segments in (first, other, again)]
    assert all(names)
    assert not names[0] & files(comfy)
    assert names[1] | names[2] <= files(comfy)


def test_nothing_is_written_without_a_client(comfy):
    before = files(comfy)
    comfy.run(spoken(seed=107))  # its client is not connected
    prompt = {"prompt": spoken(seed=108)}
    comfy.wait(comfy.post("/prompt", prompt)["prompt_id"])  # names none
    assert files(comfy) == before


def test_an_interrupted_run_leaves_what_was_made_and_no_error(comfy):
    log = len(comfy.log())
    with connected(comfy) as socket:
        prompt_id = comfy.queue(spoken(LONG, seed=109))
        first, *_ = socket.wait_for("mizuoto.segment", prompt_id)
        assert comfy.history(prompt_id) is None, "it is still spoken"
        assert samples(comfy, first).size > RATE
        comfy.interrupt(prompt_id)
        with pytest.raises(InterruptedPromptError):
            comfy.wait(prompt_id)
        assert samples(comfy, first).size > RATE
        assert not socket.of("execution_error", prompt_id)
    assert "Traceback" not in comfy.log()[log:]


def test_a_folder_that_cannot_be_written_costs_the_preview_only(comfy):
    folder = comfy.base / "temp" / "mizuoto"
    kept = folder.with_name("kept")
    folder.parent.mkdir(exist_ok=True)
    if folder.exists():
        folder.rename(kept)
    folder.write_text("in the way")
    log = len(comfy.log())
    try:
        with connected(comfy) as socket:
            run, segments = socket.run(spoken(f"{TEXT} " * 12, seed=110))
            lines = socket.of("text")
    finally:
        folder.unlink()
        if kept.exists():
            kept.rename(folder)
    assert sound(comfy, run).size > RATE
    assert not segments and len(lines) > 1
    assert comfy.log()[log:].count("Finished segments cannot be played in the node yet") == 1
