"""Help pages: the host serves one for every node, and it speaks of the node's inputs and outputs as they are today."""

import re
from pathlib import Path

import pytest

PACK = "ComfyUI-Mizuoto"
PAGES = Path(__file__).resolve().parents[2] / "web" / "docs"
SECTIONS = ["Inputs", "Outputs", "Limits", "Common mistake"]
MAX_WORDS = 400


@pytest.fixture(scope="module")
def ours(comfy):
    """Node id -> its entry in the host's list of nodes."""
    nodes = comfy.get("/object_info")
    return {
        name: info for name, info in nodes.items() if name.startswith("Mizuoto") and "tests" not in info["category"]
    }


def page_of(comfy, name):
    """(title, text before the first section, {section: text})."""
    text = comfy.get(f"/extensions/{PACK}/docs/{name}.md").decode()
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, about = head.partition("\n")
    return title, about.strip(), {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in sections}


def names_in(section):
    """What the items of a list are about, in order: `- **one**, **other**: ...`."""
    heads = re.findall(r"^- ([^:]+):", section, flags=re.MULTILINE)
    return [name for head in heads for name in re.findall(r"\*\*(\w+)\*\*", head)]


def test_every_node_has_a_page_and_no_page_is_left_over(ours):
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted(ours)


def test_a_page_names_every_input_and_output_of_its_node(comfy, ours):
    for name, info in ours.items():
        title, about, sections = page_of(comfy, name)
        assert title == f"# {info['display_name']}"
        assert about and list(sections) == SECTIONS and all(sections.values()), name
        inputs = [key for part in ("required", "optional") for key in info["input"].get(part, {})]
        assert names_in(sections["Inputs"]) == inputs, name
        assert names_in(sections["Outputs"]) == info["output_name"], name


def test_pages_are_short(comfy, ours):
    for name in ours:
        _, about, sections = page_of(comfy, name)
        assert len(" ".join([about, *sections.values()]).split()) <= MAX_WORDS, name
