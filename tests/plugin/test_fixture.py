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


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("min=float('nan')", "nan"),
        ("min=70", "per cent"),
        ("min=-5", "per cent"),
        ("min=True", "true"),
        ("min='0.7'", "0.7"),
        ("max=0.5, max_unscored=7", "max_unscored"),
        ("min=0.6, max=0.5", "max"),
    ],
)
def test_a_bar_that_the_file_would_refuse_is_refused(project: pytest.Pytester, arguments: str, hint: str) -> None:
    """C21: a check in a test is held to the same rules, and the user sees their own line alone."""
    project.makepyfile(f"def test_it(truthguard): truthguard.check('faq', 'mc1', {arguments})")
    result = project.runpytest_inprocess(*MODEL)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *{hint}*"])
    result.stdout.no_fnmatch_line("*fixture.py:*: in *")
    assert requests(project) == []


def test_a_record_that_nobody_writes_is_said(project: pytest.Pytester) -> None:
    """--truthguard-json holds the rows of thresholds files: without one it is not silently ignored."""
    project.makepyfile("def test_it(truthguard): assert truthguard.score('faq', 'mc1') == 0.75")
    result = project.runpytest_inprocess(*MODEL, "--truthguard-json", "out.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*--truthguard-json*no thresholds file*"])
