"""How far a judge's yes and no agree with labels: accuracy, Cohen's kappa, sensitivity and specificity.

All are functions of four counts. An item on which the judge gave no verdict is in none of them: whoever counts must
say how many there were. The intervals take the items as independent draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from truthguard.metrics.statistics import Interval, wilson
from truthguard.records import Missing


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often the judge said yes or no where the label says yes or no; yes is positive, true is agreement.

    Raises ValueError for a negative count.
    """

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    def __post_init__(self) -> None:
        if min(astuple(self)) < 0:
            raise ValueError(f"a count cannot be negative, got {self}")

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """The counts of (label, verdict) pairs.

        >>> Confusion.of([(True, True), (True, False), (False, True), (True, True)])
        Confusion(true_positive=2, false_positive=1, false_negative=1, true_negative=0)
        """
        seen = Counter((bool(label), bool(verdict)) for label, verdict in pairs)
        return cls(seen[True, True], seen[False, True], seen[True, False], seen[False, False])

    @property
    def n(self) -> int:
        """All items."""
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """Items that the label calls yes."""
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        """Items that the label calls no."""
        return self.false_positive + self.true_negative


@dataclass(frozen=True, slots=True)
class Share:
    """A share of `n` items, with Wilson's interval."""

    estimate: float
    n: int
    interval: Interval


def accuracy(counts: Confusion, confidence: float) -> Share | Missing:
    """(TP + TN) / n: the share of all items on which judge and label agree.

    Range: 0 to 1. Missing: no item. Raises ValueError for a confidence outside 0 to 1.

    >>> accuracy(Confusion(20, 5, 10, 15), 0.95).estimate
    0.7
    """
    return _share(counts.true_positive + counts.true_negative, counts.n, "items", confidence)


def sensitivity(counts: Confusion, confidence: float) -> Share | Missing:
    """TP / (TP + FN): of the items labelled yes, the share to which the judge says yes.

    Range: 0 to 1. Missing: no item labelled yes. Errors: as `accuracy`.

    >>> share = sensitivity(Confusion(15, 5, 5, 15), 0.95)
    >>> share.estimate, share.n
    (0.75, 20)
    """
    return _share(counts.true_positive, counts.positives, "items labelled yes", confidence)


def specificity(counts: Confusion, confidence: float) -> Share | Missing:
    """TN / (TN + FP): of the items labelled no, the share to which the judge says no.

    Range: 0 to 1. Missing: no item labelled no. Errors: as `accuracy`.

    >>> specificity(Confusion(20, 0, 10, 0), 0.95)
    Missing(kind='no_items', detail='there are no items labelled no')
    """
    return _share(counts.true_negative, counts.negatives, "items labelled no", confidence)


def kappa(counts: Confusion) -> float | Missing:
    """(a - c) / (1 - c): the accuracy a beyond what chance agreement c would give, as a share of what it could be.

    c = (positives * P + negatives * N) / n^2 with P and N the judge's own yes and no. Range: -1 to 1; 0 for a judge
    that always says the same. Missing: no item; judge and labels all one and the same, which leaves 0/0. Source:
    Cohen, A coefficient of agreement for nominal scales (1960).

    >>> kappa(Confusion(20, 5, 10, 15)), kappa(Confusion(5, 5, 0, 0))
    (0.4, 0.0)
    """
    if not counts.n:
        return Missing("no_items", "there are no items")
    said_yes = counts.true_positive + counts.false_positive
    said_no = counts.n - said_yes
    # The same quotient in whole numbers, so that it is rounded once.
    beyond = 2 * (counts.true_positive * counts.true_negative - counts.false_positive * counts.false_negative)
    most = said_yes * counts.negatives + said_no * counts.positives
    if not most:
        same = "yes" if counts.true_positive else "no"
        return Missing("constant", f"judge and label say {same} to every item: agreement by chance is complete")
    return beyond / most


def _share(successes: int, n: int, of_what: str, confidence: float) -> Share | Missing:
    if not n:
        return Missing("no_items", f"there are no {of_what}")
    return Share(successes / n, n, wilson(successes, n, confidence))
