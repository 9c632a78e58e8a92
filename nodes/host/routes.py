"""`GET /mizuoto/runtime` and `POST /mizuoto/runtime/release` on ComfyUI's server."""

from __future__ import annotations

from aiohttp import web

from .answers import BadBodyError, prompt_server, read_object, refuse
from .prompts import between_prompts
from .session import runtime

_EXAMPLE = '{} or {"model": "name"}'


def register_routes() -> None:
    """Add both routes; does nothing where no server runs."""
    server = prompt_server()
    if server is None:
        return

    @server.routes.get("/mizuoto/runtime")
    async def get_runtime(_request: web.Request) -> web.Response:
        return web.json_response(runtime().snapshot())

    @server.routes.post("/mizuoto/runtime/release")
    async def release(request: web.Request) -> web.Response:
        try:
            name = await _named(request)
        except BadBodyError as error:
            return refuse(error.status, str(error))
        known = {model.name for model in runtime().models()}
        if name is not None and name not in known:
            return refuse(404, f'No model "{name}" is loaded; loaded are: {", ".join(sorted(known)) or "none"}.')
        with between_prompts() as is_quiet:
            if not is_quiet:
                return refuse(409, "A prompt is running; wait until it has ended or interrupt it.")
            return web.json_response({"released_bytes": runtime().release(name)})


async def _named(request: web.Request) -> str | None:
    body = await read_object(request, _EXAMPLE)
    name = body.get("model")
    if body.keys() - {"model"} or not isinstance(name, str | None):
        raise BadBodyError(f"The body asks for something unknown; send {_EXAMPLE}.")
    return name
