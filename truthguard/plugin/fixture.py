"""The `truthguard` fixture: scores and checks inside anybody's own tests."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from truthguard.benchmarks.dialogues import unavailable
from truthguard.benchmarks.judging import undecidable
from truthguard.benchmarks.labels import unmeasurable
from truthguard.catalogue import BENCHMARKS, METRICS, default_prompt, printed_judge, variant
from truthguard.errors import TruthguardError, UsageError, nearest
from truthguard.plugin.collecting import misnamed
from truthguard.plugin.estimating import REASON
from truthguard.plugin.measuring import models
from truthguard.records import Bar, BenchmarkSettings, Row, RowResult
from truthguard.thresholds.gate import failure_text
from truthguard.thresholds.gate import judge as hold_to_bar
from truthguard.thresholds.reading import check_limits
from truthguard.thresholds.spec import JudgeSpec

if TYPE_CHECKING:
    from truthguard.plan import Plan
    from truthguard.plugin.state import State
    from truthguard.records import MetricSummary, Run


class Score(float):
    """A score that compares like the number it is; `summary` has n, the interval and what is missing."""

    summary: MetricSummary


class Truthguard:
    """Measures the configured model: `--truthguard-model`, TRUTHGUARD_MODEL, thresholds.toml or the ini value.

    Benchmarks that the root directory's thresholds.toml sets up (own questions, a version, a prompt) are used
    as they stand there; a built-in one that it does not name has its defaults.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def score(self, benchmark: str, metric: str, *, category: str | None = None) -> Score:
        """The mean of a metric over a benchmark, or over one category of it.

        Unscored items fail the test as they would fail the gate. Raises UsageError for a name that is not there.
        """
        __tracebackhide__ = True
        result, _ = self._measure(benchmark, metric, category, Bar())
        return _score(result)

    def check(
        self,
        benchmark: str,
        metric: str,
        *,
        category: str | None = None,
        min: float | None = None,
        max: float | None = None,
        max_unscored: float | None = None,
    ) -> Score:
        """Fail the test with the gate's own text unless the score is at least `min` and at most `max`.

        Raises UsageError for a name that is not there and for a bar that the thresholds file would refuse.
        """
        __tracebackhide__ = True
        if min is None and max is None:
            raise UsageError("check() needs a bar: min, max or both")
        result, run = self._measure(benchmark, metric, category, Bar(min=min, max=max), max_unscored)
        score = _score(result)
        if result.verdict == "fail":
            pytest.fail(failure_text(result, run), pytrace=False)
        return score

    def _measure(
        self, benchmark: str, metric: str, category: str | None, bar: Bar, max_unscored: float | None = None
    ) -> tuple[RowResult, Run]:
        __tracebackhide__ = True
        problem: TruthguardError
        try:
            return self._measured(benchmark, metric, category, bar, max_unscored)
        except TruthguardError as error:
            problem = error
        # Raised here, so that the user's test is shown and not how the mistake was found.
        if isinstance(problem, UsageError):
            raise UsageError(problem.mistakes)
        pytest.fail(str(problem), pytrace=False)

    def _measured(
        self, benchmark: str, metric: str, category: str | None, bar: Bar, max_unscored: float | None
    ) -> tuple[RowResult, Run]:
        if metric not in METRICS:
            raise UsageError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
        check_limits(metric, min=bar.min, max=bar.max, max_unscored=max_unscored)
        plan = plan_of(self._state, benchmark)
        questions = plan.questions[benchmark]
        categories = dict.fromkeys(question.category for question in questions.items)
        if category is not None and category not in categories:
            raise UsageError(f"{benchmark} has no category {category!r}{nearest(category, categories)}")
        reason = unavailable(metric, questions, plan.settings[benchmark])
        reason = reason or undecidable(metric, plan.judge, questions.kind) or unmeasurable(questions, plan.judge)
        if reason:
            raise UsageError(f"{benchmark}: {reason}")
        if self._state.dry_run:
            self._ask_nothing(plan, benchmark, metric)
        _, run = self._state.run(plan, benchmark, frozenset([metric]))
        judge_model = None if plan.judge.model is None else plan.judge.model.label
        name = variant(metric, plan.settings[benchmark].normalization)
        row = Row(
            id=f"{benchmark}[{name}]" if category is None else f"{benchmark}[{name}: {category}]",
            benchmark=benchmark,
            metric=name,
            line=0,
            bar=bar,
            category=category,
            max_unscored=METRICS[metric].max_unscored if max_unscored is None else max_unscored,
            judge=printed_judge(metric, plan.judge.kind, judge_model, questions.kind),
        )
        return hold_to_bar(row, run, today=date.today()), run

    def _ask_nothing(self, plan: Plan, benchmark: str, metric: str) -> NoReturn:
        """A dry run: what the test would ask is counted at the end, and the test is skipped."""
        __tracebackhide__ = True
        for model in models(plan, benchmark, [metric]):
            if model is not None and (problem := misnamed(model)):
                raise UsageError(problem)
        self._state.asked.append((benchmark, metric))
        pytest.skip(REASON)


def plan_of(state: State, benchmark: str) -> Plan:
    """The plan of the root directory's thresholds file where it has the benchmark, else one of defaults."""
    from truthguard.plan import default_plan

    path = state.config.rootpath / "thresholds.toml"
    model: dict[str, Any] = {}
    judge = JudgeSpec()
    if path.is_file():
        plan = state.prepare(path)
        if benchmark in plan.questions:
            return plan
        model, judge = dict(plan.file_model), plan.file_judge
    options = state.options
    return default_plan(
        path,
        BenchmarkSettings(benchmark, prompt=default_prompt(BENCHMARKS.get(benchmark, "questions"))),
        options.model_settings(model),
        file_judge=judge,
        judge=options.judge_settings(judge, model),
        selection=options.selection(),
        data=options.get("data"),
    )


def _score(result: RowResult) -> Score:
    """The score of a row that could be measured; any other fails the test."""
    __tracebackhide__ = True
    if result.verdict == "error" or result.summary is None or result.summary.estimate is None:
        pytest.fail(result.reason, pytrace=False)
    score = Score(result.summary.estimate)
    score.summary = result.summary
    return score
