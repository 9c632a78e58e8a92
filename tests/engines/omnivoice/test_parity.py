"""Everything from recording and text to sound against the upstream package, bit for bit (CPU, float32)."""

import json

import pytest
import torch
from mizuoto.engines.omnivoice.attributes import CATEGORIES, resolved
from mizuoto.engines.omnivoice.chunks import chunks
from mizuoto.engines.omnivoice.duration import estimated_frames, text_weight
from mizuoto.engines.omnivoice.generation import Choices, generate
from mizuoto.engines.omnivoice.languages import LANGUAGES
from mizuoto.engines.omnivoice.prompt import PromptBuilder, Style, _joined, _pieces
from mizuoto.engines.omnivoice.voice import Reference, with_stop
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.mizuoto_runtime.text.bpe import ByteBpe
from mizuoto.tests.engines.omnivoice import cases, models


def assert_same(mine, theirs):
    assert mine.keys() == theirs.keys()
    differing = [name for name in mine if mine[name].dtype != theirs[name].dtype or not same(mine[name], theirs[name])]
    assert differing == []


def same(one, other):
    return torch.equal(one, other)


@pytest.mark.parametrize("length", cases.LENGTHS)
def test_encoding(model, upstream, length):
    encoder = models.part(model, "voice")
    waveform = cases.noise(length / cases.SAMPLE_RATE, length)[:length]
    hubert = encoder.hubert.encoder
    layers = {f"state.{n + 1}": layer for n, layer in enumerate(hubert.layers)}
    stages = {"semantic": encoder.semantic, "acoustic": encoder.acoustic, "joined": encoder.projection}
    with torch.inference_mode(), models.noted(**{"state.0": hubert.layer_norm}, **layers, **stages) as found:
        codes = encoder(waveform[None, None])[0]
    assert_same({**{name: out[0] for name, out in found.items()}, "codes": codes}, upstream[f"encode.{length}"])
    assert length < 9600 or len(codes.unique()) > 20


@pytest.mark.parametrize("frames", cases.FRAMES)
def test_decoding(model, upstream, frames):
    with torch.inference_mode():
        waveform = models.part(model, "codec")(cases.codes(frames)[None])[0, 0]
    assert_same({"waveform": waveform}, upstream[f"decode.{frames}"])
    assert waveform.shape == (frames * 960,) and 0.01 < waveform.abs().max() < 1.0


@pytest.mark.parametrize("name", cases.LOOPS)
def test_every_step(model, checkpoint, upstream, name):
    case, talker = cases.LOOPS[name], models.part(model, "talker")
    reference = None if case.reference is None else Reference(case.reference, case.words, 0.0)
    style = Style(case.language, case.attributes or "", case.options.get("denoise", True))
    prompt = PromptBuilder(talker.config, ByteBpe.from_folder(checkpoint))(case.text, reference, style, case.frames)
    with torch.inference_mode(), models.noted(step=talker) as found:
        generator = torch.Generator().manual_seed(case.seed)
        codes = generate(talker, prompt, choices(case.options), generator, models.CPU, lambda step: None)
    expected = upstream[f"loop.{name}"]
    mine = {f"cond.{n}": rows[0] for n, rows in enumerate(found["step"])}
    mine |= {f"blank.{n}": rows[1] for n, rows in enumerate(found["step"]) if len(rows) > 1}
    # What is not needed is not computed: the second row without guidance, steps that fix nothing.
    assert len(found["step"]) == talker_steps(case)
    assert_same({**mine, "codes": codes}, {key: expected[key] for key in [*mine, "codes"]})
    assert len(codes.unique()) > min(4, case.frames)


def choices(options):
    given = {"num_step": 6, **options}
    return Choices(
        steps=given["num_step"],
        guidance=given.get("guidance_scale", 2.0),
        t_shift=given.get("t_shift", 0.1),
        layer_penalty=given.get("layer_penalty_factor", 5.0),
        position_temperature=given.get("position_temperature", 5.0),
        class_temperature=given.get("class_temperature", 0.0),
    )


def talker_steps(case):
    return min(8, 16) if case.frames == 1 else choices(case.options).steps


@pytest.mark.parametrize("name", cases.SAYS)
def test_whole_requests(model, upstream, name):
    case, expected = cases.SAYS[name], upstream[f"say.{name}"]
    voice, found = None, {}
    if case.recording is not None:
        voice = models.clone(model, case.recording, case.words, case.rate)
        found |= {"voice": voice.tensors["codes"], "level": voice.tensors["level"]}
    asked = {key: getattr(case, key) for key in ("speed", "seconds", "cut_silence", "steps", "attributes")}
    asked |= {"chunk_seconds": case.chunk_seconds, "chunk_from_seconds": case.chunk_from_seconds}
    segment, waveform = models.say(model, case.text, voice, seed=case.seed, language=case.language or "auto", **asked)
    parts = segment.tensors["codes"].split(segment.tensors["lengths"].tolist(), dim=1)
    found |= {f"chunk.{n}": codes for n, codes in enumerate(parts)}
    assert_same({**found, "waveform": waveform}, expected)
    assert (len(parts) > 1) == name.startswith("long")


@pytest.fixture(scope="module")
def rules(upstream):
    return json.loads(bytes(upstream["rules"]["json"].numpy()))


def test_texts_are_weighed_and_cut_alike(rules, checkpoint):
    bpe = ByteBpe.from_folder(checkpoint)
    assert [text_weight(text) for text in cases.TEXTS] == rules["weights"]
    assert [
        [estimated_frames(text, words or "", count or 0, speed) for text in cases.TEXTS]
        for words, count, speed in cases.REFERENCES
    ] == rules["frames"]
    assert [[chunks(text, size) for text in cases.TEXTS] for size in cases.SIZES] == rules["chunks"]
    assert [with_stop(text) for text in cases.TEXTS] == rules["stops"]
    assert [_joined(text, words or "") for text in cases.TEXTS for words, _, _ in cases.REFERENCES] == rules["joined"]
    assert [[number for piece in _pieces(text) for number in bpe.encode(piece)] for text in cases.TEXTS] == rules["ids"]


def test_languages_and_attributes_are_theirs(rules):
    assert {name.lower(): tag for tag, name in LANGUAGES.items()} == rules["languages"]
    assert (
        sorted(word for pairs in CATEGORIES.values() for pair in pairs for word in pair if word)
        == (rules["categories"])
    )
    assert [[attributes(text, words) for words in ("hi", "你好")] for text in cases.DESCRIPTIONS] == [
        [found or "" for found in row] for row in rules["attributes"]
    ]


def attributes(description, text):
    try:
        return resolved(description, text)
    except InvalidRequest:
        return "refused"
