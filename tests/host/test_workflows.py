"""The workflow templates in the real host: offered, served, true to today's nodes, and their prompts run."""

import json
import shutil
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from mizuoto.tests.engines.f5_tts import tiny as f5_tts
from mizuoto.tests.engines.kokoro import tiny as kokoro
from mizuoto.tests.engines.omnivoice import tiny as omnivoice
from mizuoto.tests.engines.qwen3_tts import tiny as qwen3_tts
from mizuoto.tests.engines.voxcpm import tiny as voxcpm
from mizuoto.tests.host import ear

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / "workflows"
TEMPLATES = sorted(path.stem for path in WORKFLOWS.glob("*.json"))
PROMPTS = sorted(path.stem for path in (WORKFLOWS / "api").glob("*.json"))
PACK = "ComfyUI-Mizuoto"
ONLY_IN_THE_PAGE = {"MarkdownNote"}
MAX_CODES = 9
WIDGET_TYPES = {"COMBO", "STRING", "INT", "FLOAT", "BOOLEAN"}


def build_qwen3_tts(folder, kind):
    """A checkpoint that ends its takes early."""
    qwen3_tts.build(folder, kind, size="1b7")
    generation = folder / "generation_config.json"
    generation.write_text(json.dumps(read(generation) | {"max_new_tokens": MAX_CODES}), encoding="utf-8")


OFFICIAL = {
    "Qwen3-TTS-12Hz-1.7B-Base": partial(build_qwen3_tts, kind="base"),
    "Qwen3-TTS-12Hz-1.7B-CustomVoice": partial(build_qwen3_tts, kind="custom_voice"),
    "Qwen3-TTS-12Hz-1.7B-VoiceDesign": partial(build_qwen3_tts, kind="voice_design"),
    "Kokoro-82M": kokoro.build,
    "VoxCPM2": voxcpm.build,
    "F5TTS_v1_Base": f5_tts.build,
    "OmniVoice": omnivoice.build,
}


@pytest.fixture(scope="module")
def schemas(comfy):
    return comfy.get("/object_info")


@pytest.fixture(scope="module")
def official(comfy, schemas):
    """Tiny models under the names of official ones, so that "(download)" finds them; `schemas` was read before."""
    root = comfy.base / "models" / "tts"
    for name, build in OFFICIAL.items():
        (root / name).mkdir()
        build(root / name)
    with ear.installed(comfy, "whisper-base"):
        yield
    for name in OFFICIAL:
        shutil.rmtree(root / name)
    time.sleep(2.1)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def nodes_of(name):
    return [node for node in read(WORKFLOWS / f"{name}.json")["nodes"] if node["type"] not in ONLY_IN_THE_PAGE]


def specs_of(schema):
    """{input name: (type, settings)} in the order of the schema."""
    return {
        name: (spec[0], spec[1] if len(spec) > 1 else {})
        for part in ("required", "optional")
        for name, spec in schema["input"].get(part, {}).items()
    }


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize("name", PROMPTS)
def test_its_prompt_runs_and_gives_sound_or_subtitles(comfy, name):
    run = comfy.run(read(WORKFLOWS / "api" / f"{name}.json"))
    (file,) = run.files()
    assert comfy.view(file)[:4] in ((b"1\n00",) if file["filename"].endswith(".srt") else (b"fLaC", b"RIFF"))


def test_all_templates_are_offered(comfy):
    assert sorted(comfy.get("/workflow_templates")[PACK]) == TEMPLATES


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_and_its_thumbnail_are_served(comfy, name):
    address = f"/api/workflow_templates/{PACK}/{quote(name)}"
    assert comfy.get(f"{address}.json") == read(WORKFLOWS / f"{name}.json")
    assert comfy.get(f"{address}.jpg") == (WORKFLOWS / f"{name}.jpg").read_bytes()


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_node_is_unknown_or_deprecated(schemas, name):
    used = {node["type"] for node in nodes_of(name)}
    assert used <= set(schemas)
    assert not [kind for kind in used if schemas[kind].get("deprecated")]


@pytest.mark.parametrize("name", TEMPLATES)
def test_our_nodes_have_todays_sockets_and_widgets(schemas, name):
    ours = [node for node in nodes_of(name) if node["type"].startswith("Mizuoto")]
    assert ours
    for node in ours:
        schema = schemas[node["type"]]
        specs = specs_of(schema)
        sockets = [(key, kind) for key, (kind, _) in specs.items() if kind not in WIDGET_TYPES]
        linked_widgets = [slot for slot in node["inputs"] if "widget" in slot]
        assert all(slot["link"] is not None and slot["name"] in specs for slot in linked_widgets)
        plain = [slot for slot in node["inputs"] if "widget" not in slot]
        assert [(slot["name"], slot["type"]) for slot in plain] == sockets
        outputs = list(zip(schema["output_name"], schema["output"], strict=True))
        assert [(output["name"], output["type"]) for output in node["outputs"]] == outputs
        widgets = []
        for key, (kind, settings) in specs.items():
            if kind in WIDGET_TYPES:
                widgets += [key, "control_after_generate"] if settings.get("control_after_generate") else [key]
        named = node.get("widgets_values_named", {})
        assert list(named) == widgets, node["type"]
        assert node.get("widgets_values", []) == list(named.values())


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_saved_choice_is_still_on_offer(schemas, name):
    for node in nodes_of(name):
        for key, (kind, settings) in specs_of(schemas[node["type"]]).items():
            if kind == "COMBO" and key in node.get("widgets_values_named", {}):
                assert node["widgets_values_named"][key] in settings["options"], (node["type"], key)
