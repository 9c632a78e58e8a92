"""Finished segments over the websocket of a real ComfyUI, while the rest is made."""

import asyncio
import io
import json
import struct
import threading
import time
import wave
from contextlib import contextmanager

import aiohttp
import numpy as np
import pytest
from mizuoto.tests.host.comfy import InterruptedPromptError
from mizuoto.tests.host.graphs import TEXT, load, node, phases, save, sound, speak, spoken

RATE = 24000
CLIENT = "mizuoto-tests"  # the one that `Comfy.queue` names
LONG = "This sentence is one of very many that nobody wants to hear to the end. " * 200


class Socket:
    """(type, data) of all that a client is told; a line of progress has the type "text" and (node, line)."""

    def __init__(self, comfy):
        self.comfy, self.told = comfy, []
        self.is_open, self._loop, self._closing = threading.Event(), None, None

    def listen(self):
        asyncio.run(self._listen())

    async def _listen(self):
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        url = f"{self.comfy.url}/ws?clientId={CLIENT}"
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            closing = asyncio.create_task(self._close(socket))
            async for message in socket:
                self._add(message)
            await closing

    async def _close(self, socket):
        await self._closing.wait()
        await socket.close()

    def _add(self, message):
        if message.type is aiohttp.WSMsgType.BINARY:
            kind, size = struct.unpack(">II", message.data[:8])
            if kind == 3:
                self.told.append(("text", (message.data[8 : 8 + size].decode(), message.data[8 + size :].decode())))
        else:
            told = json.loads(message.data)
            self.told.append((told["type"], told["data"]))
        self.is_open.set()  # the host greets with its status

    def close(self):
        self._loop.call_soon_threadsafe(self._closing.set)

    def of(self, kind, prompt_id=None):
        return [data for of_kind, data in list(self.told)
                if of_kind == kind and (prompt_id is None or data["prompt_id"] == prompt_id)]  # fmt: skip

    def wait_for(self, kind, prompt_id=None, count=1):
        deadline = time.monotonic() + 60
        while len(found := self.of(kind, prompt_id)) < count:
            assert time.monotonic() < deadline, f"{kind} was not told {count} times"
            time.sleep(0.02)
        return found

    def run(self, prompt):
        """The run, and the segments told of it."""
        run = self.comfy.run(prompt)
        self.wait_for("execution_success", run.prompt_id)
        return run, self.of("mizuoto.segment", run.prompt_id)


@contextmanager
def connected(comfy):
    socket = Socket(comfy)
    thread = threading.Thread(target=socket.listen)
    thread.start()
    try:
        assert socket.is_open.wait(30)
        yield socket
    finally:
        socket.close()
        thread.join()


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
