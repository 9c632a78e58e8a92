"""`python -m mizuoto`: the pack without ComfyUI."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import sys
import urllib.error
import urllib.request
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 1 with one line on standard error, 1 when the doctor finds errors."""
    options = _parser().parse_args(arguments)
    from .mizuoto_runtime.errors import MizuotoError

    try:
        code: int = options.command(options) or 0
    except (MizuotoError, OSError) as error:
        print(f"mizuoto: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mizuoto", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    speak = commands.add_parser("speak", help="say a text with the built-in voice")
    speak.add_argument("text")
    speak.add_argument("output", type=Path, help="the WAV file to write")
    speak.add_argument("--seed", type=int, default=0)
    speak.add_argument("--speed", type=float, default=1.0)
    speak.add_argument(
        "--device", default="cpu", help="auto (the first accelerator, if there is one), cpu, cuda:0, xpu:0 or mps"
    )
    speak.set_defaults(command=_speak)

    runtime = commands.add_parser("runtime", help="what a running ComfyUI has loaded")
    runtime.add_argument("--url", default="http://127.0.0.1:8188")
    runtime.add_argument("--release", action="store_true", help="free the memory of idle models first")
    runtime.set_defaults(command=_runtime)

    doctor = commands.add_parser("doctor", help="what this machine can run and what is in the way")
    doctor.add_argument("engine", nargs="?", help="look at this engine only")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.add_argument("--no-self-test", action="store_true", help="start no second Python process to try things in")
    doctor.set_defaults(command=_doctor)
    return parser


def _speak(options: argparse.Namespace) -> None:
    from . import engines
    from .engines import speech
    from .engines.base import LoadSpec, Options
    from .mizuoto_runtime.device import DTYPES
    from .mizuoto_runtime.runtime import Runtime

    manifest = engines.manifests()["hibari"]
    speech.check_text(options.text)
    host = Runtime()
    devices = host.devices
    device = devices.available()[0] if options.device == "auto" else devices.require(devices.parse(options.device))
    assert manifest.built_in is not None
    engine = engines.engine("hibari").load(LoadSpec("hibari", manifest.built_in, device, DTYPES["fp32"]), host)
    ctx = host.context(options.seed)
    with _writable(options.output):
        audio = speech.speak(engine, options.text, None, Options("hibari", {"speed": options.speed}), ctx)
        pcm = audio.waveform.clamp(-1.0, 1.0).mul(32767.0).short().numpy().tobytes()
        _write_wav(options.output, pcm, audio.sample_rate)
    print(f"{options.output}: {audio.seconds:.1f} s")


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Fail before the work if `path` cannot be written; if the work fails, leave no new file and keep an old one."""
    is_new = not path.exists()
    path.open("ab").close()
    try:
        yield
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise


def _write_wav(path: Path, pcm: bytes, sample_rate: int) -> None:
    with path.open("wb") as stream, wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(pcm)


def _runtime(options: argparse.Namespace) -> None:
    url = options.url.rstrip("/") + "/mizuoto/runtime"
    if options.release:
        print(f"{_fetch(url + '/release', 'released_bytes', b'{}')['released_bytes'] / 1e6:.0f} MB released")
    print(json.dumps(_fetch(url, "models"), indent=2))


def _doctor(options: argparse.Namespace) -> int:
    from . import engines
    from .mizuoto_runtime import doctor
    from .mizuoto_runtime.errors import InvalidRequest

    manifests = engines.manifests()
    if options.engine is not None and options.engine not in manifests:
        raise InvalidRequest(f'There is no engine "{options.engine}"; there are: {", ".join(manifests)}.')
    chosen = list(manifests.values()) if options.engine is None else [manifests[options.engine]]
    report = doctor.examine(chosen, self_test=not options.no_self_test)
    print(json.dumps(report, indent=2) if options.json else doctor.render(report))
    return int(report["level"] == "error")


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


if __name__ == "__main__":
    sys.exit(main())
