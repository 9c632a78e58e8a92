"""The pack's HTTP routes on ComfyUI's server."""

from __future__ import annotations

from aiohttp import web

from .prompts import between_prompts
from .session import runtime


def register_routes() -> None:
    """Add `GET /mizuoto/runtime` and `POST /mizuoto/runtime/release`; does nothing where no server runs."""
    from server import PromptServer  # late: outside ComfyUI's own start it pulls in every node

    server = getattr(PromptServer, "instance", None)
    if server is None:
        return

    @server.routes.get("/mizuoto/runtime")
    async def get_runtime(_request: web.Request) -> web.Response:
        return web.json_response(runtime().describe())

    @server.routes.post("/mizuoto/runtime/release")
    async def release(request: web.Request) -> web.Response:
        try:
            body = await request.json() if request.can_read_body else {}
        except (ValueError, LookupError, RecursionError):  # no JSON, an unknown charset, brackets without end
            return _error(400, 'The body is not JSON; send {} or {"model": "name"}.')
        name = body.get("model") if isinstance(body, dict) else None
        if not isinstance(body, dict) or body.keys() - {"model"} or not isinstance(name, str | None):
            return _error(400, 'The body asks for something unknown; send {} or {"model": "name"}.')
        known = {model.name for model in runtime().models()}
        if name is not None and name not in known:
            return _error(404, f'No model "{name}" is loaded; loaded are: {", ".join(sorted(known)) or "none"}.')
        with between_prompts() as is_quiet:
            if not is_quiet:
                return _error(409, "A prompt is running; wait until it has ended or interrupt it.")
            return web.json_response({"released_bytes": runtime().release(name)})


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)
