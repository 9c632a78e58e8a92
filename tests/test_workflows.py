"""The workflow templates as files: whole, tidy, and made from today's prompts and layouts (see devtools/templates)."""

import itertools
import json
from pathlib import Path

import pytest
from mizuoto import engines

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = ROOT / "workflows"
LAYOUTS = json.loads((ROOT / "devtools" / "templates" / "layouts.json").read_text(encoding="utf-8"))
TEMPLATES = sorted(path.stem for path in WORKFLOWS.glob("*.json"))
ONLY_IN_THE_PAGE = {"MarkdownNote"}
TITLE_HEIGHT = 30
MAX_THUMBNAIL_BYTES = 100_000
MAX_PICTURE_BYTES = 150_000


@pytest.fixture(params=TEMPLATES)
def name(request):
    return request.param


@pytest.fixture
def graph(name):
    return json.loads((WORKFLOWS / f"{name}.json").read_text(encoding="utf-8"))


def prompt_of(graph):
    """The API form of a graph without muted nodes, subgraphs or reroutes."""
    source = {link[0]: [str(link[1]), link[2]] for link in graph["links"]}
    prompt = {}
    for node in graph["nodes"]:
        if node["type"] in ONLY_IN_THE_PAGE:
            continue
        inputs = dict(node.get("widgets_values_named", {}))
        inputs.pop("control_after_generate", None)
        inputs |= {slot["name"]: source[slot["link"]] for slot in node["inputs"] if slot["link"] is not None}
        prompt[str(node["id"])] = {"class_type": node["type"], "inputs": inputs}
    return prompt


def box(node):
    """Left, top, right, bottom of a node with its title."""
    (x, y), (width, height) = node["pos"], node["size"]
    return x, y - TITLE_HEIGHT, x + width, y + height


def test_every_layout_has_its_template_and_the_other_way_round():
    assert sorted(LAYOUTS) == TEMPLATES
    wanted = {
        "Speak",
        "Three phases",
        "Clone a voice",
        "Preset voice",
        "Design a voice",
        "Clone in phases",
        "Transcribe",
        "Dialogue",
        "Speak subtitles",
        "Kokoro",
        "VoxCPM clone",
        "F5-TTS clone",
        "Edit a recording",
        "OmniVoice clone",
        "OmniVoice design",
    }
    assert wanted <= set(TEMPLATES)


def test_it_is_what_its_prompt_says(name, graph):
    source = json.loads((WORKFLOWS / "api" / LAYOUTS[name]["prompt"]).read_text(encoding="utf-8"))
    source = {key: {"class_type": node["class_type"], "inputs": node["inputs"]} for key, node in source.items()}
    assert prompt_of(graph) == source


def models_of(graph):
    return [node["widgets_values_named"]["model"] for node in graph["nodes"] if node["type"] == "MizuotoLoadModel"]


def notes_of(graph):
    return "".join(node["widgets_values"][0] for node in graph["nodes"] if node["type"] in ONLY_IN_THE_PAGE)


def official_models():
    """Widget value -> (manifest, download) of every checkpoint that can be fetched."""
    manifests = engines.manifests().values()
    return {f"{each.name} (download)": (manifest, each) for manifest in manifests for each in manifest.downloads}


def test_its_models_are_built_in_or_official_and_the_size_of_a_download_is_told(graph):
    built_in = {f"{manifest.id} (built-in)" for manifest in engines.manifests().values() if manifest.built_in}
    official, notes = official_models(), notes_of(graph)
    assert models_of(graph)
    for model in set(models_of(graph)) - built_in:
        _, download = official[model]
        assert f"({download.size_bytes / 1e9:.1f} GB)" in notes, model


def test_weights_that_are_not_for_commercial_use_are_told(graph):
    used = [manifest for model, (manifest, _) in official_models().items() if model in models_of(graph)]
    for licence in {manifest.weights_license for manifest in used if "-NC" in manifest.weights_license}:
        assert "not for commercial use" in notes_of(graph) and licence in notes_of(graph)


@pytest.mark.parametrize(
    "name", ["Clone a voice", "Clone in phases", "VoxCPM clone", "OmniVoice clone", "Edit a recording"]
)
def test_the_transcript_is_what_the_reference_says(graph):
    prompt = prompt_of(graph)
    (voice,) = (node["inputs"] for node in prompt.values() if node["class_type"] == "MizuotoVoicePrompt")
    assert prompt[voice["audio"][0]]["inputs"]["text"] == voice["transcript"]


