"""Shares of truthful answers corrected for what is known of the judge's errors, as lines for the summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from truthguard.records import CorrectedRate, RowResult
from truthguard.text import visible

ASSUMPTION = "  this assumes that sensitivity and specificity carry over to this model's answers"


def corrected_lines(results: Sequence[RowResult], *, verbose: int = 0) -> list[str]:
    """One line for each corrected row and one for what that assumes; none without any.

    Slices have theirs with `verbose` above 0 and are counted otherwise.
    """
    corrected = [(result, result.corrected) for result in results if result.corrected is not None]
    shown = [(result, rate) for result, rate in corrected if verbose > 0 or _whole(result)]
    if not corrected:
        return []
    hidden = sum(rate.undefined is None for _, rate in corrected) - sum(rate.undefined is None for _, rate in shown)
    more = [f"{hidden} slices are corrected, too (-v lists them)"] if hidden else []
    assumption = [ASSUMPTION] if any(rate.undefined is None for _, rate in corrected) else []
    return [*_lines(shown), *more, *assumption]


def _whole(result: RowResult) -> bool:
    return result.row.category is None and result.row.item is None


def _lines(shown: Iterable[tuple[RowResult, CorrectedRate]]) -> list[str]:
    return [f"{visible(result.row.id, 200)}: {_observed(result)}{_text(rate)}" for result, rate in shown]


def _observed(result: RowResult) -> str:
    estimate = None if result.summary is None else result.summary.estimate
    return "" if estimate is None else f"{estimate:.4f} observed, "


def _text(rate: CorrectedRate) -> str:
    errors = (
        f"sensitivity {rate.sensitivity:.4f} of {rate.n_positive:,},"
        f" specificity {rate.specificity:.4f} of {rate.n_negative:,}"
    )
    if rate.undefined is not None or rate.estimate is None or rate.low is None or rate.high is None:
        return f"not to be corrected for the judge's errors ({errors}): {rate.undefined}"
    clipped = "" if rate.unclipped == rate.estimate else f", {rate.unclipped:.4f} before it was clipped"
    interval = f"[{rate.low:.4f}, {rate.high:.4f}] at confidence {rate.confidence:g}"
    return f"{rate.estimate:.4f} {interval} corrected for the judge's errors ({errors}{clipped})"
