"""The engine as nodes use it: voices of three kinds, options, bad input, cancelling."""

import pytest
import torch
from mizuoto.engines import speech
from mizuoto.engines.artifacts import Codes, Segment, VoicePrompt
from mizuoto.engines.base import Options
from mizuoto.engines.omnivoice.attributes import CATEGORIES
from mizuoto.engines.omnivoice.generation import schedule
from mizuoto.engines.omnivoice.languages import LANGUAGES, language_tag
from mizuoto.engines.omnivoice.manifest import MANIFEST
from mizuoto.engines.omnivoice.prompt import NONVERBAL, Style
from mizuoto.engines.omnivoice.workload import talker_bytes
from mizuoto.engines.voices import design_voice, preset_voice
from mizuoto.mizuoto_runtime.errors import Cancelled, EngineError, InvalidRequest
from mizuoto.mizuoto_runtime.text.languages import NAMES
from mizuoto.tests.engines.omnivoice import cases, models

FAST = {"steps": 3, "seconds": 0.4}


@pytest.fixture(scope="module")
def voice(model):
    return models.clone(model, cases.noise(1.0, 1), "one two")


def design(model, description):
    return design_voice(model, description, models.RUNTIME.context())


def test_the_licence_of_the_weights_is_told():
    assert MANIFEST.weights_license == "CC-BY-NC-4.0" and MANIFEST.code_license == "Apache-2.0"


def test_a_designed_voice_is_its_attributes(model):
    voice = design(model, "Female , low pitch")
    assert voice.facts == {"attributes": "female, low pitch"} and not voice.tensors
    said = models.say(model, "Hello.", voice, **FAST)[1]
    assert torch.equal(said, models.say(model, "Hello.", attributes="female, low pitch", **FAST)[1])
    assert not torch.equal(said, models.say(model, "Hello.", **FAST)[1])


