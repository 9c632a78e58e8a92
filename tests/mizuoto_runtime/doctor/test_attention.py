import pytest
from mizuoto.mizuoto_runtime.doctor import attention
from mizuoto.mizuoto_runtime.doctor.attention import attention_section, command, run_self_test
from mizuoto.mizuoto_runtime.doctor.build import installed_torch
from mizuoto.mizuoto_runtime.doctor.gpus import Gpu
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia, torch_of

RIGHT = """
def {name}(q, k, v, **kwargs):
    import torch
    q, k, v = (each.float().transpose(1, 2) for each in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).half()
"""
WRONG = "def {name}(q, k, v, **kwargs):\n    return v\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """`package(import name, source)` makes it importable in the second process, where torch lies beside it."""

    def make(name, source):
        module, function = {
            "flash_attn": ("flash_attn/__init__.py", "flash_attn_func"),
            "xformers": ("xformers/ops.py", "memory_efficient_attention"),
            "sageattention": ("sageattention/__init__.py", "sageattn"),
        }[name]
        file = tmp_path / module
        file.parent.mkdir(exist_ok=True)
        file.write_text(source.replace("{name}", function))

    real = installed_torch()
    monkeypatch.setattr(attention.probe, "_PYTHON_NAMES", (*attention.probe._PYTHON_NAMES, "PYTHONPATH"))
    make.build = torch_of(folder=f"{tmp_path}:{real.folder}")
    return make


def test_the_self_test_tells_right_from_wrong(package):
    package("flash_attn", RIGHT)
    package("xformers", WRONG)
    package("sageattention", "raise ImportError('undefined symbol: _ZN3c10')")
    results = run_self_test(package.build, ["flash_attn", "xformers", "sageattention"], ["cpu"])
    assert results["flash_attn"] == {"cpu": ""}
    assert results["xformers"]["cpu"].startswith("its result is off by")
    assert results["sageattention"] == {"cpu": "ImportError: undefined symbol: _ZN3c10"}


def test_a_crash_harms_nobody_and_is_told(package, tmp_path):
    (tmp_path / "torch.py").write_text("")  # the crash comes before it is used
    package("flash_attn", "import os\nos.kill(os.getpid(), 11)")
    package("xformers", RIGHT)
    results = run_self_test(package.build, ["flash_attn", "xformers"], ["cpu"])
    assert results == {"flash_attn": {"cpu": "ended by signal 11"}, "xformers": {"cpu": "not tried"}}


def versions(**installed):
    return lambda distribution: installed.get(distribution.replace("-", "_"), "")


def test_results_become_findings(monkeypatch):
    answer = {"flash_attn": {"cuda:0": ""}, "xformers": {"cuda:0": "RuntimeError: no kernel image"}}
    monkeypatch.setattr(attention, "run_self_test", lambda *_: answer)
    section = attention_section(torch_of(), [nvidia()], True, {}, versions(flash_attn="2.9.0", xformers="0.0.40"))
    assert [(finding.level, finding.what) for finding in section.findings] == [
        ("ok", "FlashAttention 2.9.0 computes attention on cuda:0."),
        ("warning", "xFormers 0.0.40 fails on cuda:0: RuntimeError: no kernel image."),
    ]
    assert "uninstall -y xformers" in section.findings[1].fix
    assert section.facts["packages"][1]["self_test"] == {"cuda:0": "RuntimeError: no kernel image"}
    assert list(section.facts["install_commands"]) == ["SageAttention"]


@pytest.mark.parametrize(
    ("build", "gpus", "self_test"),
    [(torch_of(), [nvidia()], False), (torch_of(), [], True), (None, [nvidia()], True),
     (torch_of(), [Gpu("mps", "apple", "Apple GPU")], True)],
)  # fmt: skip
def test_when_there_is_nothing_to_try_on(build, gpus, self_test, monkeypatch):
    monkeypatch.setattr(attention, "run_self_test", lambda *_: pytest.fail("it was run"))
    section = attention_section(build, gpus, self_test, {}, versions(xformers="0.0.40"))
    assert [finding.level for finding in section.findings] == ["info"]


def test_nothing_installed_is_in_order():
    section = attention_section(torch_of(), [], True, {}, versions())
    assert [finding.level for finding in section.findings] == ["info"]
    assert [row["version"] for row in section.facts["packages"]] == [None] * 3
    assert "install_commands" not in section.facts


def test_commands_leave_torch_alone(tools):
    for name in attention.PACKAGES:
        assert " pip install --no-deps " in command(name, torch_of(), tools.environment)
    assert "nvcc, which is not on PATH" in command("sageattention", torch_of(), tools.environment)
    assert "nvcc" not in command("sageattention", torch_of(), tools("nvcc"))


def test_torch_2_8_has_releases_of_its_own_that_exclude_each_other():
    old = torch_of(version="2.8.0+cu128", toolkit="12.8")
    assert "flash-attn==2.8.3" in command("flash_attn", old, {})
    assert command("xformers", old, {}).endswith("xformers==0.0.32.post2")
    both = versions(flash_attn="2.8.3", xformers="0.0.32.post2")
    levels = [[f.level for f in attention_section(b, [nvidia()], False, {}, both).findings] for b in (old, torch_of())]
    assert levels == [["info", "info", "warning"], ["info", "info"]]
