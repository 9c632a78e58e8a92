"""The built-in voice through the API of a real ComfyUI: is it understood, is it repeatable, does it stop."""

import json
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from mizuoto.tests.host.comfy import HostError, InterruptedPromptError, NodeError
from mizuoto.tests.host.graphs import MODEL, load, phases, report, save, show, sound, speak, spoken
from mizuoto.tests.judges import MAX_WORD_ERROR_RATE, SENTENCES, transcribe, word_error_rate

RATE = 24000


def alive(comfy, *names):
    prompt = {"count": {"class_type": "MizuotoTestAlive", "inputs": {"text": ",".join(names)}}}
    return json.loads(comfy.run(prompt | show(["count", 0])).texts()[0])


def loaded(comfy):
    """Model name -> number of components in memory, of every model that somebody holds."""
    return {model["name"]: len(model["components"]) for model in comfy.get("/mizuoto/runtime")["models"]}


def wait_until(condition, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_speech_is_understood(comfy):
    prompt = load()
    for index, sentence in enumerate(SENTENCES):
        prompt |= speak(sentence, seed=index, node=f"speak{index}") | save([f"speak{index}", 0], f"save{index}")
    run = comfy.run(prompt)
    heard = [transcribe(sound(comfy, run, f"save{index}") / 32768, RATE) for index in range(len(SENTENCES))]
    assert word_error_rate(" ".join(SENTENCES), " ".join(heard)) <= MAX_WORD_ERROR_RATE, heard


def test_same_seed_same_samples_other_seed_others(comfy):
    first = sound(comfy, comfy.run(spoken(seed=1)))
    other = sound(comfy, comfy.run(spoken(seed=2)))
    run = comfy.run(spoken(seed=1))
    assert "speak" in run.executed, "the cache answered, so nothing was shown"
    assert np.array_equal(sound(comfy, run), first)
    assert first.shape == other.shape and not np.array_equal(first, other)


def test_three_phases_give_the_samples_of_speak(comfy):
    text = "First comes one sentence. Then there is another one, so that seeds are derived."
    whole = sound(comfy, comfy.run(spoken(text, seed=5)))
    assert np.array_equal(sound(comfy, comfy.run(phases(text, seed=5))), whole)


def test_second_run_is_fully_cached(comfy):
    comfy.run(spoken(seed=11))
    again = comfy.run(spoken(seed=11))
    assert not again.executed and again.cached == {"load", "speak", "save"}


def test_speed_changes_the_length(comfy):
    options = {"options": {"class_type": "MizuotoHibariOptions", "inputs": {"speed": 2.0}}}
    fast = sound(comfy, comfy.run(spoken(options=["options", 0]) | options))
    assert 0.4 < fast.size / sound(comfy, comfy.run(spoken())).size < 0.7


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_seeds_at_the_ends_of_the_range(comfy, seed):
    assert report(comfy.run(spoken("Hi.", seed)))["seed"] == seed


def test_a_seed_out_of_range_is_refused(comfy):
    with pytest.raises(HostError, match="seed"):
        comfy.run(spoken(seed=2**64))


@pytest.mark.parametrize("text", ["", "  \n", "...", "?!", "。、", "🙂"])
def test_text_without_words_is_refused_before_anything_runs(comfy, text):
    with pytest.raises(HostError, match=r"nothing to say; type a text with words"):
        comfy.run(spoken(text))


def test_text_in_another_script_names_the_remedy(comfy):
    with pytest.raises(NodeError, match=r"speaks English only\. Choose a model for that language"):
        comfy.run(spoken("今日は世界"))


def test_very_short_and_long_text(comfy):
    assert sound(comfy, comfy.run(spoken("A"))).size > RATE / 10
    paragraph = "This is sentence number one of many, and it goes on for a while before it ends. " * 40
    run = comfy.run(spoken(paragraph))
    assert report(run)["segments"] >= 10
    assert sound(comfy, run).size > 100 * RATE


def test_braces_reach_the_voice_as_typed(comfy):  # P45
    info = comfy.get("/object_info/MizuotoSpeak")["MizuotoSpeak"]["input"]["required"]["text"][1]
    assert info["dynamicPrompts"] is False


def test_report_says_what_happened(comfy):
    run = comfy.run(spoken("How long did this take?", seed=3))
    told = report(run)
    assert told["audio_seconds"] == pytest.approx(sound(comfy, run).size / RATE, abs=1e-3)
    assert told["schema_version"] == "1.0" and told["engine"] == "hibari" and told["seed"] == 3
    assert set(told["timings_ms"]) >= {"text", "talker", "codec decoder", "total"}
    assert set(told["memory"]) == {"hibari:talker", "hibari:decoder"}


def test_audio_is_what_core_nodes_expect(comfy):  # P61
    prompt = load() | speak("Hello.") | {"shape": {"class_type": "MizuotoTestShape", "inputs": {"audio": ["speak", 0]}}}
    facts = json.loads(comfy.run(prompt | show(["shape", 0])).texts()[0])
    assert facts.pop("shape")[:2] == [1, 1]
    assert facts == {"dtype": "torch.float32", "device": "cpu", "contiguous": True, "sample_rate": RATE}
    cut = {"class_type": "TrimAudioDuration", "inputs": {"audio": ["speak", 0], "start_index": 0.1, "duration": 0.3}}
    preview = {"class_type": "PreviewAudio", "inputs": {"audio": ["cut", 0]}}
    assert comfy.run(load() | speak("Hello.") | {"cut": cut, "preview": preview}).outputs["preview"]


def test_interrupt_stops_within_a_segment_and_the_next_prompt_works(comfy):
    endless = "This sentence is one of very many that nobody wants to hear to the end. " * 400
    prompt_id = comfy.queue(spoken(endless))
    comfy.wait_until_running(prompt_id)
    time.sleep(1.0)
    asked = time.monotonic()
    comfy.interrupt(prompt_id)
    with pytest.raises(InterruptedPromptError):
        comfy.wait(prompt_id)
    assert time.monotonic() - asked < 5.0
    assert not any(model["busy"] for model in comfy.get("/mizuoto/runtime")["models"])
    assert sound(comfy, comfy.run(spoken("Still here.", seed=99))).size > RATE / 2


def test_free_drops_every_reference(comfy):
    comfy.run(spoken(seed=21))
    assert loaded(comfy) == {MODEL: 2}
    comfy.free()
    wait_until(lambda: not loaded(comfy))
    names = ("Model", "LoadedHibari", "ModelHandle", "Talker", "CodecDecoder", "EnglishG2P")
    assert set(alive(comfy, *names).values()) == {0}
    comfy.run(spoken(seed=21))


def test_release_node_frees_and_passes_on(comfy):
    prompt = load() | speak(seed=31)
    prompt |= {"release": {"class_type": "MizuotoRelease", "inputs": {"after": ["speak", 0]}}} | save(["release", 0])
    run = comfy.run(prompt)
    assert sound(comfy, run).size > RATE
    assert run.outputs["release"]["text"][0].endswith("MB released") and run.outputs["release"]["text"] != [
        "0 MB released"
    ]
    assert loaded(comfy) == {MODEL: 0}
    again = comfy.run(spoken(seed=32))
    assert "load" in again.cached and loaded(comfy) == {MODEL: 2}  # the model in the cache loads itself again


def test_runtime_memory_node_shows_the_weights(comfy):
    memory = {"memory": {"class_type": "MizuotoRuntimeMemory", "inputs": {"after": ["speak", 0]}}}
    told = json.loads(comfy.run(load() | speak(seed=41) | memory).outputs["memory"]["text"][0])
    (model,) = told["models"]
    assert [part["name"] for part in model["components"]] == ["hibari:talker", "hibari:decoder"]
    assert model["size_bytes"] == sum(part["size_bytes"] for part in model["components"]) > 20e6


def test_routes(comfy):
    comfy.run(spoken(seed=51))
    assert loaded(comfy) == {MODEL: 2}
    assert comfy.post("/mizuoto/runtime/release", {"model": MODEL})["released_bytes"] > 20e6
    assert loaded(comfy) == {MODEL: 0}
    with pytest.raises(HostError, match=r"404.*No model .*nobody.* is loaded"):
        comfy.post("/mizuoto/runtime/release", {"model": "nobody"})
    prompt_id = comfy.queue(
        {"wait": {"class_type": "MizuotoTestWait", "inputs": {"text": "", "seconds": 30.0}}} | show(["wait", 0])
    )
    comfy.wait_until_running(prompt_id)
    with pytest.raises(HostError, match=r"409.*A prompt is running"):
        comfy.post("/mizuoto/runtime/release")
    comfy.interrupt(prompt_id)
    with pytest.raises(InterruptedPromptError):
        comfy.wait(prompt_id)


def post_raw(comfy, body, content_type="application/json"):
    """Status and error of the release route for a body that no client of ours would send."""
    url, headers = f"{comfy.url}/mizuoto/runtime/release", {"Content-Type": content_type}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        opener.open(urllib.request.Request(url, body, headers), timeout=60)
    return caught.value.code, json.load(caught.value)["error"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"not json", "application/json"),
        (b"\xff\xfe{}", "application/json"),
        (b"{}", "application/json; charset=no-such-charset"),
        (b"[" * 60_000, "application/json"),
    ],
)
def test_release_refuses_what_is_no_json(comfy, body, content_type):
    assert post_raw(comfy, body, content_type) == (400, 'The body is not JSON; send {} or {"model": "name"}.')


