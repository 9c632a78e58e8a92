"""Defaults of the publisher, the user's values, and what a checkpoint was not trained for."""

import json
import shutil
from dataclasses import replace

import pytest
from mizuoto.engines.base import Options
from mizuoto.engines.qwen3_tts.config import CheckpointConfig
from mizuoto.engines.qwen3_tts.options import choices_for, instruction_of, is_streamed, manifest_of
from mizuoto.engines.qwen3_tts.prompt import PromptBuilder, Voice
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.text.bpe import ByteBpe
from mizuoto.tests.engines.qwen3_tts import models


@pytest.fixture
def config(checkpoint):
    return lambda kind="custom_voice", size="1b7": CheckpointConfig.read(checkpoint(kind, size))


@pytest.fixture
def prompt_of(checkpoint, config):
    build = PromptBuilder(config(), ByteBpe.from_folder(checkpoint("custom_voice")))
    return lambda text: build(text, Voice(speaker="ryan"), "Auto", "", False)


def resolved(config, **values):
    return manifest_of(config).resolve(Options("qwen3_tts", values))


def published(config, **values):
    return replace(config, generation={**config.generation, **values})


def test_defaults_are_the_publishers(config):
    defaults = resolved(published(config(), temperature=0.7, top_k=20, subtalker_top_p=0.8, repetition_penalty=1.1))
    chosen = ("temperature", "top_k", "subtalker_top_p", "repetition_penalty", "subtalker_top_k")
    assert [defaults[name] for name in chosen] == [0.7, 20, 0.8, 1.1, 50]


def test_what_is_not_sampled_is_greedy(config):
    defaults = resolved(published(config(), do_sample=False))
    assert (defaults["temperature"], defaults["subtalker_temperature"]) == (0.0, 0.9)
    defaults = resolved(replace(config(), generation={"subtalker_dosample": False}))
    assert (defaults["temperature"], defaults["subtalker_temperature"]) == (0.9, 0.0)


def test_defaults_stay_within_the_ranges(config):
    assert resolved(published(config(), temperature=9.0))["temperature"] == 2.0


def test_the_users_values_win(config, prompt_of):
    generous = published(config(), temperature=0.7)
    choices = choices_for(resolved(generous, temperature=1.5, subtalker_top_k=3), [prompt_of("Hi.")], generous)
    assert (choices.first.temperature, choices.first.top_k, choices.first.repetition_penalty) == (1.5, 50, 1.05)
    assert (choices.later.temperature, choices.later.top_k, choices.later.repetition_penalty) == (0.9, 3, 1.0)


def test_the_publishers_limit_counts_until_the_user_sets_one(config, prompt_of):  # P30
    limited = replace(config(), max_frames=30)
    assert list(choices_for(resolved(limited), [prompt_of("Hello there")], limited).budgets) == [30]
    chosen = resolved(limited, max_seconds=100.0)
    assert list(choices_for(chosen, [prompt_of("Hello there")], limited).budgets) == [1250]


def test_the_publishers_limit_is_read(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("voice_design", "0b6"), tmp_path / "model")
    (folder / "generation_config.json").write_text(json.dumps({"max_new_tokens": 31}))
    assert CheckpointConfig.read(folder).max_frames == 30
    (folder / "generation_config.json").write_text("{}")
    assert CheckpointConfig.read(folder).max_frames == 8191


def test_more_than_the_model_has_positions_for_is_refused(config, prompt_of):  # P35
    prompt = prompt_of("word " * 100)
    large = config()
    small = replace(large, talker=replace(large.talker, max_positions=prompt.num_positions + 49))
    with pytest.raises(InvalidRequest, match=r"takes \d+ positions .* up to 50 to say, and it has \d+; shorten"):
        choices_for(resolved(small, max_seconds=4.0), [prompt_of("Hi."), prompt], small)
    assert list(choices_for(resolved(small, max_seconds=3.92), [prompt], small).budgets) == [49]


@pytest.mark.parametrize(("kind", "size"), [("base", "1b7"), ("custom_voice", "0b6")])
def test_instructions_that_cannot_be_followed_are_refused(config, kind, size):
    with pytest.raises(Unsupported, match=f"This Qwen3-TTS {kind} model follows no instruction; empty that option"):
        instruction_of(resolved(config(kind, size), instruction="sad"), "", config(kind, size))
    assert instruction_of(resolved(config(kind, size), instruction=" "), "", config(kind, size)) == ""


def test_instructions_that_can_be_followed(config):
    assert instruction_of(resolved(config(), instruction=" sad "), "", config()) == "sad"
    for size in ("0b6", "1b7"):
        design = config("voice_design", size)
        assert instruction_of(resolved(design, instruction="sad"), "old", design) == "old sad"


def test_the_upstream_reads_along_for_cloned_voices_only(config):
    for kind in ("base", "custom_voice", "voice_design"):
        chosen = [is_streamed(resolved(config(kind), text_mode=mode), config(kind)) for mode in ("whole", "streamed")]
        assert chosen == [False, True]
        assert is_streamed(resolved(config(kind)), config(kind)) == (kind == "base")


def test_each_kind_has_its_tasks_and_voices(config):
    assert manifest_of(config("base")).tasks == ("tts", "clone")
    assert manifest_of(config("voice_design")).tasks == ("tts", "design")
    assert manifest_of(config("base")).voices == manifest_of(config("voice_design")).voices == ()
    manifest = manifest_of(config())
    assert manifest.tasks == ("tts",)
    assert manifest.voices[:3] == ("Vivian", "Serena", "Uncle_Fu")


def test_unknown_languages_name_the_close_ones(config):
    with pytest.raises(InvalidRequest, match=r'Option "language" is "Germn".*Did you mean .*German'):
        resolved(config(), language="Germn")
    few = replace(config(), languages={"english": 3})
    with pytest.raises(InvalidRequest, match='This checkpoint does not speak "German"; it speaks english'):
        few.language_id("German", "")


def test_dialects_are_the_speakers_own(config):
    presets = config()
    ids = presets.languages
    assert presets.language_id("Auto", "ryan") is None
    assert presets.language_id("CHINESE", "ryan") == ids["chinese"]
    assert presets.language_id("Auto", "eric") == presets.language_id("Chinese", "eric") == ids["sichuan_dialect"]
    assert presets.language_id("Chinese", "dylan") == ids["beijing_dialect"]
    assert presets.language_id("English", "dylan") == ids["english"]
    with pytest.raises(InvalidRequest, match="does not speak"):
        presets.language_id("beijing_dialect", "ryan")


def test_an_instruction_changes_what_is_said(checkpoint):
    model = models.load(checkpoint("custom_voice"))
    plain, sad = (models.say(model, "Hi.", seed=1, instruction=words) for words in ("", "sad"))
    assert not plain.equal(sad)
