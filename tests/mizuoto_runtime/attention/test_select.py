import json
import logging
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from mizuoto.mizuoto_runtime.attention import CHOICES, AttentionPolicy, Site, attend
from mizuoto.mizuoto_runtime.attention.attend import sdpa
from mizuoto.mizuoto_runtime.attention.select import recorded, rounded_freely
from mizuoto.mizuoto_runtime.errors import InvalidRequest, Unsupported
from mizuoto.mizuoto_runtime.simulate import SimulatedOutOfMemory
from torch import nn

ALL = ("flash_attn", "xformers.ops", "sageattention")
SITE = Site("test:site", num_heads=4, head_dim=16, num_kv_heads=2)
NEVER_IMPORTED = ("flash_attn", "xformers", "sageattention")


class Attention(nn.Module):
    def __init__(self, site=SITE):
        super().__init__()
        self.site = site

    def forward(self, query, key, value, **arguments):
        return attend(query, key, value, site=self.site, **arguments)


@pytest.fixture
def bound(on_cpu):
    def make(choice, is_strict=False, **changes):
        policy = AttentionPolicy(choice, is_strict, on_cpu)
        module = Attention(replace(SITE, **changes))
        assert policy.bind(module) == 1
        return policy, module

    return make


@pytest.fixture
def tensors(draw):
    return draw(1, 4, 5, 16, seed=1), draw(1, 2, 5, 16, seed=2), draw(1, 2, 5, 16, seed=3)


def expected(tensors, **arguments):
    return F.scaled_dot_product_attention(*tensors, enable_gqa=True, **arguments)


def reasons(policy):
    return {entry["backend"]: entry["reason"] for entry in policy.refusals}


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice != "auto"])
def test_every_choice_takes_its_kernel(packages, bound, tensors, choice):
    packages.install(*ALL)
    policy, module = bound(choice)
    torch.testing.assert_close(module(*tensors), expected(tensors))
    module(*tensors)
    kernel = "flash" if choice == "fast" else choice
    assert policy.counts == {kernel: 2}
    assert policy.refusals == []
    assert set(packages.names()) == ({kernel} - {"sdpa"})


def test_auto_is_the_reference_and_imports_nothing(packages, bound, tensors):
    packages.install(*ALL)
    policy, module = bound("auto")
    assert module.site.policy is None
    assert torch.equal(module(*tensors), expected(tensors))
    assert packages.calls == []
    assert policy.as_data() == {"choice": "auto"}


def test_an_own_reference_is_what_auto_runs(bound, tensors):
    _, module = bound("auto", reference=lambda query, *_: query * 2)
    assert torch.equal(module(*tensors), tensors[0] * 2)


def test_nothing_is_imported_or_tested_before_the_first_call(packages, bound):
    bound("fast")
    assert packages.calls == []
    assert not set(NEVER_IMPORTED) & set(sys.modules)


def test_a_package_is_tested_once(packages, bound, tensors, draw):
    packages.install(*ALL)
    policy, module = bound("flash")
    for length in (5, 6, 7):
        module(draw(1, 4, 1, 16), draw(1, 2, length, 16), draw(1, 2, length, 16))
    module(*tensors, causal=True)
    assert [call[1][1] for call in packages.calls] == [128, 1, 1, 1, 5]
    assert policy.counts == {"flash": 4}


def test_what_is_not_installed_falls_back(bound, tensors):
    policy, module = bound("fast")
    torch.testing.assert_close(module(*tensors), expected(tensors))
    assert policy.counts == {"sdpa": 1}
    assert reasons(policy) == {"flash": "not installed", "xformers": "not installed"}


def test_fast_takes_the_next_best_for_what_the_best_cannot(packages, bound, tensors):
    packages.install(*ALL)
    policy, module = bound("fast")
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(module(*tensors, mask=mask), expected(tensors, attn_mask=mask))
    module(*tensors)
    assert policy.counts == {"xformers": 1, "flash": 1}
    assert reasons(policy) == {"flash": "unsupported mask: bool"}


def test_causal_with_more_keys_keeps_its_meaning(packages, bound, draw):
    packages.install(*ALL)
    policy, module = bound("flash")
    tensors = draw(1, 4, 3, 16, seed=1), draw(1, 2, 5, 16, seed=2), draw(1, 2, 5, 16, seed=3)
    torch.testing.assert_close(module(*tensors, causal=True), expected(tensors, is_causal=True))
    assert policy.counts == {"sdpa": 1}


