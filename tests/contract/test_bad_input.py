"""What users get wrong, asked of every engine: one sentence each that says what to change, never a traceback."""

import re
import shutil

import pytest
import torch
from mizuoto import engines
from mizuoto.engines import speech
from mizuoto.engines.artifacts import VoicePrompt
from mizuoto.engines.base import LoadSpec, Options
from mizuoto.engines.listening import check_language
from mizuoto.engines.voices import clone_voice
from mizuoto.mizuoto_runtime.audio import Audio
from mizuoto.mizuoto_runtime.device import CPU
from mizuoto.mizuoto_runtime.errors import InvalidRequest, MizuotoError, ModelFileError, Unsupported
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager
from mizuoto.mizuoto_runtime.runtime import Runtime
from mizuoto.tests.contract import subjects
from mizuoto.tests.contract.card import Card

REMEDIES = re.compile(
    r"\b(it has|its range|choose|connect|copy|cut|download|empty|give|install|keep|leave|load|make|mean|must be|raise|"
    r"record|remove|repair|set|shorten|switch|takes|try|type|use|write)\b",
    re.I,
)
DAMAGES = {"missing": lambda data: None, "cut": lambda data: data[: len(data) // 2], "a list": lambda data: b"[1]"}
RATE = 22050


def flaw(error):
    """Why an error is not one clear sentence; "" if it is."""
    text = str(error)
    if not isinstance(error, MizuotoError):
        return f"{type(error).__name__}: {text}"
    text = re.sub(r"\(\w+Error\)", "", text)  # of what was tried, for those who know
    is_sentence = re.fullmatch(r'(["A-Z]|[a-z_]+ (is|has) ).*[.?]', text) and len(text) < 1200 and "Error" not in text
    return "" if is_sentence and REMEDIES.search(text) else text


@pytest.fixture(scope="module", params=list(engines.manifests()))
def name(request):
    """Of a registered engine: what is wrong with made-up ones bothers nobody."""
    return request.param


@pytest.fixture(scope="module")
def model(subject):
    card = Card(None, MemoryManager)
    return card, card.load(subject)


@pytest.fixture
def engine(model):
    return model[1]


@pytest.fixture
def ctx(model):
    return model[0].runtime.context(0)


def told(call, *kinds):
    """The sentence of a request that must fail with one of `kinds`."""
    with pytest.raises(kinds or InvalidRequest) as caught:
        call()
    assert flaw(caught.value) == ""
    return str(caught.value)


def require(engine, task):
    if task not in engine.manifest.tasks:
        pytest.skip(f"its tasks are {engine.manifest.tasks}")


def recording(seconds, level=0.3):
    return Audio(level * torch.sin(torch.arange(round(seconds * RATE)) / 20)[None], RATE)


def test_references_outside_the_limits(engine, ctx):  # P54, P55, P59
    require(engine, "clone")
    shortest, longest = engine.manifest.reference_seconds
    assert 0 < shortest < longest <= 120

    def say(reference):
        return told(lambda: clone_voice(engine, reference, "One.", "", ctx))

    for seconds in (0.0, shortest - 0.1, longest + 0.1):
        assert f"is {seconds:.1f} s long and {engine.manifest.name} takes {shortest:g} to {longest:g} s" in say(
            recording(seconds)
        )
    assert "is silent" in say(recording(shortest + 0.5, level=0.0))
    for bad in (torch.nan, torch.inf):
        spoilt = recording(shortest + 0.5)
        spoilt.waveform[0, 100] = bad
        assert "no numbers (NaN or infinite)" in say(spoilt)


def test_the_words_of_a_reference_are_asked_for_where_they_are_needed(engine, ctx):
    require(engine, "clone")
    reference = recording(engine.manifest.reference_seconds[0] + 0.1)
    for words in (None, "", " \n"):
        if engine.manifest.transcript == "needed":
            assert '"transcript"' in told(lambda words=words: clone_voice(engine, reference, words, "", ctx))
        else:
            clone_voice(engine, reference, words, "", ctx)


def test_texts_that_are_nearly_nothing(subject, engine, ctx):  # P29, P36
    require(engine, "tts")
    voice = subjects.voice_for(engine, ctx)
    options = subject.requests()[0][1]
    for text in ("", "\n", "...", "\u3002\u3001", "\U0001f642"):
        told(lambda text=text: speech.talk(engine, text, voice, options, ctx))
    for text in ("a", "2", "1\u6b21", "<|endoftext|> hm", "[laugh] \u00e9\u0301 \U0001f642"):
        try:
            assert speech.speak(engine, text, voice, options, ctx).waveform.isfinite().all()
        except (InvalidRequest, Unsupported) as error:
            assert flaw(error) == "", text


def test_no_segment_is_longer_than_the_engine_takes(subject):  # P39
    manifest = subject.engine.manifest
    if not subject.speaks:
        pytest.skip("it does not speak")
    for text in ("a" * 5000, "\u4e00" * 3000, "word " * 1000, "3" * 2000, "Dr. e.g. 3.14 " * 200):
        plan = speech.plan_text(text, manifest)
        assert all(manifest.measure_text(line.text) <= manifest.max_text_size for line in plan.lines)


def test_languages_that_are_slips_get_their_near_matches(subject, engine, ctx):
    manifest = subject.engine.manifest
    if "asr" in manifest.tasks:
        assert "Did you mean" in told(lambda: check_language(manifest, "enn"))
        return
    option = next((each for each in manifest.options if each.name == "language"), None)
    if option is None:
        pytest.skip("it has no option for a language")
    known = next(choice for choice in (*option.choices, "English") if "English" in choice)
    slip = Options(manifest.id, {"language": known.replace("Eng", "Egn")})
    voice = subjects.voice_for(engine, ctx)
    assert f'Did you mean "{known}"' in told(lambda: speech.talk(engine, "One.", voice, slip, ctx))


def test_options_that_make_no_sense(subject, engine, ctx):
    manifest = subject.engine.manifest
    names = told(lambda: manifest.resolve(Options(manifest.id, {"no_such": 1})))
    assert all(option.name in names for option in manifest.options)
    assert f"connect {manifest.name} Options" in told(lambda: manifest.resolve(Options("other")))
    for option in manifest.options:
        if type(option.default) in (int, float):
            for value in (option.low - 1, option.high + 1, float("nan")):
                told(lambda option=option, value=value: option.check(value))
        told(lambda option=option: option.check([]))
    if subject.speaks:
        voice, usual = subjects.voice_for(engine, ctx), subject.requests()[0][1].values
        for option in manifest.options:
            if isinstance(option.default, str):
                chosen = Options(manifest.id, {**usual, option.name: "../no such"})
                try:
                    speech.talk(engine, "One.", voice, chosen, ctx)
                except (InvalidRequest, Unsupported) as error:
                    assert flaw(error) == ""


def test_voices_that_are_none_of_its_own(engine, ctx):
    require(engine, "tts")
    manifest = engine.manifest
    for voice in (VoicePrompt("other", "x"), VoicePrompt(manifest.id, "nobody", {"junk": torch.zeros(3)})):
        told(lambda voice=voice: speech.talk(engine, "One.", voice, None, ctx))


def load_flaw(engine, folder, *names):
    """Why an attempt to load is neither a success nor one clear sentence with one of `names`; "" if it is."""
    try:
        with torch.inference_mode(False):
            engine.load(LoadSpec(engine.manifest.id, folder, CPU, torch.float32), Runtime())
    except ModelFileError as error:
        return flaw(error) or ("" if any(name in str(error) for name in names) else f"{names} not in: {error}")
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        return f"{type(error).__name__}: {error}"
    return "" if not names else "loaded"


def test_damaged_checkpoints(subject, tmp_path):
    """Every file of a folder; those that load all the same can be done without, or are read later."""
    shutil.copytree(subject.folder, tmp_path / "model")
    files = [path for path in sorted((tmp_path / "model").rglob("*")) if path.is_file()]
    found, failed = {}, set()
    for path in files:
        data = path.read_bytes()
        for damage in list(DAMAGES) if path.suffix == ".json" else ("missing", "cut"):
            path.unlink()
            if (content := DAMAGES[damage](data)) is not None:
                path.write_bytes(content)
            problem = load_flaw(subject.engine, tmp_path / "model", path.name, path.stem, path.parent.name)
            failed |= {path.name} if problem != "loaded" else set()
            if problem not in ("", "loaded"):
                found[f"{path.name} {damage}"] = problem
            path.write_bytes(data)
    assert found == {}
    assert len(failed) >= 1


def test_checkpoints_of_other_engines(find, subject, tmp_path):
    others = [find(other) for other in subjects.NAMES if other not in (subject.engine.manifest.id, *subjects.MADE_UP)]
    found = {other.engine.manifest.id: load_flaw(subject.engine, other.folder, "") for other in others}
    assert {name: problem for name, problem in found.items() if problem} == {}
    (tmp_path / "empty").mkdir()
    assert load_flaw(subject.engine, tmp_path / "empty", "") == ""


@pytest.mark.parametrize(
    "error", [KeyError("x"), InvalidRequest("bad"), InvalidRequest("A KeyError came; use another."), Unsupported("No.")]
)
def test_flaws_are_seen(error):
    assert flaw(error) != ""
    assert flaw(InvalidRequest("The text is empty, so there is nothing to say; type a text with words.")) == ""
