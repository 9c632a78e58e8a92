import json

import pytest
from mizuoto.mizuoto_runtime.doctor.gpus import (
    parse_amd,
    parse_nvidia,
    parse_rocm,
    renumber,
    visible,
    visible_amd,
    visible_nvidia,
)
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia

MB = 1 << 20
SMI = """\
0, GPU-8932f937-d72c, NVIDIA GeForce RTX 4090, 24564, 23000, 580.95.05, 8.9
1, GPU-1111aaaa-0000, NVIDIA GeForce GTX 1660, 6144, 6000, 580.95.05, 7.5
2, GPU-89320000-ffff, NVIDIA GB10, [N/A], [N/A], 580.95.05, 12.1
"""
FOUR = [nvidia(index, f"card {index}", uuid=f"GPU-{'abcd'[index]}0{index}") for index in range(4)]


def names(gpus):
    return [gpu.name for gpu in gpus]


def test_nvidia():
    first, _, shared = parse_nvidia(SMI)
    assert (first.device, first.vendor, first.name) == ("cuda:0", "nvidia", "NVIDIA GeForce RTX 4090")
    assert (first.total_bytes, first.free_bytes) == (24564 * MB, 23000 * MB)
    assert (first.driver, first.capability, first.uuid) == ("580.95.05", 8.9, "GPU-8932f937-d72c")
    assert (shared.device, shared.total_bytes, shared.free_bytes) == ("cuda:2", 0, None)


def test_nvidia_of_an_older_driver_has_no_capability():
    (gpu,) = parse_nvidia("0, GPU-1, Tesla K80, 11441, 11000, 440.33\n")
    assert gpu.capability is None and gpu.architecture == ""


@pytest.mark.parametrize("text", ["", "No devices were found", "a, b\n", "x, GPU, n, 1, 2, 3, 4", "\0\n,,,,,,"])
def test_what_is_no_list_of_cards_is_none(text):
    assert parse_nvidia(text) == []


def test_rocm():
    text = "WARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(
        {
            "card1": {"Card Series": "N/A", "Card Model": "0x744c"},
            "card0": {
                "Card Series": "Radeon RX 7900 XTX", "GFX Version": "gfx1100", "Unique ID": "0x7a5b",
                "VRAM Total Memory (B)": "25753026560", "VRAM Total Used Memory (B)": "753026560",
            },
            "system": {"Driver version": "6.12.12"},
        }
    )  # fmt: skip
    first, second = parse_rocm(text)
    assert (first.device, first.vendor, first.name) == ("cuda:0", "amd", "Radeon RX 7900 XTX")
    assert (first.total_bytes, first.free_bytes) == (25753026560, 25000000000)
    assert (first.architecture, first.driver, first.uuid, first.capability) == ("gfx1100", "6.12.12", "GPU-7a5b", None)
    assert (second.device, second.name, second.free_bytes) == ("cuda:1", "0x744c", None)


@pytest.mark.parametrize("wrap", [lambda cards: cards, lambda cards: {"gpu_data": cards}])
def test_amd(wrap):
    card = {
        "gpu": 0,
        "asic": {"market_name": "AMD Instinct MI300X", "target_graphics_version": "gfx942"},
        "vram": {"size": {"value": 196592, "unit": "MB"}},
    }
    (gpu,) = parse_amd(json.dumps(wrap([card])))
    assert (gpu.device, gpu.name, gpu.architecture) == ("cuda:0", "AMD Instinct MI300X", "gfx942")
    assert (gpu.total_bytes, gpu.free_bytes) == (196592 * MB, None)


@pytest.mark.parametrize("parse", [parse_amd, parse_rocm])
@pytest.mark.parametrize("text", ["", "no permission", "{", "[1", '"text"'])
def test_what_is_no_json_is_said_so(parse, text):
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize("entries", ["[null]", '[{"asic": 3}]', '[{"vram": {"size": null}}]'])
def test_amd_with_other_forms_inside(entries):
    (gpu,) = parse_amd(entries)
    assert (gpu.name, gpu.total_bytes) == ("AMD GPU", 0)


@pytest.mark.parametrize(
    ("variable", "left"),
    [
        (None, ["card 0", "card 1", "card 2", "card 3"]),
        ("", []),
        ("-1", []),
        ("2", ["card 2"]),
        ("3, 1", ["card 3", "card 1"]),
        ("1,9,0", ["card 1"]),
        ("1,-1,0", ["card 1"]),
        ("0,0", []),
        ("GPU-c02,GPU-a", ["card 2", "card 0"]),
        ("gpu-C02", ["card 2"]),
        ("GPU-", []),
        ("GPU-nobody,GPU-a00", []),
        ("MIG-b01", []),
        ("one", []),
    ],
)
def test_visible(variable, left):
    assert names(visible(FOUR, variable)) == left


def test_an_ambiguous_beginning_names_nothing():
    alike = [nvidia(0, uuid="GPU-ab1"), nvidia(1, uuid="GPU-ab2")]
    assert visible(alike, "GPU-ab") == []


def test_renumbered_in_the_order_of_the_variable():
    left = renumber(visible_nvidia(FOUR, {"CUDA_VISIBLE_DEVICES": "3,GPU-b"}))
    assert [(gpu.device, gpu.name) for gpu in left] == [("cuda:0", "card 3"), ("cuda:1", "card 1")]


@pytest.mark.parametrize(
    ("environment", "left"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["card 1"]),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, ["card 2"]),
        ({"ROCR_VISIBLE_DEVICES": "3,2", "HIP_VISIBLE_DEVICES": "1"}, ["card 2"]),
    ],
)
def test_amd_has_three_variables(environment, left):
    assert names(visible_amd(FOUR, environment)) == left
