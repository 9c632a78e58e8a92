"""`runtime`: what a running ComfyUI has loaded, asked over its own routes."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import urllib.error
import urllib.request
from typing import Any

from .common import Commands


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = commands.add_parser("runtime", help="what a running ComfyUI has loaded")
    parser.add_argument("--url", default="http://127.0.0.1:8188")
    parser.add_argument("--release", action="store_true", help="free the memory of idle models first")
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    url = options.url.rstrip("/") + "/mizuoto/runtime"
    if options.release:
        print(f"{_fetch(url + '/release', 'released_bytes', b'{}')['released_bytes'] / 1e6:.0f} MB released")
    found = _fetch(url, "models")
    found.pop("last_run", None)  # for pictures: hundreds of lines
    print(json.dumps(found, indent=2))


def _fetch(url: str, key: str, body: bytes | None = None) -> dict[str, Any]:
    """The answer, a JSON object that has `key`.

    Raises:
        OSError: Nobody or somebody else answers, or the pack refuses.
    """
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=10) as answer:
            data = json.load(answer)
            _ = data[key]
            return dict(data)
    except urllib.error.HTTPError as error:
        with contextlib.suppress(ValueError, TypeError, LookupError):
            raise OSError(f"{url} answered {error.code}: {json.load(error)['error']}") from None
        raise OSError(f"{url} answered {error.code}: no ComfyUI with this pack is there; correct --url.") from None
    except urllib.error.URLError as error:
        raise OSError(f"No ComfyUI answers at {url} ({error.reason}); start it or give --url.") from None
    except (ValueError, TypeError, LookupError, RecursionError, http.client.HTTPException):
        raise OSError(f"What is at {url} is no ComfyUI with this pack; correct --url.") from None
