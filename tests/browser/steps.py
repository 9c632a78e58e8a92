"""What a person does with ComfyUI's page, as functions of a Playwright page: open, load, run, look."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mizuoto.tests.host.comfy import Comfy, Run
from playwright.sync_api import ConsoleMessage, Page, Request, Response

PACK = "mizuoto"
READY_TIMEOUT_MS = 120_000
# As after the first visit: no welcome, no news, nothing that moves or tells of this machine.
SETTINGS = {
    "Comfy.TutorialCompleted": True,
    "Comfy.Notification.ShowVersionUpdates": False,
    "Comfy.Workflow.Persist": False,
    "Comfy.Workflow.WarnBlueprintOverwrite": False,
    "Comfy.Graph.CanvasInfo": False,
    "Comfy.Minimap.Visible": False,
    "Comfy.Locale": "en",
    "Comfy.ColorPalette": "dark",
}
# What the page keeps in the browser instead: that its advertisement was read.
STORED = "localStorage.setItem('vueNodesBannerDismissed', 'true');"
IS_READY = "() => window.app?.extensionManager && window.LiteGraph?.registered_node_types.MizuotoSpeak"


def open_page(page: Page, host: Comfy) -> None:
    """Go to ComfyUI's page, or load it anew, and wait until it can be used."""
    page.goto(host.url, wait_until="domcontentloaded", timeout=READY_TIMEOUT_MS)
    page.wait_for_function(IS_READY, timeout=READY_TIMEOUT_MS)
    page.wait_for_load_state("networkidle", timeout=READY_TIMEOUT_MS)


def write_settings(host: Comfy, **changed: object) -> None:
    """Give the host ComfyUI's settings as a fresh user has them, with others by their last word: `Locale="zh"`."""
    settings = SETTINGS | {f"Comfy.{name}": value for name, value in changed.items()}
    file = host.base / "user" / "default" / "comfy.settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings), encoding="utf-8")


def forget(page: Page, host: Comfy) -> None:
    """Drop what the browser keeps for the host's page: drafts of workflows, widths, what was dismissed."""
    kinds = "local_storage,indexeddb,cookies"
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", {"origin": host.url, "storageTypes": kinds})


def set_theme(page: Page, name: str) -> None:
    """Switch to "dark" or "light", at once."""
    change_setting(page, "Comfy.ColorPalette", name)


def set_language(page: Page, host: Comfy, name: str) -> None:
    """Switch to "en" or "zh"; the page is loaded anew, since nodes keep the words that they were made with."""
    change_setting(page, "Comfy.Locale", name)
    open_page(page, host)


def change_setting(page: Page, key: str, value: object) -> None:
    """Set one of ComfyUI's own settings as its dialog does."""
    page.evaluate("([key, value]) => window.app.extensionManager.setting.set(key, value)", [key, value])


def load(page: Page, workflow: Mapping[str, Any] | Path, name: str = "test") -> None:
    """Open a saved workflow, given as the file or as what is in it; a prompt in API form is laid out by the page."""
    data = json.loads(workflow.read_text(encoding="utf-8")) if isinstance(workflow, Path) else workflow
    call = "loadGraphData(data, true, true, name)" if "nodes" in data else "loadApiJson(data, name)"
    page.evaluate(f"([data, name]) => window.app.{call}", [data, name])


def prompt_of(page: Page) -> dict[str, Any]:
    """The prompt that the open workflow leads to, without titles: {id: {"class_type", "inputs"}}."""
    prompt = page.evaluate("async () => (await window.app.graphToPrompt()).output")
    return {key: {name: node[name] for name in ("class_type", "inputs")} for key, node in prompt.items()}


def without_extras(prompt: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """A prompt without inputs that no node has: older pages send widgets of their own along with ComfyUI's nodes.

    Args:
        prompt: As `prompt_of` gives it.
        schemas: What the host answers to /object_info.
    """

    def kept(node: Mapping[str, Any]) -> dict[str, Any]:
        inputs = schemas[node["class_type"]]["input"]
        known = {name for part in ("required", "optional") for name in inputs.get(part, {})}
        return {**node, "inputs": {name: value for name, value in node["inputs"].items() if name in known}}

    return {key: kept(node) for key, node in prompt.items()}


def queue(page: Page) -> str:
    """Queue the open workflow as the Run button does; the prompt's id."""
    with page.expect_response(_is_answer_to_a_prompt) as answer:
        page.evaluate("() => void window.app.queuePrompt(0)")
    told = answer.value.json()
    assert "prompt_id" in told, told
    return str(told["prompt_id"])


def run(page: Page, host: Comfy) -> Run:
    """Queue the open workflow and wait until it has ended and the page knows; raises as `Comfy.wait` does."""
    prompt_id = queue(page)
    ended = host.wait(prompt_id)
    page.wait_for_function("async () => (await window.app.api.getQueue()).Running.length === 0")
    return ended


def node_box(page: Page, node_id: int) -> dict[str, float]:
    """Where a node's picture is on the page, its title with it: {"x", "y", "width", "height"}, for clicks and clips."""
    return page.evaluate(NODE_BOX, node_id)


def watch(page: Page, complaints: list[str]) -> None:
    """From now on, add a line to `complaints` for everything that goes wrong in the page because of the pack."""

    def add(text: str, url: str = "") -> None:
        # ComfyUI asks a registry of its own about every node, which a test does not reach.
        if PACK in f"{text} {url}".lower() and not url.startswith("https:"):
            complaints.append(f"{text} {url}")

    def on_console(said: ConsoleMessage) -> None:
        if said.type == "error":
            add(f"console: {said.text}", said.location["url"])

    def on_answer(answer: Response) -> None:
        if answer.status >= 400:
            add(str(answer.status), answer.url)

    def on_failure(request: Request) -> None:
        if not _is_cut(request.failure):
            add(str(request.failure), request.url)

    page.on("console", on_console)
    page.on("pageerror", lambda error: add(f"page error: {error.stack or error}"))
    page.on("response", on_answer)
    page.on("requestfailed", on_failure)


def _is_cut(failure: str | None) -> bool:
    # A player that takes another file, or a page that is left: nothing went wrong.
    return failure == "net::ERR_ABORTED"


def _is_answer_to_a_prompt(answer: Response) -> bool:
    return answer.request.method == "POST" and answer.url.endswith("/prompt")


NODE_BOX = """(id) => {
    const { app, LiteGraph } = window;
    const node = app.graph.getNodeById(id);
    const { ds, canvas } = app.canvas;
    const at = canvas.getBoundingClientRect();
    const title = LiteGraph.NODE_TITLE_HEIGHT;
    return {
        x: (node.pos[0] + ds.offset[0]) * ds.scale + at.x,
        y: (node.pos[1] - title + ds.offset[1]) * ds.scale + at.y,
        width: node.size[0] * ds.scale,
        height: (node.size[1] + title) * ds.scale,
    };
}"""
