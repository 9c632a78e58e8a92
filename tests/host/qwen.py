"""Tiny Qwen3-TTS checkpoints for a host, whole and broken, and API prompts that use them."""

import json
import shutil
import time
from pathlib import Path

import pytest
from mizuoto.tests.engines.qwen3_tts import tiny
from mizuoto.tests.host.comfy import NodeError
from mizuoto.tests.host.graphs import load, node, save, sound, speak

CLIPS = Path(__file__).resolve().parents[1] / "data" / "speech"
CLIP = "austen-0880.wav"
WORDS = "he was not an ill disposed young man"
TEXT = "The cat sat on the mat."
SECONDS = 0.4  # five frames: the weights are random, so a take ends sooner by chance only
FOLDERS = {kind: f"tiny {kind}" for kind in tiny.KINDS}
BASE, PRESETS, DESIGN = (FOLDERS[kind] for kind in tiny.KINDS)
LARGE = {"large base": "base", "large presets": "custom_voice"}
BROKEN = ("no shard", "cut off", "other architecture", "25 Hz", "no tokenizer")


def install(comfy):
    """Put the checkpoints into the host's models folder, and a recording into its input folder."""
    root = comfy.base / "models" / "tts"
    for kind, name in FOLDERS.items():
        tiny.build(root / name, kind)
    for name, kind in LARGE.items():
        tiny.build(root / name, kind, size="1b7")
    tiny.build(root / "no shard", "base", shards=2)
    (root / "no shard" / "model-00002-of-00002.safetensors").unlink()
    for name in BROKEN[1:]:
        shutil.copytree(root / BASE, root / name)
    weights = root / "cut off" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    _edit(root / "other architecture" / "config.json", tts_model_type="singer")
    _edit(root / "25 Hz" / "config.json", tokenizer_type="qwen3_tts_tokenizer_25hz")
    shutil.rmtree(root / "no tokenizer" / "speech_tokenizer")
    shutil.copy(CLIPS / CLIP, comfy.base / "input")
    time.sleep(2.1)  # the list of folders is kept for two seconds


def _edit(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def options(seconds=SECONDS, **values):
    return node("options", "MizuotoQwen3TtsOptions", max_seconds=seconds, **values)


def clip():
    return node("clip", "LoadAudio", audio=CLIP)


def clone(**inputs):
    return clip() | node("voice", "MizuotoVoicePrompt", model=["load", 0], audio=["clip", 0], **inputs)


def preset(name):
    return node("voice", "MizuotoPresetVoice", model=["load", 0], name=name)


def design(description):
    return node("voice", "MizuotoDesignVoice", model=["load", 0], description=description)


def said(model, voice=None, text=TEXT, seed=0, **values):
    """Load, make the voice if there is one, speak, save."""
    links = {"options": ["options", 0]} | ({"voice": ["voice", 0]} if voice else {})
    return load(model) | (voice or {}) | options(**values) | speak(text, seed, **links) | save(["speak", 0])


def in_phases(model, voice=None, text=TEXT, seed=0, **values):
    """The same with a Talker and a Codec Decoder; `text` may be a link."""
    links = {"options": ["options", 0]} | ({"voice": ["voice", 0]} if voice else {})
    return (
        load(model) | (voice or {}) | options(**values)
        | node("talk", "MizuotoTalker", model=["load", 0], text=text, seed=seed, **links)
        | node("decode", "MizuotoCodecDecoder", model=["load", 0], codes=["talk", 0])
        | save(["decode", 0])
    )  # fmt: skip


def heard(comfy, prompt):
    return sound(comfy, comfy.run(prompt))


def refusal(comfy, prompt, at):
    """What the node `at` says, to a prompt that it must refuse while it runs."""
    with pytest.raises(NodeError) as caught:
        comfy.run(prompt)
    assert caught.value.node_id == at, caught.value
    return caught.value.message
