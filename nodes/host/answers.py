"""What the pack's HTTP routes share: the server they hang on, the body they take, the errors they give."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

MAX_BODY_BYTES = 64 * 1024  # the longest that any route has a use for is a few hundred


class BadBodyError(Exception):
    """The body of a request is of no use; the message says why.

    Attributes:
        status: The HTTP status that says so.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def prompt_server() -> Any | None:
    """ComfyUI's server; None where none runs."""
    from server import PromptServer  # late: outside ComfyUI's own start it pulls in every node

    return getattr(PromptServer, "instance", None)


async def read_object(request: web.Request, example: str) -> dict[str, Any]:
    """The JSON object that a request carries; an empty body is an empty one.

    Args:
        request: Its body is read to its end, or to a byte beyond `MAX_BODY_BYTES`.
        example: A body that would do, for the sentences.

    Raises:
        BadBodyError: It is no JSON object, or longer than `MAX_BODY_BYTES`.
    """
    content = bytearray()
    async for part in request.content.iter_any():
        content += part
        if len(content) > MAX_BODY_BYTES:
            raise BadBodyError(f"The body is longer than {MAX_BODY_BYTES // 1024} KB; send {example}.", 413)
    try:
        body = json.loads(content.decode(request.charset or "utf-8")) if content.strip() else {}
    except (ValueError, LookupError, RecursionError):  # no JSON, an unknown charset, brackets without end
        raise BadBodyError(f"The body is not JSON; send {example}.") from None
    if not isinstance(body, dict):
        raise BadBodyError(f"The body asks for something unknown; send {example}.")
    return body


def refuse(status: int, message: str) -> web.Response:
    """An error as every route gives it: `{"error": sentence}`."""
    return web.json_response({"error": message}, status=status)
