"""`transcribe`: a sound file to text or subtitles."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .common import Commands, add_device, device, preferences, writable

if TYPE_CHECKING:
    from ..engines.transcript import Transcript

FORMATS = ("text", "srt", "vtt", "json", "timed text")


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = commands.add_parser("transcribe", help="write down what is said in a recording")
    parser.add_argument("audio", type=Path, help="a sound file, or a video")
    parser.add_argument("--model", type=Path, required=True, help="folder of a recognition model, such as whisper-base")
    parser.add_argument("--language", default="auto", help="a name or a tag, such as Portuguese or pt")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--output", type=Path, help="the file to write; without it, the text is printed")
    parser.add_argument("--seed", type=int, default=0)
    add_device(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    from ..engines.subtitles import write

    if options.output is None:
        print(write(_transcript(options), options.format))
        return
    with writable(options.output):
        options.output.write_text(write(_transcript(options), options.format) + "\n", encoding="utf-8")
    print(options.output)


def _transcript(options: argparse.Namespace) -> Transcript:
    from .. import engines
    from ..engines import listening
    from ..engines.base import LoadSpec, require_task
    from ..engines.defaults import default_options
    from ..mizuoto_runtime.errors import InvalidRequest
    from ..mizuoto_runtime.media import read_audio
    from ..mizuoto_runtime.runtime import Runtime
    from ..mizuoto_runtime.settings import Settings
    from ..mizuoto_runtime.text.languages import choose_language

    choose_language(options.language)
    recording = read_audio(options.audio, listening.MAX_SECONDS)
    manifest = engines.recognise(options.model)
    if manifest is None:
        raise InvalidRequest(f'No engine knows the model in "{options.model}"; --model takes an official folder.')
    require_task(manifest, "asr")
    wanted = preferences()
    host = Runtime(Settings.of(wanted.values("compute.")))
    target = device(host.devices, options.device)
    dtype = host.devices.pick_dtype(target, "auto", manifest.dtypes, f'Engine "{manifest.id}"')
    engine = engines.engine(manifest.id).load(LoadSpec(options.model.name, options.model, target, dtype), host)
    language = choose_language(options.language, engine.manifest.languages)
    chosen = default_options(engine.manifest, wanted.saved(f"{manifest.id}."))
    return listening.transcribe(engine, recording, language, chosen, host.context(options.seed))
