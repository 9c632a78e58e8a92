import math

import pytest
from mizuoto.engines.base import Option, Options, require_task
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.tests.engines.dummy import MANIFEST

GAIN, STEPS, SHAPE, ECHO = MANIFEST.options
NAME = Option("name", "x", "Anything.")


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (GAIN, 0, 0.0),
        (GAIN, 1.0, 1.0),
        (STEPS, 8, 8),
        (STEPS, 3.0, 3),  # JSON and some widgets write whole numbers so
        (SHAPE, "square", "square"),
        (ECHO, True, True),
        (NAME, "", ""),
    ],
)
def test_values_in_the_options_type(option, value, expected):
    checked = option.check(value)
    assert (checked, type(checked)) == (expected, type(option.default))


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        (GAIN, 1.01, 'Option "gain" is 1.01; its range is 0 to 1.'),
        (GAIN, -0.1, "its range is 0 to 1"),
        (GAIN, math.nan, "its range is 0 to 1"),
        (GAIN, math.inf, "its range is 0 to 1"),
        (GAIN, "0.5", "it takes a float"),
        (GAIN, True, "it takes a float"),
        (STEPS, 0, "its range is 1 to 8"),
        (STEPS, 2.5, 'Option "steps" is 2.5; it takes a int'),
        (STEPS, math.inf, "it takes a int"),
        (STEPS, True, "it takes a int"),
        (SHAPE, "saw", 'Option "shape" is "saw"; choose one of sine, square.'),
        (SHAPE, 1, "it takes a str"),
        (ECHO, 1, "it takes a bool"),
        (ECHO, "true", "it takes a bool"),
        (NAME, None, "it takes a str"),
    ],
)
def test_other_values_are_refused(option, value, problem):
    with pytest.raises(InvalidRequest) as caught:
        option.check(value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(("value", "hint"), [("sqare", ' Did you mean "square"?'), ("xylophone", "")])
def test_a_choice_is_found_in_any_case_and_a_near_miss_is_named(value, hint):
    assert SHAPE.check("Square") == "square"
    with pytest.raises(InvalidRequest) as caught:
        SHAPE.check(value)
    assert str(caught.value) == f'Option "shape" is "{value}"; choose one of sine, square.{hint}'


def test_defaults_fill_what_was_not_chosen():
    defaults = {"gain": 0.5, "steps": 2, "shape": "sine", "echo": False}
    assert MANIFEST.resolve(None) == MANIFEST.resolve(Options("dummy")) == defaults
    assert MANIFEST.resolve(Options("dummy", {"steps": 4})) == {**defaults, "steps": 4}


def test_resolving_changes_nothing():
    chosen = Options("dummy", {"gain": 1})
    MANIFEST.resolve(chosen)
    assert chosen == Options("dummy", {"gain": 1})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (Options("other"), 'are for engine "other" but the model is "dummy"; connect Dummy Options'),
        (Options("dummy", {"pitch": 1}), 'has no option "pitch"; it has gain, steps, shape, echo'),
        (Options("dummy", {"gain": 7}), "its range is 0 to 1"),
    ],
)
def test_wrong_options_are_refused(options, problem):
    with pytest.raises(InvalidRequest, match=problem):
        MANIFEST.resolve(options)


def test_tasks():
    require_task(MANIFEST, "tts")
    with pytest.raises(Unsupported, match="This Dummy model cannot transcribe; load one for"):
        require_task(MANIFEST, "asr")
