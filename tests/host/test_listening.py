"""Transcribe through the API of a real ComfyUI, with real weights: what is said, nothing that is not, and files."""

import pysubs2
import pytest
from mizuoto.engines.transcript import Transcript
from mizuoto.tests.host.comfy import HostError, InterruptedPromptError, NodeError
from mizuoto.tests.host.ear import EAR, WORDS, clip, ear, installed, listen, silence
from mizuoto.tests.host.graphs import load, node, report, show, speak
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, SENTENCES, word_error_rate

TEXT = SENTENCES[1]
BAD_PREFIXES = ["../../evil", "/tmp/evil", "a/../../evil", "..", "", " ", "folder/", "a\0b", "out/x"]


@pytest.fixture(scope="module", autouse=True)
def _ear_in_place(comfy):
    with installed(comfy):
        yield


def heard(comfy, prompt):
    return comfy.run(prompt).outputs["listen"]["text"][0]


def written(format, **inputs):
    return node("written", "MizuotoTranscriptText", transcript=["listen", 1], format=format) | show(["written", 0])


def kept(prefix="transcripts/test", format="srt"):
    return node("kept", "MizuotoSaveTranscript", transcript=["listen", 1], filename_prefix=prefix, format=format)


def refusal(comfy, prompt, name):
    with pytest.raises(NodeError) as caught:
        comfy.run(prompt)
    assert caught.value.node_id == name
    return caught.value.message


def test_what_was_said_is_heard(comfy):
    run = comfy.run(load() | speak(TEXT) | ear() | listen(("speak", 0)) | show(["listen", 2]))
    assert word_error_rate(TEXT, run.outputs["listen"]["text"][0]) <= MAX_WORD_ERROR_RATE
    assert run.outputs["show"]["text"] == ["en"]
    told = report(run, "listen")
    assert told["task"] == "transcribe" and told["engine"] == "whisper" and told["model"] == EAR
    assert told["segments"] >= 1 and told["audio_seconds"] > 3 and not told["warnings"]


def test_a_recording_is_heard_by_a_node_alone(comfy):
    assert word_error_rate(WORDS, heard(comfy, clip() | ear() | listen())) <= MAX_WORD_ERROR_RATE


def test_silence_is_an_empty_text(comfy):
    run = comfy.run(silence() | ear() | listen(("silence", 0)) | written("srt"))
    assert run.outputs["listen"]["text"] == [""] and run.outputs["show"]["text"] == [""]
    assert [warning["code"] for warning in report(run, "listen")["warnings"]] == ["no_speech"]


def test_every_format_and_times_that_fit_the_recording(comfy):
    words = node("options", "MizuotoWhisperOptions", word_timestamps=True)
    prompt = clip() | ear() | words | listen(options=["options", 0])
    texts = {name: comfy.run(prompt | written(name)).outputs["show"]["text"][0] for name in ("text", "srt", "json")}
    transcript = Transcript.from_json(texts["json"])
    assert (
        transcript.text == texts["text"]
        and all(passage.words for passage in transcript.passages)
        and transcript.engine == "whisper"
    )
    cues = pysubs2.SSAFile.from_string(texts["srt"], format_="srt")
    assert " ".join(cue.plaintext.replace("\n", " ") for cue in cues) == texts["text"]
    assert 0 <= cues[0].start < cues[-1].end <= transcript.seconds * 1000 + 1


def test_a_saved_file_is_listed_and_can_be_fetched(comfy):
    runs = [comfy.run(clip() | ear() | listen() | kept(format=name)) for name in ("srt", "vtt")]
    files = [run.outputs["kept"]["files"][0] for run in runs]
    assert files == [
        {"filename": "test_00001_.srt", "subfolder": "transcripts", "type": "output"},
        {"filename": "test_00002_.vtt", "subfolder": "transcripts", "type": "output"},
    ]
    assert runs[0].outputs["kept"]["text"] == ["Saved as transcripts/test_00001_.srt"]
    cues = pysubs2.SSAFile.from_string(comfy.view(files[0]).decode(), format_="srt")
    assert word_error_rate(WORDS, " ".join(cue.plaintext for cue in cues)) <= MAX_WORD_ERROR_RATE
    assert comfy.view(files[1]).startswith(b"WEBVTT\n")


