"""The examples in the metrics' docstrings are right."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

from truthguard import metrics

NAMES = [each.name for each in pkgutil.iter_modules(metrics.__path__)]
# Modules over whole items: their examples would be longer than they are worth.
BARE = {"doubts", "judging", "summary"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BARE])
def test_examples_hold(name: str) -> None:
    """Every example of a metrics module runs and prints what its docstring says."""
    results = doctest.testmod(import_module(f"truthguard.metrics.{name}"))
    assert results.attempted > 0
    assert results.failed == 0


def test_every_choice_metric_has_an_example() -> None:
    """Each public function of the choice module carries a doctest."""
    module = import_module("truthguard.metrics.choice")
    examples = {test.name.rpartition(".")[2]: test.examples for test in doctest.DocTestFinder().find(module)}
    public = [name for name in vars(module) if name.startswith("mc") or name in ("letter_bias", "chance")]
    assert [name for name in public if not examples[name]] == []
    assert len(public) == 7
