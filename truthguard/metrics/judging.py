"""Statistics of a judge over the items of a set: correlations, kappa, consistency, by the bootstrap of items.

None of them is a mean over items, so nothing is known of one with a missing item: there are no bounds over all items,
and what could not be scored stands beside the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from truthguard.catalogue import GRADE_RUN, VERDICT, Metric, metric_of
from truthguard.metrics import consistency, correlation
from truthguard.metrics.agreement import Confusion, kappa
from truthguard.metrics.correlation import kendall, pearson, spearman
from truthguard.metrics.disagreement import SIDES
from truthguard.metrics.paired import paired_bootstrap
from truthguard.metrics.participation import part_of, run_columns
from truthguard.metrics.resampling import RESAMPLES, Bootstrap, bootstrap, row_generator
from truthguard.records import ItemScores, Missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistic = Callable[[NDArray[np.intp]], float | None]

_CORRELATIONS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
# The same for every row: two rows differ by their names.
_SEED = 0


def value_of(items: Sequence[ItemScores], metric: str) -> float | Missing:
    """The statistic over the scored items, or why it is undefined.

    A correlation of the mean of an item's readable grades with the reference's mean, or people's; kappa of the judge's
    verdicts and the labels; ordinal alpha over the runs. Raises ValueError for a value that is not finite, and for a
    verdict or a label that is neither 0 nor 1.
    """
    spec, scored = metric_of(metric), _scored(items, metric)
    if spec.columns == (GRADE_RUN,):
        return consistency.ordinal_alpha(_runs(scored))
    x, y = (_column(scored, name) for name in spec.columns)
    if VERDICT in spec.columns:
        return kappa(Confusion.of(zip(map(_is_yes, y), map(_is_yes, x), strict=True)))
    return _correlation(spec)(x, y, (SIDES[spec.columns[0]], SIDES[spec.columns[1]]))


def resamples(items: Sequence[ItemScores], metric: str, seed_name: str) -> Bootstrap:
    """The statistic on 10,000 resamples of the scored items, for its interval and its test.

    Items that share a prompt are drawn together. The draws follow from `seed_name` and the scored items alone: neither
    their order nor any item without a score moves them. Raises ValueError as `value_of`, and for no scored item.
    """
    scored = sorted(_scored(items, metric), key=lambda item: item.id)
    statistic = _on_resamples(scored, metric_of(metric))
    groups = [cluster_of(item) for item in scored]
    return bootstrap(statistic, len(scored), row_generator(_SEED, seed_name), RESAMPLES, groups)


def paired_resamples(
    baseline: Sequence[ItemScores], candidate: Sequence[ItemScores], metric: str, seed_name: str
) -> Bootstrap:
    """The drop of the statistic, baseline minus candidate, on 10,000 resamples of the items that both have scored.

    The two hold the same items, all scored, in any order; both sides are drawn alike, by the candidate's prompts, and
    the draws follow from `seed_name` and the items as in `resamples`. Raises ValueError as `resamples`, and for items
    that are not the same.
    """
    old, new = (sorted(_scored(items, metric), key=lambda item: item.id) for items in (baseline, candidate))
    if [item.id for item in old] != [item.id for item in new]:
        raise ValueError(f"a comparison of {metric} needs the same scored items on both sides")
    spec = metric_of(metric)
    before, now = _on_resamples(old, spec), _on_resamples(new, spec)
    groups = [cluster_of(item) for item in new]
    return paired_bootstrap(before, now, len(new), row_generator(_SEED, seed_name), groups)


def cluster_of(item: ItemScores) -> str:
    """What items that share a prompt have in common: their group, else the question without the space around it."""
    return item.question.strip() if item.group is None else item.group


def _scored(items: Sequence[ItemScores], metric: str) -> list[ItemScores]:
    return [item for item in items if part_of(item, metric) == "scored"]


def _on_resamples(scored: Sequence[ItemScores], spec: Metric) -> Statistic:
    if spec.columns == (GRADE_RUN,):
        return consistency.on_resamples(_runs(scored))
    x, y = (_column(scored, name) for name in spec.columns)
    if VERDICT in spec.columns:
        return _kappa_on_resamples(x, y)
    return correlation.on_resamples(_correlation(spec), x, y)


def _kappa_on_resamples(verdicts: Sequence[float], labels: Sequence[float]) -> Statistic:
    import numpy as np

    cells = np.array([2 * _is_yes(label) + _is_yes(verdict) for verdict, label in zip(verdicts, labels, strict=True)])

    def value(items: NDArray[np.intp]) -> float | None:
        no_no, no_yes, yes_no, yes_yes = np.bincount(cells[items], minlength=4).tolist()
        found = kappa(Confusion(yes_yes, no_yes, yes_no, no_no))
        return None if isinstance(found, Missing) else found

    return value


def _correlation(spec: Metric) -> Callable[[Sequence[float], Sequence[float], tuple[str, str]], float | Missing]:
    return _CORRELATIONS[spec.name.removesuffix("_human")]


def _column(scored: Sequence[ItemScores], name: str) -> list[float]:
    return [cast(float, item.values[name]) for item in scored]


def _runs(scored: Sequence[ItemScores]) -> list[list[float]]:
    """The readable grades of each item."""
    return [[value for run in run_columns(item) if (value := item.values[run]) is not None] for item in scored]


def _is_yes(value: float) -> bool:
    if value not in (0.0, 1.0):
        raise ValueError(f"a verdict and a label are 0 or 1, got {value!r}")
    return value == 1.0
