"""`speak`: a text to a WAV file, in the built-in voice."""

from __future__ import annotations

import argparse
import wave
from pathlib import Path

from .common import Commands, add_device, device, preferences, writable


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = commands.add_parser("speak", help="say a text with the built-in voice")
    parser.add_argument("text")
    parser.add_argument("output", type=Path, help="the WAV file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", type=float, help="2 is twice as fast")
    add_device(parser)
    parser.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> None:
    from .. import engines
    from ..engines import speech
    from ..engines.base import LoadSpec, Options
    from ..engines.defaults import default_options
    from ..mizuoto_runtime.device import DTYPES
    from ..mizuoto_runtime.runtime import Runtime
    from ..mizuoto_runtime.settings import Settings

    manifest = engines.manifests()["hibari"]
    speech.check_text(options.text)
    wanted = preferences()
    host = Runtime(Settings.of(wanted.values("compute.")))
    assert manifest.built_in is not None
    spec = LoadSpec("hibari", manifest.built_in, device(host.devices, options.device), DTYPES["fp32"])
    engine = engines.engine("hibari").load(spec, host)
    ctx = host.context(options.seed)
    chosen = default_options(manifest, wanted.saved("hibari."))
    if options.speed is not None:
        chosen = Options("hibari", {"speed": options.speed})
    with writable(options.output):
        audio = speech.speak(engine, options.text, None, chosen, ctx)
        pcm = audio.waveform.clamp(-1.0, 1.0).mul(32767.0).short().numpy().tobytes()
        _write_wav(options.output, pcm, audio.sample_rate)
    print(f"{options.output}: {audio.seconds:.1f} s")


def _write_wav(path: Path, pcm: bytes, sample_rate: int) -> None:
    with path.open("wb") as stream, wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(pcm)
