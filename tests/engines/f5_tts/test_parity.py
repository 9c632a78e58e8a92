"""Everything from text to sound against the upstream packages, under the same seed, bit for bit (CPU, float32)."""

import pytest
import torch
from mizuoto.tests.engines.f5_tts import models, oracle

WORDS = "This is the reference."
TEXTS = (
    "The cat sat on the mat, and then it ran.",
    "Short.",
    "3.14 off-key, äé; it's 'fine'!",
    "你好，世界 T恤。 Yes.",
)


def assert_same(folder, text, *, release="v1", seed=0, words=WORDS, architecture=(), recording=None, **values):
    """One chunk, from recording and text to mel and waveform."""
    recording = recording or {}
    model = models.load(folder)
    speaker = models.voice(model, words, **recording)
    codes = models.talk(model, text, speaker, seed=seed, **values)
    theirs = {"nfe_step": values.get("steps", models.STEPS), "cfg_strength": values.get("cfg", 2.0)}
    theirs |= {"sway_sampling_coef": values.get("sway", -1.0), "speed": values.get("speed", 1.0)}
    if "duration" in values:
        frames = int(speaker.tensors["num_samples"]) // 256
        theirs["fix_duration"] = values["duration"] + frames * 256 / 24000
    waveform, mel = oracle.speak(
        *oracle.load(folder, release, **dict(architecture)), models.reference(**recording),
        oracle.with_stop(words.strip()),
        [segment.text for segment in codes.segments], seed, **theirs,
    )  # fmt: skip
    assert torch.equal(torch.cat([segment.tensors["mel"] for segment in codes.segments]), mel)
    found = torch.cat(models.waveform(model, codes))
    assert torch.equal(found, waveform)
    assert 1e-3 < found.abs().max() < 100
    return codes


@pytest.mark.parametrize(("release", "name"), [("v1", "F5TTS_v1_Base"), ("v0", "F5TTS_Base")])
@pytest.mark.parametrize(("text", "seed"), list(zip(TEXTS, (0, 1, 2, 3), strict=True)))
def test_speech(checkpoint, release, name, text, seed):
    assert_same(checkpoint(name), text, release=release, seed=seed)


@pytest.mark.parametrize(
    "values",
    [
        {"steps": 32, "cfg": 3.5, "speed": 1.4},
        {"steps": 16, "sway": 0.0},
        {"steps": 3, "sway": 0.6},
        {"cfg": 0.0},
        {"cfg": 0.0, "version": "v0"},
        {"duration": 2.0},
        {"duration": 0.05},  # shorter than the text has symbols
    ],
    ids=str,
)
def test_options(checkpoint, values):
    text = TEXTS[0] if "duration" not in values else "a b c " * 12
    assert_same(checkpoint(), text, release=values.get("version", "v1"), seed=5, **values)


@pytest.mark.parametrize(
    ("words", "recording"),
    [
        ("hello", {"level": 0.02, "sample_rate": 44100}),
        ("你好。", {"seconds": 0.9, "sample_rate": 16000}),
        ("What?", {"level": 0.1}),
        ("All of this is said in it. " * 9, {"seconds": 11.9, "level": 0.05}),
    ],
    ids=str,
)
def test_recordings(checkpoint, words, recording):
    assert_same(checkpoint(), "Goodbye all.", words=words, seed=4, steps=5, recording=recording)


def test_a_text_that_is_long_for_its_reference(checkpoint):
    """Pieces share one stream of noise, in order."""
    text = "One, two. Three four five. " * 5
    codes = assert_same(checkpoint(), text, seed=6, words="Slow.", recording={"seconds": 1.2}, steps=2)
    assert len(codes.segments) == 2


def test_parts_that_no_official_model_has(checkpoint):
    folder = checkpoint("F5TTS_v1_Odd", has_head_norm=True, has_skip=True, padding="same")
    architecture = (("qk_norm", "rms_norm"), ("long_skip_connection", True))
    assert_same(folder, TEXTS[0], seed=8, architecture=architecture)


def test_a_training_checkpoint(checkpoint):
    folder = checkpoint("F5TTS_v1_Custom", file="model_last.pt")
    model = models.load(folder)
    expected = models.talk(models.load(checkpoint()), TEXTS[0], models.voice(model))
    found = models.talk(model, TEXTS[0], models.voice(model))
    assert torch.equal(found.segments[0].tensors["mel"], expected.segments[0].tensors["mel"])


def test_every_state_on_the_way(checkpoint):
    """Not only where it ends: a step that is off may be pulled back by the next ones."""
    folder = checkpoint()
    model, (upstream, _) = models.load(folder), oracle.load(folder)
    recording, states = models.reference(), []
    talker = model.handles[0].module
    hook = talker.register_forward_hook(lambda module, args, velocity: states.append(args[0].clone()))
    models.talk(model, TEXTS[0], models.voice(model), seed=9)
    hook.remove()
    words = f"{WORDS}  {TEXTS[0]}"
    with oracle.seeded(9):
        _, expected = upstream.sample(
            cond=recording.waveform, text=oracle.convert_char_to_pinyin([words]), duration=states[0].shape[1],
            steps=models.STEPS, cfg_strength=2.0, sway_sampling_coef=-1.0,
        )  # fmt: skip
    assert len(states) == models.STEPS
    assert all(torch.equal(one, other) for one, other in zip(states, expected[:-1], strict=True))


@pytest.mark.parametrize(("seconds", "steps", "seed"), [(0.0, 7, 1), (1.2, 32, 4), (0.3, 5, 9)])
def test_edit(checkpoint, seconds, steps, seed):
    folder = checkpoint()
    model, (upstream, vocoder) = models.load(folder), oracle.load(folder)
    start, end, text = 0.42, 1.44, "Some call me optimist."
    chosen = {"steps": steps, "edit_start": start, "edit_end": end, "edit_seconds": seconds}
    codes = models.talk(model, text, models.voice(model, seconds=2.2, level=0.05), seed=seed, **chosen)
    recording = models.reference(2.2, 0.05)
    level = recording.waveform.square().mean().sqrt()
    mel, kept = edited(upstream.mel_spec(recording.waveform * 0.1 / level).mT, start, end, seconds or end - start)
    with torch.inference_mode(), oracle.seeded(seed):
        expected, _ = upstream.sample(
            cond=mel, text=oracle.convert_char_to_pinyin([text]), duration=mel.shape[1], steps=steps, cfg_strength=2.0,
            sway_sampling_coef=-1.0, edit_mask=kept,
        )  # fmt: skip
        waveform = vocoder.decode(expected.mT) * level / 0.1
    assert torch.equal(codes.segments[0].tensors["mel"], expected[0])
    assert torch.equal(models.waveform(model, codes)[0], waveform[0])


def edited(mel, start, end, seconds):
    """What upstream's script, which cannot be imported, makes of a mel: blank frames, and where they are."""
    first, last, blank = (round(value * 24000 / 256) for value in (start, end, seconds))
    mel = torch.cat((mel[:, :first], torch.zeros(1, blank, 100), mel[:, last:]), dim=1)
    kept = torch.ones(mel.shape[:2], dtype=torch.bool)
    kept[:, first : first + blank] = False
    return mel, kept