def test_fp32_is_refused(packages, bound, draw):
    packages.install(*ALL)
    policy, module = bound("flash")
    tensors = tuple(draw(1, heads, 5, 16, dtype=torch.float32) for heads in (4, 2, 2))
    torch.testing.assert_close(module(*tensors), expected(tensors))
    assert reasons(policy)["flash"].startswith("fp32")


def test_a_gradient_is_no_matter_for_sage(packages, bound, tensors):
    packages.install(*ALL)
    policy, module = bound("sage")
    module(*tensors)
    module(tensors[0].requires_grad_(), *tensors[1:]).sum().backward()
    assert policy.counts == {"sage": 1, "sdpa": 1}
    assert reasons(policy) == {"sage": "no backward: a gradient is recorded"}


def test_sage_never_goes_token_by_token(packages, bound, tensors):
    packages.install(*ALL)
    policy, module = bound("sage", is_sequence=True)
    torch.testing.assert_close(module(*tensors), expected(tensors))
    assert packages.calls == []
    assert policy.counts == {"sdpa": 1}
    assert reasons(policy)["sage"].startswith("token by token")


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_fixed_site_keeps_its_own(packages, bound, tensors, is_strict):
    packages.install(*ALL)
    policy, module = bound("flash", is_strict, is_fixed=True, reference=lambda query, *_: query * 2)
    assert torch.equal(module(*tensors), tensors[0] * 2)
    assert (policy.counts, policy.refusals, packages.calls) == ({"reference": 1}, [], [])


def test_a_broken_package_is_a_refusal(packages, bound, tensors):
    packages.install("flash_attn", flash_attn_func=lambda q, k, v, **_: v)
    policy, module = bound("flash")
    torch.testing.assert_close(module(*tensors), expected(tensors))
    assert policy.counts == {"sdpa": 1}
    assert reasons(policy)["flash"].startswith("installed but broken")


def test_a_kernel_that_fails_is_not_tried_again(packages, bound, tensors):
    packages.install(*ALL)
    packages.error = RuntimeError("CUDA error: invalid argument")
    policy, module = bound("fast")
    for _ in range(2):
        torch.testing.assert_close(module(*tensors), expected(tensors))
    assert packages.names() == ["flash", "flash", "xformers", "xformers"]  # a test and one try each
    assert policy.counts == {"sdpa": 2}
    assert reasons(policy)["flash"] == "kernel error: RuntimeError: CUDA error: invalid argument"


def test_the_reference_is_the_last_resort(on_cpu, tensors):
    def fails(*_):
        raise RuntimeError("no")

    policy = AttentionPolicy("sdpa", backends={"sdpa": replace(on_cpu["sdpa"], load=lambda: fails)})
    module = Attention(replace(SITE, reference=lambda query, *_: query * 2))
    policy.bind(module)
    assert torch.equal(module(*tensors), tensors[0] * 2)
    assert policy.counts == {"reference": 1}


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), SimulatedOutOfMemory("full")])
def test_memory_that_runs_out_is_no_refusal(packages, bound, tensors, error):
    packages.install(*ALL)
    policy, module = bound("flash")
    module(*tensors)
    packages.error = error
    with pytest.raises(type(error)):
        module(*tensors)
    packages.error = None
    module(*tensors)
    assert (policy.counts, policy.refusals) == ({"flash": 2}, [])


def test_a_test_that_ran_out_of_memory_is_made_again(packages, bound, tensors):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    packages.install("flash_attn", flash_attn_func=full)
    policy, module = bound("flash")
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            module(*tensors)
    assert (policy.counts, policy.refusals) == ({}, [])


def test_strict_fails_with_the_reasons(bound, tensors):
    policy, module = bound("flash", is_strict=True)
    for _ in range(2):
        with pytest.raises(Unsupported, match=r'"flash" cannot compute test:site \(flash: not installed\)') as caught:
            module(*tensors)
    refusal = {"backend": "flash", "site": "test:site", "reason": "not installed"}
    assert caught.value.detail == {"choice": "flash", "site": "test:site", "refusals": [refusal]}
    assert policy.counts == {}


def test_strict_fails_when_the_kernel_does(packages, bound, tensors):
    packages.install(*ALL)
    packages.error = ValueError("strides")
    _, module = bound("sage", is_strict=True)
    with pytest.raises(Unsupported, match="kernel error: ValueError: strides"):
        module(*tensors)


def test_strict_fast_takes_any_of_its_kernels(bound, tensors):
    policy, module = bound("fast", is_strict=True)
    module(*tensors)
    assert policy.counts == {"sdpa": 1}


def test_each_refusal_is_logged_once(bound, tensors, caplog):
    caplog.set_level(logging.INFO, "mizuoto.attention")
    policy, module = bound("flash")
    for causal in (False, True):
        for _ in range(2):
            module(*tensors, causal=causal)
        policy.reset()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", 'Attention "flash" is not used at test:site: not installed.')
    ]


