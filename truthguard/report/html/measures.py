"""What a question comes to by one metric: its value, which side of the bar it is on, and how far from the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from truthguard.catalogue import GRADE, NORMALIZATIONS, REFERENCE, Metric
from truthguard.metrics.choice import normalised
from truthguard.records import Bar, ItemScores, RowResult, Run
from truthguard.report.html.restored import known, name_of
from truthguard.report.terminal import bar_text
from truthguard.thresholds.comparing import TOLERANCE, at_least, at_most

Verdict = Literal["pass", "fail", "no bar", "unscored", "left out"]
Change = Literal["worse", "better", "same", "only here", "only in the baseline"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric by which the questions of a run can be seen. `bars` are by category or item, None = of all."""

    name: str
    printed: str
    metric: Metric | None
    bars: Mapping[str | None, Bar]

    @property
    def is_share(self) -> bool:
        return self.metric is not None and self.metric.scale == "share"

    @property
    def smaller_is_better(self) -> bool:
        return self.metric is not None and self.metric.smaller_is_better

    def bar_for(self, item: ItemScores) -> Bar:
        """The bar nearest to the item: its own, its category's, that of all."""
        found = (self.bars.get(name) for name in (item.id, item.category, None))
        return next(filter(None, found), Bar())

    @property
    def bar_text(self) -> str:
        return bar_text(self.bars.get(None, Bar()))


def measures(run: Run, results: Sequence[RowResult]) -> tuple[Measure, ...]:
    """The metrics of a run that have a value for each question: those with rows first, in the order of the file.

    Grades stand for the correlations that are made of them.
    """
    bars: dict[str, dict[str | None, Bar]] = {}
    for result in results:
        row = result.row
        if row.benchmark == run.benchmark:
            bars.setdefault(row.metric, {})[row.item or row.category] = row.bar
    there = dict.fromkeys(name for item in run.items for name in item.values)
    names = [name for name in bars if name in there]
    names += [name for name in there if name not in bars and (known(name) or name == GRADE)]
    return tuple(Measure(name, name_of(name, run), known(name), bars.get(name, {})) for name in names)


@dataclass(frozen=True, slots=True)
class Seen:
    """An item by one measure. `margin` is positive on the passing side; `before` the value in the baseline."""

    value: float | None
    verdict: Verdict
    margin: float | None
    before: float | None = None
    change: Change | None = None


def seen(measure: Measure, item: ItemScores) -> Seen | None:
    """The item by the measure; None where it is none of the measure's."""
    name = measure.name
    if name not in item.values:
        return Seen(None, "left out", None) if name in item.reasons else None
    value = item.values[name]
    if value is None:
        return Seen(None, "unscored", None)
    return Seen(value, _verdict(measure, item, value), _margin(measure, item, value))


def changed(measure: Measure, now: Seen | None, item: ItemScores, before: ItemScores | None) -> Seen | None:
    """What is seen now beside the baseline's value; a score that went missing is a change for the worse."""
    if now is None:
        return None
    if before is None or measure.name not in before.values:
        return Seen(now.value, now.verdict, now.margin, None, "only here")
    then = before.values[measure.name]
    return Seen(now.value, now.verdict, now.margin, then, _change(measure, (before, then), (item, now.value)))


def _change(measure: Measure, before: tuple[ItemScores, float | None], now: tuple[ItemScores, float | None]) -> Change:
    was, is_now = (None if value is None else _worth(measure, item, value) for item, value in (before, now))
    if was is None or is_now is None:
        return "same" if was is is_now else "better" if was is None else "worse"
    if abs(is_now - was) <= TOLERANCE:
        return "same"
    return "better" if is_now > was else "worse"


def _worth(measure: Measure, item: ItemScores, value: float) -> float:
    """The value so that more is better; a grade is as good as it is near to the reference's."""
    if measure.name == GRADE:
        reference = item.values.get(REFERENCE)
        return value if reference is None else -abs(value - reference)
    return -value if measure.smaller_is_better else value


def _verdict(measure: Measure, item: ItemScores, value: float) -> Verdict:
    if measure.is_share:
        return "pass" if value == (0.0 if measure.smaller_is_better else 1.0) else "fail"
    bar = measure.bar_for(item)
    if not bar:
        return "no bar"
    met = (bar.min is None or at_least(value, bar.min)) and (bar.max is None or at_most(value, bar.max))
    return "pass" if met else "fail"


def _margin(measure: Measure, item: ItemScores, value: float) -> float | None:
    """Nats between the best answer and the strongest other one for mc1, else the distance from the bar.

    Of a grade the distance from the reference's, negative. None for a yes or no, and without a bar.
    """
    if measure.name == GRADE:
        reference = item.values.get(REFERENCE)
        return None if reference is None else -abs(value - reference)
    if measure.is_share:
        is_choice = measure.metric is not None and measure.metric.elicitation == "log_likelihood"
        return _lead(item, measure.name) if is_choice else None
    bar = measure.bar_for(item)
    distances = [value - bar.min] if bar.min is not None else []
    distances += [bar.max - value] if bar.max is not None else []
    return min(distances, default=None)


def _lead(item: ItemScores, metric: str) -> float | None:
    normalization = next((name for name in NORMALIZATIONS[1:] if metric.endswith(f"_{name}")), "none")
    sides: dict[bool, list[float]] = {True: [], False: []}
    for choice in item.choices:
        if choice.in_mc1 and choice.log_likelihood is not None:
            try:
                number = normalised(choice.log_likelihood, normalization, choice.text, choice.tokens or 0)
            except ValueError:  # nothing to normalise by
                return None
            sides[choice.true].append(number)
    if not sides[True] or not sides[False]:
        return None
    lead = max(sides[True]) - max(sides[False])
    return lead if math.isfinite(lead) else None
