"""The voice library: `models/voices`, every path configured under that name, and the folder that the user has set.

It holds the voices that Save Voice wrote, `.safetensors` files, and recordings with or without their words in a `.txt`
file beside them, as other packs keep them.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import folder_paths
import torch
from safetensors import SafetensorError

from ...engines.artifacts import VoicePrompt
from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean
from ...mizuoto_runtime.settings import VOICE_FOLDER
from .recordings import SUFFIXES, read_words, words_file
from .settings import preferences

log = logging.getLogger("mizuoto.voices")

_KEY = "voices"
_SUFFIX = ".safetensors"
_DEPTH = 3  # folders in folders
_MAX_NAME = 100
_MAX_NAME_BYTES = 200  # file systems count bytes, and the suffixes need some
# What some system cannot store, and what would leave the folder.
_FORBIDDEN = re.compile(r'[\x00-\x1f\ud800-\udfff<>:"/\\|?*]|^\.|[. ]$|^ ')
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A voice that Save Voice wrote, or a recording.

    Attributes:
        path: The file.
        is_recording: Which of the two it is.
        words: File with the words of a recording, if there is one.
    """

    path: Path
    is_recording: bool
    words: Path | None = None

    def transcript(self) -> str:
        """The words of a recording; "" if nobody wrote them down.

        Raises:
            MizuotoError: The file with the words cannot be used.
        """
        return read_words(self.words) if self.words else ""


def register_voices() -> None:
    """Make `models/voices` and the user's own folder known to ComfyUI; called once when the pack is loaded."""
    default = os.path.join(folder_paths.models_dir, _KEY)
    folder_paths.add_model_folder_path(_KEY, default, is_default=True)
    with suppress(OSError):
        os.makedirs(default, exist_ok=True)
    try:
        own = preferences().value(VOICE_FOLDER.key)
    except InvalidRequest as error:
        log.warning("%s", error)
    else:
        if own:
            folder_paths.add_model_folder_path(_KEY, str(own))


def voice_files() -> dict[str, LibraryFile]:
    """Name -> file, sorted by name: "anna" is a saved voice, "english/anna.wav" a recording in a folder.

    Of two with the same name the first root's. Links that lead out of their root are passed over (S1).
    """
    found: dict[str, LibraryFile] = {}
    for root in map(Path, folder_paths.get_folder_paths(_KEY)):
        for name, file in _listed(root, os.path.realpath(root), "", _DEPTH):
            found.setdefault(name, file)
    return dict(sorted(found.items(), key=lambda item: item[0].casefold()))


def find_voice(name: str) -> LibraryFile:
    """The file that is listed as `name`.

    Raises:
        InvalidRequest: There is none.
    """
    found = voice_files()
    if name not in found:
        raise InvalidRequest(
            f'There is no voice "{name[:_MAX_NAME]}" in models/voices; save it with a Save Voice node, '
            f"or choose another.{did_you_mean(name, found)}"
        )
    return found[name]


def fingerprint(name: str) -> str:
    """Changes when the file of a voice, or that with its words, is replaced; never raises (P76)."""
    file = voice_files().get(name)
    return "" if file is None else f"{_status(file.path)} {file.words and _status(file.words)}"


def _status(path: Path) -> str:
    with suppress(OSError):
        status = path.stat()
        return f"{path.name}/{status.st_size}/{status.st_mtime_ns}"
    return ""


def _listed(folder: Path, root: str, prefix: str, depth: int) -> Iterator[tuple[str, LibraryFile]]:
    try:
        children = [child for child in sorted(folder.iterdir()) if _is_ours(child, root)]
    except OSError:
        return
    beside = {child.name for child in children}
    # Saved voices first: what their name is in saved workflows, it stays.
    for child in children:
        if child.suffix == _SUFFIX and child.is_file():
            yield prefix + child.stem, LibraryFile(child, is_recording=False)
    for child in children:
        if child.suffix.lower() in SUFFIXES and child.is_file():
            words = words_file(child.name, beside)
            yield prefix + child.name, LibraryFile(child, True, folder / words if words else None)
        elif depth > 1 and child.is_dir():
            yield from _listed(child, root, f"{prefix}{child.name}/", depth - 1)


def _is_ours(path: Path, root: str) -> bool:
    """Whether a file or folder may be listed: not hidden, its name is text, and it lies in `root` truly."""
    if path.name.startswith(".") or not _is_text(path.name):
        return False
    with suppress(OSError, ValueError):  # other drives have no common path
        is_plain = path.is_file() and not path.is_symlink()  # a folder may be a link that does not say so (Windows)
        return is_plain or os.path.commonpath((root, os.path.realpath(path))) == root
    return False


def _is_text(name: str) -> bool:
    """Whether a name has no bytes in it that are no characters, which no answer to a client could hold."""
    with suppress(UnicodeEncodeError):
        return bool(name.encode())
    return False


def save_voice(voice: VoicePrompt, name: str) -> str:
    """Write `voice` into the default folder and return the name that it got: a number is added to one that is taken.

    The voice inside keeps its own name, by which an engine knows a preset.

    Raises:
        InvalidRequest: `name` cannot be the name of a file.
        ModelFileError: The folder cannot be written.
    """
    root = Path(folder_paths.get_folder_paths(_KEY)[0])
    stem = check_name(name)
    written = root / f".{stem}{_SUFFIX}.part"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _save(voice, written)
        target, number = root / f"{stem}{_SUFFIX}", 1
        while target.exists() and not _holds(target, voice):
            number += 1
            target = root / f"{stem}_{number}{_SUFFIX}"
        os.replace(written, target)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f'"{root.parent.name}/{root.name}" cannot be written ({error}); look at its rights and at the free space.'
        ) from error
    finally:
        with suppress(OSError):
            written.unlink(missing_ok=True)
    return target.stem


def _save(voice: VoicePrompt, file: Path) -> None:
    file.touch()
    mode = file.stat().st_mode  # what the user's mask allows; safetensors makes files that only their owner can read
    voice.save(file)
    file.chmod(mode)


def _holds(file: Path, voice: VoicePrompt) -> bool:
    """Whether a file has this very voice in it."""
    try:
        saved = VoicePrompt.load(file)
    except ModelFileError:
        return False
    return _words_of(saved) == _words_of(voice) and all(
        torch.equal(tensor, voice.tensors[name].cpu()) for name, tensor in saved.tensors.items()
    )


def _words_of(voice: VoicePrompt) -> tuple[object, ...]:
    return voice.engine, voice.name, dict(voice.facts), voice.tensors.keys()


def check_name(name: str) -> str:
    """`name` if every system can store a file of that name, and only in its own folder.

    Raises:
        InvalidRequest: It is empty, too long, or has characters that lead elsewhere.
    """
    is_storable = name and not (_FORBIDDEN.search(name) or _RESERVED.match(name))
    if not is_storable or len(name) > _MAX_NAME or len(name.encode()) > _MAX_NAME_BYTES:
        raise InvalidRequest(
            f'"{name[:_MAX_NAME]}" cannot be the name of a voice: use up to {_MAX_NAME} letters, digits, spaces, '
            "dots, dashes and underscores."
        )
    return name
