import dataclasses

import pytest
from mizuoto.mizuoto_runtime.attention import AttentionPolicy, Site


def test_heads_that_cannot_be_shared_are_refused():
    with pytest.raises(ValueError, match="cannot share"):
        Site("test:odd", num_heads=4, head_dim=8, num_kv_heads=3)


def test_key_heads_default_to_query_heads():
    site = Site("test:site", num_heads=4, head_dim=8)
    assert (site.kv_heads, site.is_grouped) == (4, False)
    grouped = dataclasses.replace(site, num_kv_heads=2)
    assert (grouped.kv_heads, grouped.is_grouped) == (2, True)


def test_a_policy_does_not_make_it_another_site():
    site = Site("test:site", num_heads=4, head_dim=8)
    bound = dataclasses.replace(site, policy=AttentionPolicy("sdpa"))
    assert bound == site
    assert "policy" not in repr(bound)
