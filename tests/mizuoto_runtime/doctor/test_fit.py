import pytest
from mizuoto.mizuoto_runtime.doctor.fit import hardware_section, install_command, python, torch_section, variant
from mizuoto.mizuoto_runtime.doctor.gpus import Gpu
from mizuoto.mizuoto_runtime.doctor.hardware import Hardware
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia, torch_of

RADEON = Gpu("cuda:0", "amd", "Radeon RX 7900 XTX")
ARC = Gpu("xpu:0", "intel", "Intel Arc B580")
APPLE = Gpu("mps", "apple", "Apple GPU")
PASCAL = nvidia(name="GTX 1080", capability="6.1")
BLACKWELL = nvidia(name="RTX 5090", capability="12.0")


@pytest.fixture(autouse=True)
def linux(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Linux")


def torch_findings(build, *gpus, seen=None, **hardware):
    return torch_section(build, Hardware(gpus, **hardware), False, seen).findings


def of(findings, level):
    return [finding for finding in findings if finding.level == level]


@pytest.mark.parametrize(
    ("gpus", "wanted"),
    [
        ([], "CPU"),
        ([nvidia()], "CUDA 13.0"),
        ([nvidia(driver="")], "CUDA 13.0"),
        ([nvidia(driver="550.54")], "CUDA 12.6"),
        ([PASCAL], "CUDA 12.6"),
        ([nvidia(), PASCAL], "CUDA 12.6"),
        ([BLACKWELL], "CUDA 13.0"),
        ([nvidia(name="RTX 5090", capability="12.0", driver="570.86")], "CUDA 12.8"),
        ([RADEON], "ROCm 7"),
        ([ARC], "XPU"),
        ([APPLE], "Default"),
    ],
)
def test_variant(gpus, wanted):
    assert variant(gpus) == wanted


@pytest.mark.parametrize("gpus", [[], [nvidia()], [RADEON], [ARC], [APPLE]])
@pytest.mark.parametrize("build", [None, torch_of("cpu", ""), torch_of()])
@pytest.mark.parametrize("system", ["Linux", "Windows", "Darwin"])
def test_the_command_names_this_python_and_no_address(gpus, build, system, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: system)
    command = install_command(gpus, build)
    assert command.startswith(f"{python()} -m pip install ") and "://" not in command
    assert ("--force-reinstall" in command) == (build is not None and build.kind != "cpu")


def test_a_path_with_a_space_is_quoted(monkeypatch):
    monkeypatch.setattr("sys.executable", "/my programs/python")
    assert python() == "'/my programs/python'"
    monkeypatch.setattr("platform.system", lambda: "Windows")
    assert python() == '"/my programs/python"'


def test_no_torch():
    (finding,) = torch_findings(None, nvidia())
    assert finding.level == "error" and '"CUDA 13.0"' in finding.fix


@pytest.mark.parametrize(
    ("build", "gpu", "fix"),
    [
        (torch_of("cpu", "", "2.13.0+cpu"), nvidia(), "CUDA 13.0"),
        (torch_of("cpu", "", "2.13.0+cpu"), RADEON, "ROCm 7"),
        (torch_of("cuda"), RADEON, "ROCm 7"),
        (torch_of("rocm", "7.0"), nvidia(), "CUDA 13.0"),
        (torch_of("cuda"), ARC, "XPU"),
        (torch_of("cpu", ""), APPLE, "--upgrade torch"),
    ],
)
def test_the_wrong_build(build, gpu, fix):
    (finding,) = torch_findings(build, gpu)
    assert finding.level == "warning" and gpu.name in finding.what and fix in finding.fix


@pytest.mark.parametrize(
    ("build", "gpu"),
    [
        (torch_of(), nvidia()),
        (torch_of(toolkit="12.6"), PASCAL),
        (torch_of(toolkit="12.6"), nvidia(driver="525.60")),
        (torch_of(toolkit="12.8"), BLACKWELL),
        (torch_of(), nvidia(driver="", capability="")),
        (torch_of("rocm", "7.0"), RADEON),
        (torch_of("xpu", "2025"), ARC),
        (torch_of("mps", ""), APPLE),
        (torch_of("cpu", ""), None),
    ],
)
def test_the_right_build(build, gpu):
    findings = torch_findings(build, *([gpu] if gpu else []))
    assert len(of(findings, "ok")) == 1 and not of(findings, "warning") and not of(findings, "error")


@pytest.mark.parametrize(
    ("build", "gpu", "why", "fix"),
    [
        (torch_of(), nvidia(driver="550.54"), "550.54; a torch for CUDA 13.0 needs 580", '"CUDA 12.6"'),
        (torch_of(toolkit="12.6"), nvidia(driver="470.1"), "needs 525", "Update the driver"),
        (torch_of(), PASCAL, "no longer knows", '"CUDA 12.6"'),
        (torch_of(toolkit="12.6"), BLACKWELL, "12.8 or newer", '"CUDA 13.0"'),
    ],
)
def test_the_wrong_cuda(build, gpu, why, fix):
    findings = torch_findings(build, gpu)
    assert [finding.level for finding in findings] == ["error"]
    assert why in findings[0].why and fix in findings[0].fix


def test_one_card_of_two_is_too_old():
    findings = torch_findings(torch_of(), nvidia(), nvidia(1, "GTX 1080", "6.1"))
    assert [finding.what for finding in findings] == ["torch 2.13.0+cu130 has no code for GTX 1080."]


def test_a_torch_that_sees_less_than_the_driver():
    (finding,) = torch_findings(torch_of(), nvidia(), seen=[])
    assert finding.level == "error" and finding.what == "torch sees 0 of 1 GPUs."
    (finding,) = torch_findings(torch_of(), nvidia(), seen="exit code 1: OSError: libcudnn")
    assert finding.level == "error" and "libcudnn" in finding.what
    assert of(torch_findings(torch_of(), nvidia(), seen=[nvidia()]), "ok")


def test_mps_has_its_remarks():
    text = " ".join(finding.what + finding.fix for finding in torch_findings(torch_of("mps", ""), APPLE))
    assert "PYTORCH_ENABLE_MPS_FALLBACK=1" in text and "torch.compile has no effect" in text


def hardware_findings(*gpus, environment=None, **hardware):
    return hardware_section(Hardware(gpus, **hardware), environment or {}).findings


def test_hidden_cards_name_the_variable():
    (finding,) = hardware_findings(hidden=(nvidia(),), environment={"CUDA_VISIBLE_DEVICES": "-1"})
    assert finding.level == "warning" and finding.why == "CUDA_VISIBLE_DEVICES=-1 is set."
    (finding,) = hardware_findings(nvidia(), hidden=(nvidia(1),), environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert finding.level == "info"


@pytest.mark.parametrize(
    ("second", "environment", "count"),
    [
        (nvidia(1), {}, 0),
        (nvidia(1, "NVIDIA T4"), {}, 1),
        (nvidia(1, "NVIDIA T4"), {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, 1),
        (nvidia(1, "NVIDIA T4"), {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, 0),
    ],
)
def test_mixed_cards_need_the_bus_order(second, environment, count):
    findings = hardware_findings(nvidia(), second, environment=environment, found_by="nvidia-smi")
    assert len(findings) == count
    assert all("CUDA_DEVICE_ORDER=PCI_BUS_ID" in finding.fix for finding in findings)


@pytest.mark.parametrize(
    ("cards", "level"), [({"nvidia"}, "warning"), ({"intel"}, "info"), ({"amd", "intel"}, "warning")]
)
def test_a_card_without_a_driver(cards, level):
    (finding,) = hardware_findings(cards=frozenset(cards))
    assert finding.level == level and "no driver answers" in finding.what


def test_facts_leave_out_what_is_not_known():
    section = hardware_section(Hardware((RADEON,), "amd-smi"), {})
    assert section.facts == {
        "gpus": [{"device": "cuda:0", "vendor": "amd", "name": "Radeon RX 7900 XTX"}],
        "found_by": "amd-smi",
    }
