"""Downloading benchmark data: upstream's files at pinned commits, each held against its known digest.

Where upstream's texts stand in Python files, these are parsed, never executed: only string constants are taken, and
all of them together must have a known digest as well.
"""

from __future__ import annotations

from truthguard.fetch.prometheus import fetch_prometheus
from truthguard.fetch.truthfulqa import fetch_truthfulqa

__all__ = ["fetch_prometheus", "fetch_truthfulqa"]