def test_fast_says_so_more_quietly(bound, tensors, caplog):
    caplog.set_level(logging.INFO, "mizuoto.attention")
    _, module = bound("fast")
    module(*tensors)
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]


def test_reset_forgets_one_request_not_what_was_found_out(packages, bound, tensors):
    packages.install("flash_attn")
    policy, module = bound("fast")
    module(*tensors, mask=torch.zeros(5, 5, dtype=torch.float16))
    assert set(reasons(policy)) == {"flash", "xformers"}
    policy.reset()
    assert (policy.counts, policy.refusals) == ({}, [])
    module(*tensors)
    assert (policy.counts, policy.refusals) == ({"flash": 1}, [])
    module(*tensors, mask=torch.zeros(5, 5, dtype=torch.float16))
    assert set(reasons(policy)) == {"flash", "xformers"}


def test_the_report_is_json(bound, tensors):
    policy, module = bound("flash")
    module(*tensors)
    module(*tensors, causal=True)
    refusal = {"backend": "flash", "site": "test:site", "reason": "not installed"}
    data = {"choice": "flash", "strict": False, "counts": {"sdpa": 2}, "refusals": [refusal]}
    assert json.loads(json.dumps(policy.as_data())) == data


def test_models_do_not_share_a_choice(packages, bound, tensors):
    packages.install(*ALL)
    flash, one = bound("flash")
    sage, two = bound("sage")
    _, three = bound("auto")
    for module in (one, two, two, three):
        module(*tensors)
    assert (flash.counts, sage.counts) == ({"flash": 1}, {"sage": 2})
    assert SITE.policy is None


def test_bind_finds_every_site_and_may_change_its_mind(tensors, on_cpu):
    module = nn.Sequential(Attention(), nn.ModuleList([Attention(), nn.Identity()]))
    first, second = AttentionPolicy("sdpa", backends=on_cpu), AttentionPolicy("sdpa", backends=on_cpu)
    assert first.bind(module) == 2
    assert second.bind(module) == 2
    for attention in (module[0], module[1][0]):
        attention(*tensors)
    assert (first.counts, second.counts) == ({}, {"sdpa": 2})
    AttentionPolicy("auto").bind(module)
    assert module[0].site.policy is None


def test_other_heads_than_the_sites_are_refused(bound, draw):
    _, module = bound("sdpa")
    with pytest.raises(ValueError, match="test:site"):
        module(*[draw(1, 2, 5, 16)] * 3)


def test_an_unknown_choice_names_the_known():
    with pytest.raises(InvalidRequest, match='"flsh" is unknown; use one of auto, sdpa'):
        AttentionPolicy("flsh")


def test_the_real_table_takes_no_package_on_the_cpu(packages, tensors):
    packages.install(*ALL)
    policy, module = AttentionPolicy("fast"), Attention()
    policy.bind(module)
    torch.testing.assert_close(module(*tensors), expected(tensors))
    assert (policy.counts, packages.calls) == ({"sdpa": 1}, [])
    assert all(reason.startswith("GPU mismatch") for reason in reasons(policy).values())


def test_what_is_rounded_freely_is_so_in_the_block_only(tensors):
    own, fixed = Attention(replace(SITE, reference=lambda query, *_: query)), Attention(replace(SITE, is_fixed=True))
    followed = Attention()
    AttentionPolicy("sdpa").bind(followed)
    modules = nn.ModuleList([Attention(), own, fixed, followed])
    before = [module.site for module in modules]
    with pytest.raises(RuntimeError), rounded_freely(modules):
        assert [module.site.reference is sdpa for module in modules] == [True, False, False, False]
        mask = torch.ones(1, 1, 5, 5, dtype=torch.bool).tril()
        torch.testing.assert_close(modules[0](*tensors, mask=mask), expected(tensors, attn_mask=mask))
        raise RuntimeError
    assert all(module.site is site for module, site in zip(modules, before, strict=True))


def test_calls_that_are_recorded_count_when_they_are_replayed(bound, tensors):
    policy, module = bound("sdpa")
    module(*tensors)
    with recorded(module) as count:
        module(*tensors)
        module(*tensors)
    assert policy.counts == {"sdpa": 1}
    count()
    count()
    assert policy.counts == {"sdpa": 5}
    policy.reset()
    count()
    assert policy.counts == {"sdpa": 2}


def test_without_a_policy_there_is_nothing_to_count(tensors):
    module = Attention()
    with recorded(module) as count:
        module(*tensors)
    count()
    assert module.site.policy is None
