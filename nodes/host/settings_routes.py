"""`GET` and `PUT /mizuoto/settings` on ComfyUI's server."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web

from ...mizuoto_runtime.errors import MizuotoError, SettingIsFixed
from .answers import BadBodyError, prompt_server, read_object, refuse
from .session import follow_settings
from .settings import preferences

log = logging.getLogger("mizuoto.settings")
_EXAMPLE = '{"compute.oom_retries": 1}, or null in place of 1 for the default'


def register_settings_routes() -> None:
    """Add both routes; does nothing where no server runs.

    Both answer `{"settings": [...]}`, every setting with its value and where that comes from. PUT takes an object with
    the values to change; null is the default.
    """
    server = prompt_server()
    if server is None:
        return

    @server.routes.get("/mizuoto/settings")
    async def get_settings(_request: web.Request) -> web.Response:
        return _all()

    @server.routes.put("/mizuoto/settings")
    async def put_settings(request: web.Request) -> web.Response:
        try:
            changes = await read_object(request, _EXAMPLE)
            await asyncio.to_thread(preferences().save, changes)
            follow_settings()
        except BadBodyError as error:
            return refuse(error.status, str(error))
        except SettingIsFixed as error:
            return refuse(409, str(error))
        except MizuotoError as error:
            return refuse(400, str(error))
        except OSError as error:
            log.warning("Settings could not be saved: %s", error)
            return refuse(500, f"The settings could not be saved: {error.strerror or error}.")
        return _all()


def _all() -> web.Response:
    return web.json_response({"settings": preferences().describe()})
