"""--truthguard-dry-run says what would be asked, and asks nothing."""

from __future__ import annotations

import doctest
import json

import pytest

from tests.plugin.projects import gate, requests, run
from truthguard.plugin import estimating

ROWS = "[faq.mc1]\nmin = 0.9\n[faq.truthful]\nmin = 0.9\n"
JUDGED = "[judge]\nsamples = 5\nmax_tokens = 100\n" + ROWS + "[faq.correctness]\nmin = 0.9\n"
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


def test_every_other_file_that_was_named_is_said_not_to_be_written(project: pytest.Pytester) -> None:
    """Reports, baseline and trust: a dry run has nothing to put there, and raises no bar."""
    gate(project, ROWS)
    names = ("html", "markdown", "save-baseline", "save-trust")
    before = (project.path / "thresholds.toml").read_bytes()
    named = [each for name in names for each in (f"--truthguard-{name}", f"out.{name}")]
    result = run(project, "--truthguard-dry-run", "--truthguard-update-thresholds", *named)
    assert result.ret == pytest.ExitCode.OK
    for name in names:
        result.stdout.fnmatch_lines([f"--truthguard-{name} *out.{name} was not written: a dry run measures nothing"])
        assert not (project.path / f"out.{name}").exists()
    result.stdout.fnmatch_lines(["--truthguard-update-thresholds: no bar was raised: a dry run measures nothing"])
    assert (project.path / "thresholds.toml").read_bytes() == before


def test_mistakes_are_still_mistakes(project: pytest.Pytester) -> None:
    """A dry run finds what a real one would find before it asks."""
    gate(project, "[faq.mc9]\nmin = 0.5\n")
    assert run(project, "--truthguard-dry-run").ret == pytest.ExitCode.USAGE_ERROR
    gate(project, ROWS)
    result = run(project, "--truthguard-dry-run", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is named*"])


TESTS = """
    import pytest

    @pytest.mark.parametrize("metric", ["mc1", "mc3", "truthful", "informative"])
    def test_it(truthguard, metric):
        truthguard.check("faq", metric, category="Beta", min=0.5)
        pytest.fail("a dry run must not come here")

    @pytest.fixture(scope="module")
    def score(truthguard):
        return truthguard.score("faq", "correctness")

    def test_setup(score):
        pytest.fail("nor here")

    def test_again(score):
        pytest.fail("nor here")
"""
DRY = ("--truthguard-dry-run", "--truthguard-model", "no/such-model", *JUDGE)


def test_tests_of_the_fixture_are_skipped_and_counted(project: pytest.Pytester) -> None:
    """One Score serves mc1 and mc3, one answer every judged metric; two verdicts and five samples: all at full size."""
    (project.path / "thresholds.toml").write_text("")
    project.makepyfile(TESTS.replace('"faq"', '"starter"').replace(', category="Beta"', ""))
    result = project.runpytest_inprocess(*DRY, "--truthguard-limit", "4")
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["*= truthguard =*"])
    model, judge, note = lines(result)
    assert model.startswith("dry run: no/such-model: 8 requests, about ")
    assert judge.startswith("dry run: no/such-judge: 28 requests, about ")
    assert judge.endswith(f" and {28 * 512:,} completion tokens")
    assert note.endswith("is skipped at the first score that it asks for: what it would ask after that is not counted")


def test_what_rows_and_tests_ask_alike_counts_once(project: pytest.Pytester) -> None:
    """A test that asks for what a row of the same file asks adds nothing but what is its own."""
    gate(project, JUDGED)
    project.makepyfile(TESTS)
    rows_alone = lines(run(project, *JUDGE, "--truthguard-dry-run", model="no/such-model"))
    result = project.runpytest_inprocess(*DRY, "thresholds.toml", ".")
    result.assert_outcomes(skipped=9)
    model, judge, _ = lines(result)
    assert model == rows_alone[0]
    assert judge.startswith("dry run: no/such-judge: 28 requests, about "), "the rows' 24 and four on informativeness"


@pytest.mark.slow
def test_workers_count_the_tests_of_the_fixture_once(project: pytest.Pytester) -> None:
    """Whichever worker skips a test, the sum is that of one process; with rows and without, and by the environment."""
    gate(project, JUDGED)
    project.makepyfile(TESTS)
    for named in ((), ("thresholds.toml", ".")):
        alone = lines(project.runpytest_subprocess(*DRY, *named))
        assert lines(project.runpytest_subprocess(*DRY, *named, "-n", "2")) == alone
        assert len(alone) == 3


def test_the_environment_may_ask_for_a_dry_run(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """TRUTHGUARD_DRY_RUN=1 prints the same; 0 is no dry run."""
    project.makepyfile("def test_it(truthguard): truthguard.score('faq', 'mc1')")
    arguments = ("--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off")
    monkeypatch.setenv("TRUTHGUARD_DRY_RUN", "1")
    result = project.runpytest_subprocess(*arguments)
    result.assert_outcomes(skipped=1)
    assert lines(result)[0].startswith("dry run: scripted:model:answer: 4 requests, about ")
    assert requests(project) == []
    monkeypatch.setenv("TRUTHGUARD_DRY_RUN", "0")
    result = project.runpytest_subprocess(*arguments)
    result.assert_outcomes(passed=1)
    assert lines(result) == []


def test_a_session_that_asks_nothing_prints_nothing(project: pytest.Pytester) -> None:
    """A dry run of tests that never ask is any other run of theirs."""
    project.makepyfile("def test_it(truthguard): pass")
    result = project.runpytest_inprocess(*DRY)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= truthguard =*")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((), "no model is named"),
        (("--truthguard-model", "http://user:s3cret@localhost:9/v1#m"), "*"),
    ],
)
def test_mistakes_of_tests_are_still_mistakes(project: pytest.Pytester, arguments: tuple[str, ...], hint: str) -> None:
    """As for rows: no model, or an impossible address, whose secret is kept."""
    project.makepyfile("def test_it(truthguard): truthguard.score('faq', 'mc1')")
    result = project.runpytest_inprocess("--truthguard-dry-run", *arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *UsageError*{hint}*"])
    assert lines(result) == []
    assert "s3cret" not in result.stdout.str() + result.stderr.str()


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
