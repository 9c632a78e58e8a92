"""Help pages: the host serves one for every node in both languages, about its inputs and outputs as they are today."""

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import pytest

FOLDER = "/extensions/ComfyUI-Mizuoto/docs/"  # front ends resolve pictures from here, whatever the page's own folder
PAGES = Path(__file__).resolve().parents[2] / "web" / "docs"
MAX_CHARACTERS = 2600


class Language(NamedTuple):
    """What is special to the pages of one language."""

    page: str
    sections: list[str]


ENGLISH = Language("{}.md", ["Inputs", "Outputs", "Limits", "Common mistake"])
CHINESE = Language("{}/zh.md", ["输入", "输出", "限制", "常见错误"])
LANGUAGES = pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["en", "zh"])


@pytest.fixture(scope="module")
def chinese(comfy):
    """Node id -> its words in Chinese."""
    return comfy.get("/i18n")["zh"]["nodeDefs"]


def read(comfy, language, name):
    """(title, text before the first section, {section: text})."""
    text = comfy.get(FOLDER + language.page.format(name)).decode()
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, about = head.partition("\n")
    return title, about.strip(), {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in sections}


def names_in(section):
    """What the items of a list are about, in order: [("one", ""), ("two", "二")] of `- **one**, **two**（二）: ...`."""
    heads = re.findall(r"^- ([^:：]+)[:：]", section, flags=re.MULTILINE)
    return [item for head in heads for item in re.findall(r"\*\*(\w+)\*\*(?:（(.+?)）)?", head)]


def test_every_node_has_a_page_in_each_language_and_none_is_left_over(our_nodes):
    pages = [language.page.format(name) for language in (ENGLISH, CHINESE) for name in our_nodes]
    assert sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.*")) == sorted(pages)


@LANGUAGES
def test_a_page_names_every_input_and_output_of_its_node(comfy, our_nodes, language):
    for name, info in our_nodes.items():
        _, about, sections = read(comfy, language, name)
        assert about and list(sections) == language.sections and all(sections.values()), name
        inputs, outputs, *_ = sections.values()
        keys = [key for part in ("required", "optional") for key in info["input"].get(part, {})]
        assert [key for key, _ in names_in(inputs)] == keys, name
        assert [key for key, _ in names_in(outputs)] == info["output_name"], name


@LANGUAGES
def test_a_page_is_short_and_shows_its_node(comfy, our_nodes, language):
    for name in our_nodes:
        _, about, sections = read(comfy, language, name)
        assert len(about) + sum(map(len, sections.values())) <= MAX_CHARACTERS, name
        (picture,) = re.findall(r"!\[.+\]\((.+)\)", about)
        assert comfy.get(urljoin(FOLDER, picture))[:3] == b"\xff\xd8\xff", name


def test_pages_call_things_as_the_nodes_do(comfy, our_nodes, chinese):
    for name, info in our_nodes.items():
        words = chinese[name]
        assert read(comfy, ENGLISH, name)[0] == f"# {info['display_name']}"
        title, _, sections = read(comfy, CHINESE, name)
        assert title == f"# {words['display_name']}（{info['display_name']}）"
        for part, section in zip(("inputs", "outputs"), sections.values(), strict=False):
            keys, glosses = zip(*names_in(section), strict=True)
            shown = [word["name"] for word in words[part].values()]
            assert glosses == tuple("" if word.lower() == key else word for key, word in zip(keys, shown, strict=True))
