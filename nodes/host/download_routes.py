"""`GET /mizuoto/models` and `POST /mizuoto/downloads` on ComfyUI's server: what there is, and what is fetched."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from ...mizuoto_runtime.errors import MizuotoError, did_you_mean
from .answers import BadBodyError, prompt_server, read_object, refuse
from .catalogue import catalogue
from .download_jobs import DownloadJobs
from .folders import MissingModel, official_models, refresh

_EXAMPLE = '{"model": "name"}'
_ACTIONS = ("start", "pause", "resume", "cancel")


def register_download_routes() -> None:
    """Add the routes; does nothing where no server runs."""
    server = prompt_server()
    if server is None:
        return
    jobs = DownloadJobs(server.loop, server.send_sync)

    @server.routes.get("/mizuoto/models")
    async def get_models(_request: web.Request) -> web.Response:
        number = jobs.number  # what is told while the list is made is newer
        return web.json_response({"models": await asyncio.to_thread(_all, jobs), "number": number})

    @server.routes.post("/mizuoto/downloads")
    async def start(request: web.Request) -> web.Response:
        try:
            body = await read_object(request, _EXAMPLE)
        except BadBodyError as error:
            return refuse(error.status, str(error))
        if body.keys() != {"model"}:
            return refuse(400, f"The body asks for something unknown; send {_EXAMPLE}.")
        return await _act(jobs, body["model"], "start")

    @server.routes.post("/mizuoto/downloads/{model}/{action}")
    async def act(request: web.Request) -> web.Response:
        return await _act(jobs, request.match_info["model"], request.match_info["action"])


def _all(jobs: DownloadJobs) -> list[dict[str, Any]]:
    refresh()
    return catalogue({name: jobs.describe(model) for name, model in official_models().items()})


async def _act(jobs: DownloadJobs, name: object, action: str) -> web.Response:
    """What comes of an action, as the event tells it. Only known names lead anywhere, so none is ever a path."""
    known = official_models()
    model = known.get(name) if isinstance(name, str) else None
    if model is None:
        told = str(name)[:80]
        return refuse(404, f'No model "{told}" can be downloaded.{did_you_mean(told, known)}')
    if action not in _ACTIONS:
        return refuse(404, f'A download knows no "{action[:80]}"; it knows: {", ".join(_ACTIONS)}.')
    try:
        return web.json_response(await _done(jobs, model, action))
    except MizuotoError as error:
        return refuse(409, str(error))


async def _done(jobs: DownloadJobs, model: MissingModel, action: str) -> dict[str, Any]:
    if action == "pause":
        return jobs.pause(model)
    if action == "cancel":
        return await jobs.cancel(model)
    return await jobs.start(model)
