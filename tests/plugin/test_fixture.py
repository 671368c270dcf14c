"""The `truthguard` fixture in people's own tests."""

from __future__ import annotations

import pytest

from tests.plugin.projects import requests

MODEL = ("--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off")


def test_scores_compare_like_numbers(project: pytest.Pytester) -> None:
    """`score` returns the mean, with n and the interval beside it."""
    project.makepyfile("""
        def test_it(truthguard):
            score = truthguard.score("faq", "mc1")
            assert score == 0.75
            assert score.summary.n == 4
            assert score.summary.low < score < score.summary.high
            assert truthguard.score("faq", "mc1", category="Beta") == 0.5
    """)
    project.runpytest_inprocess(*MODEL).assert_outcomes(passed=1)
    assert len(requests(project)) == 4


def test_a_check_below_its_bar_fails_with_the_gates_text(project: pytest.Pytester) -> None:
    """The failure is the gate's own text, without a traceback."""
    project.makepyfile("""
        def test_it(truthguard):
            truthguard.check("faq", "mc1", min=0.3)
            truthguard.check("faq", "mc1", min=0.9)
    """)
    result = project.runpytest_inprocess(*MODEL)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*0.7500*0.9*"])
    result.stdout.no_fnmatch_line("*fixture.py*")


def test_mistakes_are_told_with_the_nearest_name(project: pytest.Pytester) -> None:
    """Unknown metrics, categories and benchmarks are named."""
    project.makepyfile("""
        import pytest
        from truthguard import UsageError

        @pytest.mark.parametrize("arguments, hint", [
            (("faq", "mc9"), "mc"), (("faq", "mc1", "Betta"), "Beta"), (("startr", "mc1"), "starter"),
        ])
        def test_it(truthguard, arguments, hint):
            benchmark, metric, *category = arguments
            with pytest.raises(UsageError, match=hint):
                truthguard.score(benchmark, metric, category=category[0] if category else None)
    """)
    project.runpytest_inprocess(*MODEL).assert_outcomes(passed=3)


def test_the_fixture_without_a_model_says_where_to_name_one(project: pytest.Pytester) -> None:
    """No model is a mistake of set-up, told as such."""
    project.makepyfile("def test_it(truthguard): truthguard.score('faq', 'mc1')")
    result = project.runpytest_inprocess("--truthguard-cache", "off")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no model is named*"])