def test_release_reads_no_endless_body(comfy):
    assert post_raw(comfy, b" " * 70_000) == (413, 'The body is longer than 64 KB; send {} or {"model": "name"}.')


@pytest.mark.parametrize(
    "body", ["[1]", '"x"', "3", "null", '{"foo": 1}', '{"model": "x", "foo": 1}', '{"model": ["x"]}', '{"model": {}}']
)
def test_release_frees_nothing_for_a_request_it_does_not_understand(comfy, body):
    comfy.run(spoken(seed=52))
    assert post_raw(comfy, body.encode())[0] == 400
    assert loaded(comfy) == {MODEL: 2}


def test_release_without_a_name_frees_all(comfy):
    for body in ({}, {"model": None}):
        comfy.run(spoken(f"Body {body}.", seed=53))
        assert comfy.post("/mizuoto/runtime/release", body)["released_bytes"] > 20e6


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("voice", "heart", r'Input "voice" is "heart", which is no voice; connect a voice node\.'),
        (
            "options",
            {"speed": 2.0},
            r'Input "options" is "\{\'speed\': 2\.0\}", which is no set of options; connect the',
        ),
        ("model", MODEL, r'Input "model" is "hibari \(built-in\)", which is no speech model; connect a Load Speech'),
        ("model", 5, r'Input "model" is "5", which is no speech model; connect a Load Speech Model node\.'),
    ],
)
@pytest.mark.parametrize("node", ["speak", "talk"])
def test_literals_in_place_of_links_are_refused(comfy, node, name, value, sentence):
    prompt = spoken() if node == "speak" else phases()
    prompt[node]["inputs"][name] = value
    with pytest.raises(NodeError, match=sentence):
        comfy.run(prompt)


