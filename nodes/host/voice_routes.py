"""`GET /mizuoto/voices/sound` and `GET /mizuoto/voices/recording`: what Load Voice plays of the chosen voice.

The name is a query parameter, `?name=english/anna.wav`: it may hold slashes. Only what the voice library lists is read.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from aiohttp import web

from ...mizuoto_runtime.errors import InvalidRequest, MizuotoError
from .answers import prompt_server, refuse
from .recordings import read_recording
from .sounds import picture
from .voices import LibraryFile, find_voice

# Whatever is in the file, the page must not take it for anything but sound.
_TYPES = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
}


def register_voice_routes() -> None:
    """Add both routes; does nothing where no server runs."""
    server = prompt_server()
    if server is None:
        return
    one_at_a_time = asyncio.Lock()  # a decoded recording takes a hundred megabytes

    @server.routes.get("/mizuoto/voices/sound")
    async def get_sound(request: web.Request) -> web.Response:
        try:
            async with one_at_a_time:
                return web.json_response(await asyncio.to_thread(_sound, _name(request)))
        except MizuotoError as error:
            return refuse(404 if isinstance(error, InvalidRequest) else 422, str(error))

    @server.routes.get("/mizuoto/voices/recording")
    async def get_recording(request: web.Request) -> web.StreamResponse:
        try:
            file = await asyncio.to_thread(find_voice, _name(request))
        except InvalidRequest as error:
            return refuse(404, str(error))
        if not file.is_recording:
            return refuse(404, f'"{file.path.name}" is a saved voice, which holds no sound.')
        headers = {"Content-Type": _TYPES[file.path.suffix.lower()], "X-Content-Type-Options": "nosniff"}
        return web.FileResponse(file.path, headers=headers | {"Cache-Control": "no-cache"})


def _name(request: web.Request) -> str:
    return request.query.get("name", "")


def _sound(name: str) -> dict[str, Any]:
    """`seconds`, `peaks` and `text` of the recording called `name`; no `peaks` for a saved voice, which holds no sound.

    Raises:
        MizuotoError: There is no such voice, or its file cannot be decoded.
    """
    file = find_voice(name)
    return picture(read_recording(file.path)) | {"text": _words(file)} if file.is_recording else {}


def _words(file: LibraryFile) -> str:
    with suppress(MizuotoError):  # the node says so when it runs
        return file.transcript()
    return ""
