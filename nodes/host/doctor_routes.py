"""`GET /mizuoto/doctor` and `GET /mizuoto/doctor/{engine}` on ComfyUI's server."""

from __future__ import annotations

import asyncio

from aiohttp import web

from ... import engines
from ...mizuoto_runtime.doctor import render
from .answers import prompt_server, refuse
from .doctor import report


def register_doctor_routes() -> None:
    """Add both routes; does nothing where no server runs.

    They answer JSON, or text with `?format=text`. With `?self_test=1` torch and the attention packages are tried in a
    second process, which takes seconds.
    """
    server = prompt_server()
    if server is None:
        return
    one_at_a_time = asyncio.Lock()

    @server.routes.get("/mizuoto/doctor")
    @server.routes.get("/mizuoto/doctor/{engine}")
    async def get_doctor(request: web.Request) -> web.Response:
        engine = request.match_info.get("engine")
        if engine is not None and engine not in engines.manifests():
            known = ", ".join(engines.manifests())
            return refuse(404, f'There is no engine "{engine}"; there are: {known}.')
        async with one_at_a_time:
            found = await asyncio.to_thread(report, engine, request.query.get("self_test") == "1")
        return web.Response(text=render(found)) if request.query.get("format") == "text" else web.json_response(found)
