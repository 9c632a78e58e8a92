from dataclasses import replace

import pytest
from mizuoto.engines.presets import read_mixture
from mizuoto.engines.voices import preset_voice
from mizuoto.mizuoto_runtime.errors import InvalidRequest
from mizuoto.tests.engines.dummy import MANIFEST as DUMMY

MANIFEST = replace(DUMMY, voices=("af_heart", "am_michael", "bf_emma"), mixes_voices=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("af_heart", {"af_heart": 1}),
        ("AF_Heart + am_michael", {"af_heart": 1, "am_michael": 1}),
        ("af_heart,am_michael", {"af_heart": 1, "am_michael": 1}),
        ("af_heart:0.7+am_michael", {"af_heart": 0.7, "am_michael": 0.3}),
        ("af_heart : 0.5 + am_michael + bf_emma", {"af_heart": 0.5, "am_michael": 0.25, "bf_emma": 0.25}),
        ("af_heart:2+am_michael:1", {"af_heart": 2, "am_michael": 1}),
        ("af_heart:2+am_michael", {"af_heart": 2, "am_michael": 1}),
        ("af_heart:1+am_michael:0", {"af_heart": 1}),
        ("af_heart:.5+am_michael:.5", {"af_heart": 0.5, "am_michael": 0.5}),
    ],
)
def test_mixtures(text, expected):
    assert read_mixture(text, MANIFEST) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("af_hart", 'no voice "af_hart".*Did you mean "af_heart"'),
        ("", "no voice with a weight"),
        ("af_heart+", "no voice with a weight"),
        ("af_heart:much", "no voice with a weight"),
        ("af_heart:-1", "no voice with a weight"),
        ("af_heart+af_heart", 'names "af_heart" twice'),
        ("af_heart:0+am_michael:0", "add up to 0"),
        ("../af_heart", "no voice"),
    ],
)
def test_mixtures_that_make_no_sense(text, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        read_mixture(text, MANIFEST)


def test_a_mixture_is_a_voice_of_engines_that_mix():
    assert preset_voice(MANIFEST, " AF_Heart:0.7+am_michael ").name == "AF_Heart:0.7+am_michael"
    assert preset_voice(MANIFEST, "AF_HEART").name == "af_heart"
    assert preset_voice(MANIFEST, "af_heart,bf_emma").name == "af_heart,bf_emma"
    with pytest.raises(InvalidRequest, match=r'no voice "am_michel".* mean "am_michael"'):
        preset_voice(MANIFEST, "af_heart+am_michel")
    with pytest.raises(InvalidRequest, match=r'no voice "af_heart\+am_michael"; it has'):
        preset_voice(replace(MANIFEST, mixes_voices=False), "af_heart+am_michael")
