"""Writes workflows/*.json with their thumbnails, subgraphs/*.json and web/images/speak.png: see README.md beside this.

Run with the folder of a ComfyUI and, if not all of it shall be made, names: of templates and blueprints, or a release,
of which tests/compat/*/ui.json is made.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if __name__ == "__main__":  # as dev.py does: the checkout is package `mizuoto`, without what the pack needs
    package = types.ModuleType("mizuoto")
    package.__path__ = [str(ROOT)]
    sys.modules["mizuoto"] = package

from mizuoto.devtools.console import say  # noqa: E402
from mizuoto.devtools.host import ensure_front_end  # noqa: E402
from mizuoto.tests.browser import chromium, steps  # noqa: E402
from mizuoto.tests.host.comfy import Comfy  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

WORKFLOWS = ROOT / "workflows"
BLUEPRINTS = ROOT / "subgraphs"
RELEASES = ROOT / "tests" / "compat"
PICTURE = ROOT / "web" / "images" / "speak.png"
SCRIPT = (HERE / "page.js").read_text(encoding="utf-8")
WINDOW = (1700, 1400)
THUMBNAIL_WIDTH = 800
MARGIN = 30  # the badge above a node has room in it
TITLE_HEIGHT = 30
NODE_WITH_TIP = 2
NOTICE_MS = 6000  # how long the notice of a finished job stays
NODES_MS = 1000  # until the nodes show what they ask the server for
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def main(host_path: Path, names: Iterable[str]) -> None:
    """Make what is named, or all templates and blueprints and the picture in the README."""
    layouts, blueprints = _read(HERE / "layouts.json"), _read(HERE / "blueprints.json")
    wanted = set(names) or {*layouts, *blueprints, PICTURE.name}
    packages = ensure_front_end(host_path, Path(sys.executable))
    front_end = packages / "comfyui_frontend_package" / "static"
    environment = {"PYTHONPATH": str(packages)}
    packs = {"ComfyUI-Mizuoto": ROOT}
    with (
        Comfy(host_path, packs=packs, env=environment, front_end=front_end) as host,
        sync_playwright() as playwright,
        chromium.launch(playwright) as browser,
    ):
        steps.write_settings(host)
        page = _open(browser, host, *WINDOW)
        for name in filter(wanted.__contains__, layouts):
            _make_template(page, host, name, layouts[name])
        # In a fresh page each: a node takes over the values of a removed one that had its number.
        for name in filter(wanted.__contains__, blueprints):
            _make_blueprint(_open(browser, host, *WINDOW), name, blueprints[name])
        for path in filter(lambda path: path.name in wanted, RELEASES.iterdir()):
            page = _open(browser, host, *WINDOW)
            _write(path / "ui.json", _in_page(page, "open", prompt=_read(path / "api.json"), name=path.name))
        if PICTURE.name in wanted:
            _make_picture(_open(browser, host, 1280, 720), host, "Speak")


def _make_template(page: Page, host: Comfy, name: str, layout: Mapping[str, Any]) -> None:
    prompt = _read(WORKFLOWS / "api" / layout["prompt"])
    graph = _in_page(page, "arrange", prompt=prompt, layout=layout, name=name)
    graph["id"] = _id_of(f"mizuoto/{name}")
    graph["nodes"].sort(key=lambda node: node["id"])
    shown = _in_page(page, "showWhole", graph=graph, name=name, area=_bounds(graph), margin=MARGIN)
    wanted = {key: {part: node[part] for part in ("class_type", "inputs")} for key, node in prompt.items()}
    if steps.prompt_of(page) != wanted:
        raise SystemExit(f"{name}: the graph leads to another prompt than its source:\n{steps.prompt_of(page)}")
    _write(WORKFLOWS / f"{name}.json", graph)
    # A fresh installation runs it without fetching gigabytes.
    if not any(str(node["inputs"].get("model")).endswith("(download)") for node in prompt.values()):
        _run(page, host)
    page.wait_for_timeout(NODES_MS)
    shown["height"] += _in_page(page, "grown", area=_bounds(graph))
    picture = base64.b64encode(page.screenshot(clip=shown)).decode()
    jpeg = _in_page(page, "imageOf", png=picture, width=THUMBNAIL_WIDTH)
    (WORKFLOWS / f"{name}.jpg").write_bytes(base64.b64decode(jpeg))
    say(f"{name}: {len(graph['nodes'])} nodes, {len(graph['links'])} links")


def _make_blueprint(page: Page, name: str, blueprint: Mapping[str, Any]) -> None:
    graph = _in_page(page, "fold", blueprint=blueprint, name=name)
    graph.pop("id")
    text = json.dumps(graph)
    for number, found in enumerate(dict.fromkeys(UUID.findall(text))):
        text = text.replace(found, _id_of(f"mizuoto/blueprints/{name}/{number}"))
    BLUEPRINTS.mkdir(exist_ok=True)
    _write(BLUEPRINTS / f"{name}.json", json.loads(text))
    say(f"{name}: {len(blueprint['inside'])} nodes in one")


def _make_picture(page: Page, host: Comfy, name: str) -> None:
    """The whole window after a run and with one tooltip, as the README shows it."""
    steps.load(page, WORKFLOWS / f"{name}.json", name)
    _run(page, host)
    page.mouse.move(*_in_page(page, "titleOf", id=NODE_WITH_TIP), steps=5)
    page.wait_for_function("() => document.querySelector('.node-tooltip')?.checkVisibility()")
    page.screenshot(path=PICTURE, scale="css")


def _run(page: Page, host: Comfy) -> None:
    steps.run(page, host)
    page.wait_for_timeout(NOTICE_MS)


def _open(browser: Browser, host: Comfy, width: int, height: int) -> Page:
    viewport = {"width": width, "height": height}
    page = browser.new_page(viewport=viewport, device_scale_factor=2, reduced_motion="reduce")  # type: ignore[arg-type]
    page.add_init_script(steps.STORED)
    page.on("pageerror", lambda error: say(f"page: {error}"))
    steps.open_page(page, host)
    return page


def _in_page(page: Page, function: str, **arguments: object) -> Any:
    """Call a function of page.js inside the page."""
    return page.evaluate(f"(given) => {{ {SCRIPT}\n return {function}(given); }}", arguments)


def _bounds(graph: Mapping[str, Any]) -> dict[str, float]:
    boxes = [(x, y, x + width, y + height) for x, y, width, height in (group["bounding"] for group in graph["groups"])]
    for node in graph["nodes"]:
        (x, y), (width, height) = node["pos"], node["size"]
        boxes.append((x, y - TITLE_HEIGHT, x + width, y + height))
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    left, top = min(lefts), min(tops)
    return {"x": left, "y": top, "width": max(rights) - left, "height": max(bottoms) - top}


def _id_of(name: str) -> str:
    """A name-based UUID: the same at every run, another one for every name."""
    digits = hashlib.sha1(name.encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], f"5{digits[13:16]}", f"a{digits[17:20]}", digits[20:32]))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
