import pytest
from mizuoto.mizuoto_runtime.doctor.packages import distribution_of, install_arguments, missing_module


@pytest.mark.parametrize(
    ("name", "install", "failure", "expected"),
    [
        ("soxr", "", "it is not installed", "--no-deps soxr"),
        ("phonemizer", "phonemizer-fork", "it is not installed", "phonemizer-fork"),
        ("phonemizer", "phonemizer-fork", "ModuleNotFoundError: No module named 'dlinfo'", "phonemizer-fork dlinfo"),
        ("phonemizer", "phonemizer-fork", "OSError: library not found", "phonemizer-fork"),
        ("misaki", "--no-deps misaki", "ModuleNotFoundError: No module named 'attr'", "attrs"),
        ("soxr", "", "ModuleNotFoundError: No module named 'numpy'", "numpy"),
        ("soxr", "", "ModuleNotFoundError: No module named 'soxr.soxr_ext'", "--no-deps soxr"),
    ],
)
def test_the_command_mends_what_failed(name, install, failure, expected):
    assert install_arguments(name, install, failure) == expected


def test_modules_and_what_pip_calls_them():
    assert (distribution_of("dateutil.parser"), distribution_of("dlinfo")) == ("python-dateutil", "dlinfo")
    assert missing_module("No module named 'rdflib.term'") == "rdflib"
    assert missing_module("OSError: No such file") == ""
