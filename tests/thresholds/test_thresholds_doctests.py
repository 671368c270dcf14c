"""The examples in the docstrings of the gate are right."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["comparing", "rows", "wording"])
def test_examples_of_the_gate_hold(name: str) -> None:
    """Every example runs and prints what its docstring says."""
    results = doctest.testmod(import_module(f"truthguard.thresholds.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
