"""Every route of the pack answers ComfyUI's own page and no page of another origin, as ComfyUI's own routes do."""

import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "nodes" / "host"
ROUTE = re.compile(r'@server\.routes\.(\w+)\("(/mizuoto/.+?)"\)')
ROUTES = sorted(
    (method.upper(), path)
    for file in SOURCES.glob("*.py")
    for method, path in ROUTE.findall(file.read_text(encoding="utf-8"))
)
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def status(comfy, method, path, origin):
    """What a request gives that a browser would send for a page of `origin` without asking the server first."""
    url = comfy.url + re.sub(r"\{\w+\}", "x", path)
    headers = {"Origin": origin, "Content-Type": "text/plain"}
    request = urllib.request.Request(url, None if method == "GET" else b"{}", headers, method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_another_origin_is_refused(comfy, method, path):
    for origin in ("http://elsewhere.example", "http://127.0.0.1:1", "https://127.0.0.1.elsewhere.example"):
        assert status(comfy, method, path, origin) == 403
    assert status(comfy, method, path, comfy.url) in {200, 400, 404}  # the page's own: understood


def test_the_routes_are_all_found():
    assert {path for _, path in ROUTES} >= {"/mizuoto/runtime/release", "/mizuoto/settings", "/mizuoto/downloads"}
