"""The one place that computes attention: a `Site` says which call it is, `attend` runs it (S031, S032)."""

from .attend import attend
from .sites import Site

__all__ = ["Site", "attend"]
