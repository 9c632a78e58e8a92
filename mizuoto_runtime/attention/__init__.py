"""The one place that computes attention: a `Site` says which call it is, `attend` runs it (S031-S034).

The default, "auto", is each site's reference computation, bit for bit. An `AttentionPolicy` with another choice, bound
to a model when it is loaded, picks a faster kernel for every call that it can serve.
"""

from .attend import attend
from .select import CHOICES, AttentionPolicy
from .sites import Site

__all__ = ["CHOICES", "AttentionPolicy", "Site", "attend"]
