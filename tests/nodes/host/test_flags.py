import pytest
from mizuoto.tests.mizuoto_runtime.doctor.conftest import nvidia


@pytest.fixture
def findings():
    from mizuoto.nodes.host import flags

    def of(gpus=(), allocator="native", dynamic_vram=False, **options):
        facts = {"options": options, "allocator": allocator, "dynamic_vram": dynamic_vram}
        return flags.findings(facts, list(gpus))

    return of


def test_nothing_set_nothing_said(findings):
    assert findings() == [] and findings([nvidia()], dynamic_vram=None) == []


@pytest.mark.parametrize(
    ("option", "level"),
    [
        ("novram", "info"),
        ("lowvram", "info"),
        ("highvram", "info"),
        ("gpu_only", "info"),
        ("disable_smart_memory", "warning"),
        ("disable_pinned_memory", "info"),
        ("disable_async_offload", "info"),
        ("cache_none", "warning"),
        ("directml", "warning"),
        ("use_sage_attention", "info"),
        ("use_flash_attention", "info"),
        ("use_pytorch_cross_attention", "info"),
    ],
)
def test_an_option_that_matters(findings, option, level):
    (finding,) = findings(**{option: True})
    assert finding.level == level and finding.what.startswith(f"--{option.replace('_', '-')} is set")
    assert level == "info" or finding.fix


def test_cpu_is_a_pity_where_there_is_a_card(findings):
    (finding,) = findings([nvidia()], cpu=True)
    assert finding.level == "warning" and "RTX 4090" in finding.why and finding.fix
    assert [each.level for each in findings(cpu=True)] == ["ok"]


def test_graphs_need_another_allocator(findings):
    (finding,) = findings([nvidia()], allocator="cudaMallocAsync")
    assert finding.fix == "Start ComfyUI with --disable-cuda-malloc to allow them."
    assert findings(allocator="cudaMallocAsync") == []


def test_fast_is_listed(findings):
    (finding,) = findings(fast=["autotune", "fp16_accumulation"])
    assert "(autotune, fp16_accumulation)" in finding.what and findings(fast=[]) == []


def test_dynamic_vram(findings):
    (finding,) = findings(dynamic_vram=True)
    assert "Dynamic VRAM is on" in finding.what
