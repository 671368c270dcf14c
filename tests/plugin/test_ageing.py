"""Answers of a model that may change under us grow old; those of a run that is resumed do not."""

from __future__ import annotations

import pytest

from tests.plugin.projects import gate, requests, run

CACHE = ("--truthguard-cache", "answers")
ROWS = "[model]\ncache_max_age = 0\n[faq.mc1]\nmin = 0.5\n"


def test_a_nightly_gate_of_a_name_really_asks(project: pytest.Pytester) -> None:
    """A scripted model has no digest: with an age of 0 each run asks anew, with the usual one the second does not."""
    gate(project, ROWS)
    run(project, *CACHE).assert_outcomes(passed=1)
    run(project, *CACHE).assert_outcomes(passed=1)
    assert len(requests(project)) == 8
    gate(project, "[faq.mc1]\nmin = 0.5\n")
    result = run(project, *CACHE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*the oldest answer is 0.0 hours old"])
    assert len(requests(project)) == 8


def test_the_resumption_of_a_run_asks_only_for_the_rest(project: pytest.Pytester) -> None:
    """A run that failed at its last question goes on with what it had, however short its answers' age."""
    gate(project, ROWS)
    model = project.path / "model.py"
    whole = model.read_text(encoding="utf-8")
    broken = whole.replace(
        "    if isinstance(request, Score):", "    if lies:\n        raise OSError('gone')\n    if True:"
    )
    model.write_text(broken, encoding="utf-8")
    run(project, *CACHE).assert_outcomes(errors=1)
    assert len(requests(project)) == 4
    model.write_text(whole, encoding="utf-8")
    run(project, *CACHE).assert_outcomes(passed=1)
    assert len(requests(project)) == 5
    # Complete: the next one is a run of its own.
    run(project, *CACHE).assert_outcomes(passed=1)
    assert len(requests(project)) == 9


@pytest.mark.parametrize("kind", ["max_requests", "unreachable"])
def test_a_run_that_was_stopped_is_not_over(project: pytest.Pytester, kind: str) -> None:
    """One that ended without all of its answers, as its server went away say, goes on with them, however old they are.

    It ended without an error of its own, so only that it is not complete tells it from one that is over.
    """
    gate(project, ROWS)
    model = project.path / "model.py"
    whole = model.read_text(encoding="utf-8")
    stopping = whole.replace(
        "    if isinstance(request, Score):",
        f"    if lies:\n        return Missing('{kind}', 'what was answered is kept')\n    if True:",
    )
    model.write_text("from truthguard.records import Missing\n" + stopping, encoding="utf-8")
    result = run(project, *CACHE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*stopped before everything was asked: {kind}: *"])
    assert len(requests(project)) == 4
    model.write_text(whole, encoding="utf-8")
    run(project, *CACHE).assert_outcomes(passed=1)
    assert len(requests(project)) == 5
    run(project, *CACHE).assert_outcomes(passed=1)
    assert len(requests(project)) == 9
