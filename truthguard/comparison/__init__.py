"""A run beside a baseline: whether the two may be compared, what differs, and how much lower a metric is."""

from __future__ import annotations

from truthguard.comparison.comparable import compared, differences
from truthguard.comparison.comparing import compare, compare_all

__all__ = ["compare", "compare_all", "compared", "differences"]