def test_attributes_of_a_voice_and_of_a_request_add_up(model, voice):
    both = models.say(model, "Hello.", design(model, "male"), attributes="whisper", **FAST)[1]
    assert torch.equal(both, models.say(model, "Hello.", attributes="male, whisper", **FAST)[1])
    with pytest.raises(InvalidRequest, match=r"one gender only, and there are several: male, female\. Leave one"):
        models.say(model, "Hello.", design(model, "male"), attributes="female", **FAST)
    plain, whispered = (models.say(model, "Hello.", voice, attributes=a, **FAST)[1] for a in ("", "whisper"))
    assert not torch.equal(plain, whispered)


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("femal", r'"femal" is no attribute .* Did you mean "female"\?'),
        ("male, brittish accent", 'Did you mean "british accent"'),
        ("deep and warm", "takes, between commas, at most one of each: gender"),
        ("四川话, indian accent", "dialect and an accent"),
        ("low pitch, high pitch", "one pitch only"),
    ],
)
def test_a_wrong_attribute_is_told_at_once(model, description, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        design(model, description)


def test_languages_by_name_tag_and_region():
    assert len(LANGUAGES) == 646 and set(LANGUAGES) == set(MANIFEST.languages)
    asked = {"German": "de", "zh-TW": "zh", " yue ": "yue", "farsi": "fa", "Arabic": "arb", "tl": "fil", "EN": "en"}
    assert {name: language_tag(name) for name in asked} == asked
    assert {language_tag(name) for name in ("", "auto", "None", "AUTO")} == {None}
    unknown = [name for name in NAMES.values() if name.casefold() not in KNOWN]
    assert sorted(unknown) == ["Faroese", "Latin", "Sundanese"]  # of what the pack knows elsewhere


KNOWN = set()
for _name in NAMES.values():
    try:
        language_tag(_name)
    except InvalidRequest:
        continue
    KNOWN.add(_name.casefold())


def test_an_unknown_language_gets_its_near_matches(model):
    with pytest.raises(InvalidRequest, match=r'"Germen" is none of the 646 languages .* mean "German" or'):
        models.say(model, "Hello.", language="Germen", **FAST)
    with pytest.raises(InvalidRequest, match=r'a tag or "auto"\.$'):
        models.say(model, "Hello.", language="qqqqq", **FAST)


def test_sounds_that_are_no_words_reach_the_model_as_one_piece(model):
    assert len(NONVERBAL) == 13
    said = [models.say(model, f"Well {tag} yes.", **FAST)[1] for tag in ("[sigh]", "[laughter]", "[sigh]")]
    assert torch.equal(said[0], said[2]) and not torch.equal(said[0], said[1])


def test_speed_and_seconds_decide_the_length(model, voice):
    def frames(**values):
        return (
            models.say(model, "A text of some words, and more.", voice, steps=2, **values)[0].tensors["codes"].shape[1]
        )

    assert frames(speed=2.0) == int(frames() / 2) and frames(seconds=1.0) == frames(seconds=1.0, speed=3.0) == 25


def test_a_long_text_without_a_voice_keeps_the_first_one(model):
    with models.noted(talker=models.part(model, "talker")) as found:
        segment = models.say(model, cases.LONG, chunk_seconds=1.0, chunk_from_seconds=2.0, steps=2)[0]
    lengths = segment.tensors["lengths"].tolist()
    assert len(lengths) > 3 and sum(lengths) == segment.tensors["codes"].shape[1]
    assert len(found["talker"]) == 2 * len(lengths) and "level" not in segment.tensors


@pytest.mark.parametrize("described", [None, "female, whisper"])
def test_a_text_with_pauses_keeps_the_voice_that_the_model_invents(model, described):
    voice, values = described and design(model, described), {"steps": 3, "class_temperature": 1.0}
    codes = speech.talk(model, "One two. [pause:1s] Three.", voice, models.options(**values), models.RUNTIME.context(5))
    first, _, second = codes.segments
    facts = {**(voice.facts if voice else {}), "transcript": "One two.", "invented": "yes"}
    level = torch.zeros(1, dtype=torch.float64)
    kept = VoicePrompt("omnivoice", "x", {"codes": first.tensors["codes"], "level": level}, facts)
    alone = models.say(model, "Three.", kept, seed=second.seed, **values)[0]
    assert torch.equal(alone.tensors["codes"], second.tensors["codes"])
    assert not torch.equal(second.tensors["codes"], models.say(model, "Three.", voice, seed=second.seed, **values)[0]
                           .tensors["codes"])  # fmt: skip
    assert "level" not in second.tensors  # as loud as the first


def test_what_a_long_segment_invents_is_its_first_chunk(model):
    values = {"chunk_seconds": 1.0, "chunk_from_seconds": 2.0, "steps": 2}
    with torch.inference_mode():
        resolved = MANIFEST.resolve(models.options(**values))
        codes = model.talk(cases.LONG, None, resolved, models.RUNTIME.context(5))
        voice = model.voice_from(codes, None, resolved)
    tensors = codes.segments[0].tensors
    assert torch.equal(voice.tensors["codes"], tensors["codes"][:, : tensors["lengths"][0]])
    assert cases.LONG.startswith(voice.facts["transcript"]) and len(voice.facts["transcript"]) < len(cases.LONG) / 2


DAMAGES = {
    "no codes": {"codes": None},
    "no lengths": {"lengths": None},
    "other lengths": {"lengths": torch.tensor([3])},
    "an empty chunk": {"lengths": torch.tensor([0, 10])},
    "no chunk": {"lengths": torch.zeros(0, dtype=torch.int64)},
    "one length": {"lengths": torch.tensor(10)},
    "numbers": {"codes": torch.zeros(8, 10)},
    "a row": {"codes": torch.zeros(10, dtype=torch.int64)},
    "no level": {"level": torch.tensor([torch.nan])},
    "two levels": {"level": torch.ones(2)},
}


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_damaged_codes_are_refused(model, change):
    segment = models.say(model, "Hello.", **FAST)[0]
    assert segment.tensors["lengths"].tolist() == [10]
    tensors = {name: tensor for name, tensor in {**segment.tensors, **change}.items() if tensor is not None}
    damaged = Codes("omnivoice", 24000, (Segment("Hello.", 0, tensors),))
    with pytest.raises(InvalidRequest, match="The codes are damaged, or of another kind of model"):
        speech.decode(model, damaged, models.RUNTIME.context())


def test_codes_are_whole_when_saved(model, voice, tmp_path):
    codes = speech.talk(model, "Hello.", voice, models.options(**FAST), models.RUNTIME.context(5))
    codes.save(tmp_path / "codes.safetensors")
    voice.save(tmp_path / "voice.safetensors")
    again = Codes.load(tmp_path / "codes.safetensors")
    sounds = [speech.decode(model, each, models.RUNTIME.context()).waveform for each in (codes, again)]
    assert torch.equal(*sounds)
    loaded = VoicePrompt.load(tmp_path / "voice.safetensors")
    assert torch.equal(models.say(model, "Hello.", loaded, seed=5, **FAST)[1], sounds[0][0])


def test_a_long_reference_whose_kept_part_is_silent_is_refused(model):
    late = torch.cat((torch.zeros(16 * 24000), cases.noise(5.0)))
    with pytest.raises(InvalidRequest, match="begins with nothing but silence; cut that off"):
        models.clone(model, late, None)


def test_the_report_tells_what_makes_a_reference_worse(model):
    ctx = models.RUNTIME.context()
    recording = models.Audio(cases.noise(21.0)[None], 24000)
    models.clone_voice(model, recording, "a", "", ctx)
    assert [warning["code"] for warning in ctx.report.warnings] == ["long_reference"]
    voice = models.clone_voice(model, recording, None, "", ctx)
    assert [warning["code"] for warning in ctx.report.warnings] == ["long_reference", "no_transcript"]
    assert voice.tensors["codes"].shape[1] == 15 * 25 and voice.facts == {}


@pytest.mark.parametrize(
    "change",
    [
        {"codes": torch.full((8, 3), 32)},
        {"codes": torch.full((8, 3), -1)},
        {"codes": torch.zeros(8, 3)},
        {"codes": torch.zeros(8, 0, dtype=torch.int64)},
        {"level": torch.tensor([float("nan")])},
        {"level": torch.zeros(2)},
    ],
)
def test_a_damaged_voice_is_refused(model, voice, change):
    damaged = VoicePrompt("omnivoice", "x", {**voice.tensors, **change})
    with pytest.raises(InvalidRequest, match='"x" is damaged'):
        models.say(model, "Hello.", damaged, **FAST)


def test_a_voice_of_another_shape_is_refused(model, voice):
    other = VoicePrompt("omnivoice", "x", {**voice.tensors, "codes": voice.tensors["codes"][:4]})
    with pytest.raises(InvalidRequest, match="another OmniVoice model"):
        models.say(model, "Hello.", other, **FAST)
    with pytest.raises(InvalidRequest, match="connect a Voice Prompt or Design Voice node"):
        preset_voice(model.manifest, "nobody")


def test_codes_of_another_codec_are_refused(model):
    codec = models.part(model, "codec")
    for codes, sentence in ((cases.codes(2)[:4], "2 frames of 4"), (cases.codes(2) + 32, "beyond the codec's 32")):
        with pytest.raises(InvalidRequest, match=sentence):
            codec(codes[None])


def test_too_much_for_the_model_is_told_before_it_starts(model):
    with pytest.raises(InvalidRequest, match=r"positions of the model, and it has 4096; shorten"):
        models.say(model, "Hello.", seconds=200.0, chunk_from_seconds=120.0, steps=1)


def test_numbers_that_overflow_are_an_error(model):
    def broken(module, arguments, output):
        return [torch.full_like(row, float("nan")) for row in output]

    hook = models.part(model, "talker").register_forward_hook(broken)
    try:
        with pytest.raises(EngineError, match="overflowed"):
            models.say(model, "Hello.", **FAST)
    finally:
        hook.remove()


def test_cancelling_ends_it_within_a_step(model):
    ctx = models.RUNTIME.context()
    talker = models.part(model, "talker")
    steps = []

    def count(*call):
        steps.append(1)
        if len(steps) == 2:
            ctx.cancelled.set()

    hook = talker.register_forward_hook(count)
    try:
        with pytest.raises(Cancelled):
            models.say(model, "Hello.", ctx=ctx, steps=32)
    finally:
        hook.remove()
    assert len(steps) == 2


def test_a_schedule_fixes_every_code_once():
    for total, steps, shift in ((8, 32, 0.1), (800, 32, 0.1), (8000, 1, 1.0), (5, 7, 0.5)):
        counts = schedule(total, steps, shift)
        assert len(counts) == steps and sum(counts) == total and min(counts) >= 0


def test_estimates_grow_with_the_request(model):
    prompt, longer = (model._prompt("Hello.", None, Style(), frames) for frames in (100, 200))
    config = model._config
    assert 0 < talker_bytes(config, prompt, 1, False, 4) < talker_bytes(config, prompt, 2, False, 4)
    assert talker_bytes(config, prompt, 2, True, 4) < talker_bytes(config, longer, 2, True, 4)


def test_options_of_another_engine_are_refused(model):
    with pytest.raises(InvalidRequest, match="connect OmniVoice Options"):
        speech.talk(model, "Hello.", None, Options("hibari"), models.RUNTIME.context())


def test_the_help_page_lists_every_attribute_and_sound():
    page = (models.ROOT / "web" / "docs" / "MizuotoOmnivoiceOptions.md").read_text(encoding="utf-8")
    words = [word for pairs in CATEGORIES.values() for pair in pairs for word in pair if word]
    assert [word for word in (*words, *NONVERBAL) if word.removesuffix(" accent").removesuffix("话") not in page] == []
