"""Speaks one sentence in a real ComfyUI and has it heard by a speech recogniser."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from ..tests.host.comfy import Comfy, HostError, Run
from .checks import test_environment
from .console import say
from .environment import ROOT

PROMPT = ROOT / "workflows" / "api" / "demo.json"
SOUND = ROOT / "demo.wav"
REPORT = ROOT / "demo.json"
MAX_WORD_ERROR_RATE = 0.10


def run(python: Path, host: Path) -> int:
    """Leave `demo.wav` and `demo.json` in the checkout. 0 if the sentence was spoken and understood, else 1."""
    for old in (SOUND, REPORT):
        old.unlink(missing_ok=True)
    prompt = json.loads(PROMPT.read_text(encoding="utf-8"))
    environment = test_environment(host)
    comfy = Comfy(host, python, packs={"ComfyUI-Mizuoto": ROOT}, env=environment)
    try:
        say("starting ComfyUI ...")
        started = time.monotonic()
        comfy.start()
        say(f"ComfyUI is ready after {time.monotonic() - started:.1f} s; speaking ...")
        result = comfy.run(prompt)
        facts = _listen(python, environment, comfy, result, _spoken_text(prompt))
    except HostError as error:
        say(f"demo: failed: {error}")
        return 1
    finally:
        comfy.stop()
    return _conclude(facts, result)


def _spoken_text(prompt: dict[str, Any]) -> str:
    return next(node["inputs"]["text"] for node in prompt.values() if node["class_type"] == "MizuotoSpeak")


def _listen(python: Path, environment: dict[str, str], comfy: Comfy, result: Run, text: str) -> dict[str, Any]:
    (file,) = result.files()
    saved = comfy.base / "demo.flac"
    saved.write_bytes(comfy.view(file))
    command = [str(python), str(ROOT / "tests" / "listen.py"), str(saved), str(SOUND), text]
    heard = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    if heard.returncode:
        raise HostError(f"the recogniser could not hear the result:\n{heard.stderr}")
    return {"text": text, **json.loads(heard.stdout)}


def _conclude(facts: dict[str, Any], result: Run) -> int:
    (report,) = result.texts()
    whole = {**facts, "host_seconds": result.seconds, "report": json.loads(report)}
    REPORT.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"{SOUND}: {facts['seconds']:.2f} s at {facts['sample_rate']} Hz, made in {result.seconds:.2f} s")
    say(f"{REPORT}: the report")
    say(f"said:  {facts['text']}")
    say(f"heard: {facts['heard']}")
    good = facts["word_error_rate"] <= MAX_WORD_ERROR_RATE
    verdict = "understood" if good else "not understood"
    say(f"demo: {verdict} (word error rate {facts['word_error_rate']:.2f}, bar {MAX_WORD_ERROR_RATE:.2f})")
    return 0 if good else 1
