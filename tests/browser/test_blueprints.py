"""The blueprints: found by their names, put into a graph as one node, true to what they are made of, run."""

import json
from pathlib import Path

import pytest
from mizuoto.tests.browser import steps
from mizuoto.tests.host import qwen

ROOT = Path(__file__).resolve().parents[2]
MADE_OF = json.loads((ROOT / "devtools" / "templates" / "blueprints.json").read_text(encoding="utf-8"))
# Sound in, the blueprint's node, its sound out; and what a person sets in it.
CONNECT = """([widget, value, clip]) => {
    const { app, LiteGraph } = window;
    const [node] = app.graph.nodes;
    node.widgets.find(({ name }) => name === widget).value = value;
    if (clip) {
        const [source, player] = ["LoadAudio", "PreviewAudio"].map((type) => LiteGraph.createNode(type));
        for (const added of [source, player]) app.graph.add(added);
        source.widgets.find(({ name }) => name === "audio").value = clip;
        source.connect(0, node, node.inputs.findIndex(({ name }) => name === "audio"));
        node.connect(node.outputs.findIndex(({ name }) => name === "audio"), player, 0);
    }
    return node.id;
}"""


def put(page, name):
    """Empty the graph and put a blueprint into it as a person does: search, Enter, a click on the place."""
    page.evaluate("() => window.app.graph.clear()")
    page.evaluate("() => window.app.extensionManager.command.execute('Workspace.SearchBox.Toggle')")
    page.wait_for_function("() => document.activeElement.tagName === 'INPUT'")
    page.keyboard.type(name)
    page.wait_for_function("(name) => document.body.innerText.includes(name)", arg=name)  # as something to choose
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.app.graph.nodes.length === 1")
    page.mouse.click(640, 650)


def made_of(name, node_id, changed):
    """The prompt that the node shall lead to; `changed` is {(id of a node inside, input): value}."""
    inside = json.loads(json.dumps(MADE_OF[name]["inside"]))
    for node in inside.values():
        for key, value in node["inputs"].items():
            if isinstance(value, list):
                node["inputs"][key] = [f"{node_id}:{value[0]}", value[1]]
    for (key, of_node), value in changed.items():
        inside[key]["inputs"][of_node] = value
    return {f"{node_id}:{key}": node for key, node in inside.items()}


def test_an_article_is_narrated(page, page_host, schemas, shot):
    put(page, "Narrate an article")
    node_id = page.evaluate(CONNECT, ["article", "One sentence is enough.", None])
    shot("blueprint")
    wanted = made_of("Narrate an article", node_id, {("2", "text"): "One sentence is enough."})
    assert steps.without_extras(steps.prompt_of(page), schemas) == wanted
    (file,) = steps.run(page, page_host).files()
    assert page_host.view(file)[:4] in (b"fLaC", b"RIFF")


def test_a_voice_is_cloned(page, page_host, schemas):
    put(page, "Clone a voice")
    node_id = page.evaluate(CONNECT, ["model", qwen.BASE, qwen.CLIP])
    prompt = steps.without_extras(steps.prompt_of(page), schemas)
    (source,) = (key for key, node in prompt.items() if node["class_type"] == "LoadAudio")
    inside = {key: node for key, node in prompt.items() if ":" in key}
    assert inside == made_of("Clone a voice", node_id, {("1", "model"): qwen.BASE, ("2", "audio"): [source, 0]})
    (file,) = steps.run(page, page_host).files()
    assert page_host.view(file)[:4] in (b"fLaC", b"RIFF")


@pytest.mark.parametrize("name", MADE_OF)
def test_it_is_one_node_as_its_source_says(name):
    graph = json.loads((ROOT / "subgraphs" / f"{name}.json").read_text(encoding="utf-8"))
    (inside,) = graph["definitions"]["subgraphs"]
    (node,) = graph["nodes"]
    assert (node["type"], node["title"], inside["name"]) == (inside["id"], name, name)
    assert inside["description"] == MADE_OF[name]["description"]
    assert [slot["name"] for slot in inside["inputs"]] == list(MADE_OF[name]["inputs"])
    assert [slot["name"] for slot in inside["outputs"]] == list(MADE_OF[name]["outputs"])
    assert sorted(path.stem for path in (ROOT / "subgraphs").glob("*.json")) == sorted(MADE_OF)