def test_literals_in_place_of_links_are_refused_by_decoder_and_preset_voice(comfy):
    prompt = phases()
    prompt["decode"]["inputs"]["codes"] = "hello"
    with pytest.raises(NodeError, match=r'Input "codes" is "hello", which is no set of codes; connect a Talker node\.'):
        comfy.run(prompt)
    preset = {"voice": {"class_type": "MizuotoPresetVoice", "inputs": {"model": MODEL, "name": "heart"}}}
    with pytest.raises(NodeError, match=r"which is no speech model; connect a Load Speech Model node\."):
        comfy.run(load() | preset | speak(voice=["voice", 0]) | save(["speak", 0]))


def test_an_unknown_preset_voice_names_the_others(comfy):
    preset = {"voice": {"class_type": "MizuotoPresetVoice", "inputs": {"model": ["load", 0], "name": "bob"}}}
    with pytest.raises(NodeError, match='has no voice "bob"; it has heart'):
        comfy.run(load() | preset | speak(voice=["voice", 0]) | save(["speak", 0]))


def test_a_failing_engine_fails_the_node_with_its_sentence(comfy):  # P64
    prompt = (
        {"load": {"class_type": "MizuotoTestDummyModel", "inputs": {"text": ""}}} | speak("fail") | save(["speak", 0])
    )
    with pytest.raises(NodeError, match="The dummy failed on purpose; say something else") as caught:
        comfy.run(prompt)
    assert caught.value.node_id == "speak"


def test_voice_and_options_of_another_model_are_refused(comfy):
    dummy = {"load": {"class_type": "MizuotoTestDummyModel", "inputs": {"text": ""}}}
    preset = {"voice": {"class_type": "MizuotoPresetVoice", "inputs": {"model": ["load", 0], "name": "heart"}}}
    with pytest.raises(NodeError, match='has no voice "heart"; it brings none along'):
        comfy.run(dummy | preset | speak(voice=["voice", 0]) | save(["speak", 0]))
    options = {"options": {"class_type": "MizuotoHibariOptions", "inputs": {"speed": 1.0}}}
    with pytest.raises(NodeError, match='options are for engine "hibari" but the model is "dummy"'):
        comfy.run(dummy | options | speak(options=["options", 0]) | save(["speak", 0]))


def test_every_input_and_output_has_a_tooltip(comfy):
    for name, info in comfy.get("/object_info").items():
        if name.startswith("Mizuoto") and not name.startswith("MizuotoTest"):
            assert len(info["output_tooltips"]) == len(info["output"]) and all(info["output_tooltips"]), name
            for kind in ("required", "optional"):
                assert all(spec[1].get("tooltip") for spec in info["input"].get(kind, {}).values()), name


def test_unknown_and_missing_optional_inputs_do_no_harm(comfy):  # P87
    prompt = spoken("Hello.")
    prompt["speak"]["inputs"] |= {"from_a_later_version": 1}
    comfy.run(prompt)


@pytest.mark.parametrize("flag", ["--cache-none", "--disable-smart-memory"])
def test_start_options(start_comfy, flag):
    comfy = start_comfy("--cpu", flag)
    two = (
        load() | speak("One.", node="a") | speak("Two.", node="b") | save(["a", 0], "save_a") | save(["b", 0], "save_b")
    )
    for _ in range(2):
        run = comfy.run(two)
        assert sound(comfy, run, "save_a").size and sound(comfy, run, "save_b").size
    assert len(loaded(comfy)) <= 1  # however often the loader node runs, one model