@pytest.mark.parametrize("name", ["Edit a recording"])
def test_an_edit_is_all_that_the_recording_says_with_other_words(graph):
    prompt = prompt_of(graph)
    (voice,) = (node["inputs"] for node in prompt.values() if node["class_type"] == "MizuotoVoicePrompt")
    (options,) = (node["inputs"] for node in prompt.values() if node["class_type"] == "MizuotoF5TtsOptions")
    (edited,) = (node["inputs"] for node in prompt.values() if "options" in node["inputs"])
    before, after = voice["transcript"].split(), edited["text"].split()
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    assert 0 < options["edit_start"] < options["edit_end"]


def test_it_stands_as_its_layout_says(name, graph):
    layout = LAYOUTS[name]
    wanted = {int(key): place for key, place in layout["nodes"].items()}
    wanted |= {note["id"]: note for note in layout["notes"]}
    assert {node["id"]: (node["pos"], node["size"]) for node in graph["nodes"]} == {
        key: (place["pos"], place["size"]) for key, place in wanted.items()
    }
    assert [(group["title"], group["bounding"]) for group in graph["groups"]] == [
        (group["title"], group["bounding"]) for group in layout["groups"]
    ]
    notes = {node["id"]: node["widgets_values"] for node in graph["nodes"] if node["type"] in ONLY_IN_THE_PAGE}
    assert notes == {note["id"]: [note["text"]] for note in layout["notes"]}


def test_links_agree_with_the_sockets_at_both_ends(graph):
    nodes = {node["id"]: node for node in graph["nodes"]}
    from_outputs = {
        (link, node["id"], slot, output["type"])
        for node in graph["nodes"]
        for slot, output in enumerate(node["outputs"])
        for link in output["links"] or ()
    }
    kind_of = {link[0]: link[5] for link in graph["links"]}
    into_inputs = {
        (slot["link"], node["id"], index, kind_of[slot["link"]] if slot["type"] == "*" else slot["type"])
        for node in graph["nodes"]
        for index, slot in enumerate(node["inputs"])
        if slot["link"] is not None
    }
    assert from_outputs == {(link, origin, slot, kind) for link, origin, slot, _, _, kind in graph["links"]}
    assert into_inputs == {(link, target, slot, kind) for link, _, _, target, slot, kind in graph["links"]}
    assert graph["last_node_id"] >= max(nodes) and graph["last_link_id"] >= max(link[0] for link in graph["links"])


def test_it_is_in_ui_form_and_says_nothing_of_the_machine_it_was_made_on(graph):
    assert graph["version"] == 0.4
    assert set(graph["extra"]) == {"frontendVersion"}
    assert [node["id"] for node in graph["nodes"]] == sorted(node["id"] for node in graph["nodes"])
    assert all(node["mode"] == 0 for node in graph["nodes"])


def test_graph_ids_differ():
    ids = [json.loads((WORKFLOWS / f"{name}.json").read_text(encoding="utf-8"))["id"] for name in TEMPLATES]
    assert len({*ids, "00000000-0000-0000-0000-000000000000"}) == len(TEMPLATES) + 1


def test_seeds_stay_so_that_a_second_run_is_cached(graph):
    seeded = [node for node in graph["nodes"] if "seed" in node.get("widgets_values_named", {})]
    assert seeded
    assert all(node["widgets_values_named"]["control_after_generate"] == "fixed" for node in seeded)


def test_nodes_stand_apart_and_links_run_to_the_right(graph):
    for one, other in itertools.combinations(map(box, graph["nodes"]), 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], (one, other)
    left = {node["id"]: node["pos"][0] for node in graph["nodes"]}
    assert all(left[origin] <= left[target] for _, origin, _, target, _, _ in graph["links"])


def test_groups_hold_whole_nodes(graph):
    for group in graph["groups"]:
        x, y, width, height = group["bounding"]
        held = 0
        for left, top, right, bottom in map(box, graph["nodes"]):
            inside = x <= left and y <= top and right <= x + width and bottom <= y + height
            outside = right <= x or left >= x + width or bottom <= y or top >= y + height
            assert inside or outside, group["title"]
            held += inside
        assert held, group["title"]


def test_it_has_a_thumbnail(name):
    picture = (WORKFLOWS / f"{name}.jpg").read_bytes()
    assert picture[:3] == b"\xff\xd8\xff" and picture[-2:] == b"\xff\xd9"
    assert len(picture) <= MAX_THUMBNAIL_BYTES


def test_no_thumbnail_is_left_over():
    assert sorted(path.stem for path in WORKFLOWS.glob("*.jpg")) == TEMPLATES


def test_the_picture_of_the_whole_window_is_small():
    picture = (ROOT / "web" / "images" / "speak.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) <= MAX_PICTURE_BYTES