@pytest.mark.parametrize("prefix", BAD_PREFIXES)
def test_no_prefix_leaves_the_output_folder(comfy, prefix, tmp_path):
    out = comfy.base / "output" / "out"
    if not out.exists():
        out.symlink_to(tmp_path, target_is_directory=True)
    before = sorted(comfy.base.parent.rglob("*"))
    told = refusal(comfy, silence() | ear() | listen(("silence", 0)) | kept(prefix), "kept")
    assert "leads out of the output folder" in told or "is no beginning of a file name" in told
    assert sorted(comfy.base.parent.rglob("*")) == before and not list(tmp_path.iterdir())


@pytest.mark.parametrize("language", ["auto", "AUTO", "English", "en", "EN-us"])
def test_languages_by_name_and_tag(comfy, language):
    prompt = silence() | ear() | listen(("silence", 0))
    prompt["listen"]["inputs"]["language"] = language
    assert heard(comfy, prompt) == ""


def test_an_unknown_language_is_refused_before_anything_loads_and_a_foreign_one_by_the_model(comfy):
    prompt = silence() | ear() | listen(("silence", 0))
    prompt["listen"]["inputs"]["language"] = "Germam"
    with pytest.raises(HostError, match=r"is no language that the pack knows.*Did you mean .*German"):
        comfy.run(prompt)
    prompt["listen"]["inputs"]["language"] = "German"
    assert 'does not know the language "de"; it knows en' in refusal(comfy, prompt, "listen")


def test_languages_are_offered_by_name_with_auto_first(comfy):
    spec = comfy.get("/object_info/MizuotoTranscribe")["MizuotoTranscribe"]["input"]["required"]["language"]
    offered = spec[0] if isinstance(spec[0], list) else spec[1]["options"]
    assert offered[0] == "auto" and offered[1:] == sorted(offered[1:]) and len(offered) > 100
    assert {"English", "Cantonese", "Filipino", "Javanese"} <= set(offered)


def test_engines_that_listen_have_options_nodes(comfy):
    nodes = comfy.get("/object_info")
    for name in ("MizuotoWhisperOptions", "MizuotoQwen3AsrOptions"):
        assert "prompt" in nodes[name]["input"]["optional"] and "Transcribe" in nodes[name]["description"]


def test_literals_in_place_of_links_and_models_that_do_the_other_thing_are_refused(comfy):
    for name, value, told in (("model", 5, "no speech model"), ("audio", "x.wav", "no sound")):
        prompt = clip() | ear() | listen()
        prompt["listen"]["inputs"][name] = value
        assert f"which is {told}; connect a Load" in refusal(comfy, prompt, "listen")
    text = node("written", "MizuotoTranscriptText", transcript="hello", format="text") | show(["written", 0])
    assert "which is no transcript; connect a Transcribe node" in refusal(comfy, text, "written")
    assert "cannot speak" in refusal(
        comfy, node("load", "MizuotoLoadModel", model=EAR) | speak() | show(["speak", 0]), "speak"
    )
    voice = node("ear", "MizuotoLoadModel", model="hibari (built-in)")
    assert "cannot transcribe" in refusal(comfy, clip() | voice | listen(), "listen")


def test_a_list_of_recordings_is_a_list_of_texts(comfy):
    said = ("Good morning.", "Good evening.")
    texts = {"texts": {"class_type": "MizuotoTestTexts", "inputs": {"text": "|".join(said)}}}
    run = comfy.run(texts | load() | speak(["texts", 0]) | ear() | listen(("speak", 0)))
    assert [word_error_rate(*pair) for pair in zip(said, run.outputs["listen"]["text"], strict=True)] == [0.0, 0.0]


def test_interrupt_stops_and_the_next_prompt_works(comfy):
    prepared = load() | speak(" ".join(SENTENCES)) | ear() | node("slow", "MizuotoWhisperOptions", beam_size=8)
    comfy.run(prepared | show(["speak", 0]) | show(["ear", 0], "show_ear") | show(["slow", 0], "show_slow"))
    prompt_id = comfy.queue(prepared | listen(("speak", 0), options=["slow", 0]))
    comfy.wait_until_running(prompt_id)
    comfy.interrupt(prompt_id)
    with pytest.raises(InterruptedPromptError):
        comfy.wait(prompt_id)
    assert dict(comfy.history(prompt_id)["status"]["messages"])["execution_interrupted"]["node_id"] == "listen"
    assert not any(model["busy"] for model in comfy.get("/mizuoto/runtime")["models"])
    assert heard(comfy, clip() | ear() | listen(seed=1))
