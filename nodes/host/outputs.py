"""Files in ComfyUI's output folder, named and confined as core's save nodes do it."""

from __future__ import annotations

import os
from pathlib import Path

import folder_paths

from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError


def save_text(text: str, prefix: str, suffix: str) -> dict[str, str]:
    """Write `text` as UTF-8 to "<prefix>_<number>_<suffix>"; what a `ui` result lists: filename, subfolder and type.

    Args:
        text: The content.
        prefix: May name folders below the output folder, and %year% and its like.
        suffix: Of the file name, with its dot.

    Raises:
        InvalidRequest: `prefix` names no file, or one outside the output folder.
        ModelFileError: It cannot be written.
    """
    root = folder_paths.get_output_directory()
    _check_prefix(prefix, root)
    try:
        folder, name, counter, subfolder, _ = folder_paths.get_save_image_path(prefix, root)
        path = Path(folder, f"{name}_{counter:05}_{suffix}")
        content = text.encode()  # before there is a file: half a character has no UTF-8
        path.write_bytes(content)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(
            f'"{prefix[:100]}" cannot be written to the output folder ({reason}); choose another prefix, or look at '
            "the rights and the free space there."
        ) from error
    return {"filename": path.name, "subfolder": subfolder, "type": "output"}


def _check_prefix(prefix: str, root: str) -> None:
    """Say what core says of a path that leads elsewhere, but in a sentence, and of links in the folder, too (S1)."""
    name = os.path.basename(os.path.normpath(prefix))
    if not prefix.strip() or name in (".", "..") or "\0" in prefix or prefix.endswith(("/", "\\")):
        raise InvalidRequest(
            f'"{prefix[:100]}" is no beginning of a file name; type one such as "transcripts/ComfyUI".'
        )
    real_root = os.path.realpath(root)
    target = os.path.realpath(os.path.join(root, os.path.dirname(os.path.normpath(prefix))))
    if os.path.commonpath((real_root, target)) != real_root:
        raise InvalidRequest(f'"{prefix[:100]}" leads out of the output folder; choose a prefix that stays in it.')
