"""The workflow templates in the page: on offer with their pictures, opened, true to their prompts, run.

That each of those prompts runs in the host is shown by tests/host/test_workflows.py.
"""

import json
from pathlib import Path

from mizuoto.tests.browser import steps

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / "workflows"
LAYOUTS = json.loads((ROOT / "devtools" / "templates" / "layouts.json").read_text(encoding="utf-8"))
PACK = "ComfyUI-Mizuoto"
PICTURE = "() => [...document.querySelectorAll('[data-testid^=template-workflow-] img')].map((it) => it.naturalWidth)"


def source_of(name):
    prompt = json.loads((WORKFLOWS / "api" / LAYOUTS[name]["prompt"]).read_text(encoding="utf-8"))
    return {key: {part: node[part] for part in ("class_type", "inputs")} for key, node in prompt.items()}


def browse(page):
    page.evaluate("() => window.app.extensionManager.command.execute('Comfy.BrowseTemplates')")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text(PACK, exact=True).first.click()
    dialog.get_by_test_id("template-workflow-Speak").wait_for()
    return dialog


def test_they_are_offered_with_pictures_and_one_is_chosen_and_run(page, page_host, schemas, shot):
    dialog = browse(page)
    page.wait_for_function(f"() => ({PICTURE})().some((width) => width > 0)")
    shot("templates")
    offered = dialog.locator("[data-testid^=template-workflow-]").evaluate_all(
        "(all) => all.map((it) => it.dataset.testid)"
    )
    assert {name.removeprefix("template-workflow-") for name in offered} == set(LAYOUTS)
    dialog.get_by_test_id("template-workflow-Speak").click()
    dialog.wait_for(state="hidden")
    assert steps.without_extras(steps.prompt_of(page), schemas) == source_of("Speak")
    (file,) = steps.run(page, page_host).files()
    assert page_host.view(file)[:4] in (b"fLaC", b"RIFF")


def test_each_opens_and_leads_to_its_prompt(page, schemas, subtests):
    for name in LAYOUTS:
        with subtests.test(name):
            steps.load(page, WORKFLOWS / f"{name}.json", name)
            assert steps.without_extras(steps.prompt_of(page), schemas) == source_of(name)
