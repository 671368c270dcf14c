"""--truthguard-dry-run says what would be asked, and asks nothing."""

from __future__ import annotations

import doctest
import json

import pytest

from tests.plugin.projects import gate, requests, run
from truthguard.plugin import estimating

ROWS = "[judge]\nsamples = 5\nmax_tokens = 100\n[faq.mc1]\nmin = 0.9\n[faq.truthful]\nmin = 0.9\n"
JUDGED = ROWS + "[faq.correctness]\nmin = 0.9\n"
JUDGE = ("--truthguard-judge", "no/such-judge")


def lines(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("dry run: ")]


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(estimating)
    assert results.attempted > 0
    assert results.failed == 0


def test_each_model_has_one_line(project: pytest.Pytester) -> None:
    """Four questions: a Score and an answer each; of the judge one verdict and five samples each. Exit 0."""
    gate(project, JUDGED)
    result = run(project, *JUDGE, "--truthguard-dry-run", "-rs", model="no/such-model")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(["SKIPPED*dry run"])
    model, judge = lines(result)
    assert model.startswith("dry run: no/such-model: 8 requests, about ")
    # Up to 50 tokens an answer; of multiple choice four short continuations a question.
    assert model.endswith("prompt and 256 completion tokens")
    assert judge.startswith("dry run: no/such-judge: 24 requests, about ")
    assert judge.endswith(" prompt and 2,400 completion tokens")
    result.stdout.no_fnmatch_line("*no row was gated*")


def test_only_selected_rows_are_counted(project: pytest.Pytester) -> None:
    """-k and a limit narrow the estimate as they narrow the run; a judge that is not asked has no line."""
    gate(project, JUDGED)
    arguments = (*JUDGE, "--truthguard-dry-run", "--truthguard-limit", "3", "-k", "mc1")
    (line,) = lines(run(project, *arguments, model="no/such-model"))
    assert line.startswith("dry run: no/such-model: 3 requests, about ")


def test_nothing_is_sent_loaded_or_kept(project: pytest.Pytester) -> None:
    """Neither a scripted model nor its module is touched, and no cache comes into being."""
    gate(project, ROWS)
    (project.path / "model.py").write_text("raise RuntimeError('imported')\n", encoding="utf-8")
    result = run(project, "--truthguard-dry-run", "--truthguard-cache", "answers")
    assert result.ret == pytest.ExitCode.OK
    assert requests(project) == []
    assert not (project.path / "answers").exists()


def test_the_record_says_that_it_was_dry(project: pytest.Pytester) -> None:
    """Rows without numbers, and no runs."""
    gate(project, ROWS)
    run(project, "--truthguard-dry-run", "--truthguard-json", "out.json").assert_outcomes(skipped=2)
    record = json.loads((project.path / "out.json").read_text(encoding="utf-8"))
    assert [(row["verdict"], row["reason"], row["n"]) for row in record["rows"]] == [("not_gated", "dry run", None)] * 2
    assert record["runs"] == []


def test_mistakes_are_still_mistakes(project: pytest.Pytester) -> None:
    """A dry run finds what a real one would find before it asks."""
    gate(project, "[faq.mc9]\nmin = 0.5\n")
    assert run(project, "--truthguard-dry-run").ret == pytest.ExitCode.USAGE_ERROR
    gate(project, ROWS)
    result = run(project, "--truthguard-dry-run", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is named*"])


def test_a_test_of_the_fixture_is_skipped(project: pytest.Pytester) -> None:
    """The fixture asks nothing either."""
    project.makepyfile("def test_it(truthguard): truthguard.score('faq', 'mc1')")
    result = project.runpytest_subprocess("--truthguard-dry-run", "--truthguard-model", "scripted:model:answer")
    result.assert_outcomes(skipped=1)
    assert requests(project) == []


@pytest.mark.slow
def test_workers_count_once(project: pytest.Pytester) -> None:
    """Each worker finds the same estimate, and the sum has it once."""
    gate(project, JUDGED)
    arguments = (*JUDGE, "--truthguard-dry-run")
    alone = lines(run(project, *arguments, model="no/such-model"))
    assert lines(run(project, *arguments, "-n", "2", model="no/such-model", in_process=False)) == alone != []


@pytest.mark.parametrize(
    "spec", ["http://user:s3cret@localhost:9/v1#m", "openai:", "http://localhost:9/v1?api_key=s3cret#m"]
)
def test_an_impossible_address_is_refused_and_its_secret_kept(project: pytest.Pytester, spec: str) -> None:
    """A dry run looks at the address as the real run would, and repeats no password."""
    result = run(project, "--truthguard-dry-run", model=spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "s3cret" not in result.stdout.str() + result.stderr.str()
