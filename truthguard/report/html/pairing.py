"""A record beside its baseline: which run answers to which, and the metric before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from truthguard.metrics.statistics import mean
from truthguard.records import ItemScores, JudgeRun, Run
from truthguard.report.html.measures import Measure


@dataclass(frozen=True)
class Pairing:
    """A run and the baseline's run of the same benchmark; items with one id are the same question."""

    run: Run
    before: Run

    @cached_property
    def items(self) -> Mapping[str, ItemScores]:
        """The baseline's items by id."""
        return {item.id: item for item in self.before.items}

    @cached_property
    def only_before(self) -> tuple[ItemScores, ...]:
        """The items that the baseline alone has."""
        here = {item.id for item in self.run.items}
        return tuple(item for item in self.before.items if item.id not in here)

    @property
    def only_here(self) -> int:
        return sum(item.id not in self.items for item in self.run.items)

    def pairs(self, metric: str) -> list[tuple[float, float]]:
        """Before and after of every item that both scored."""
        return [
            (then, now)
            for item in self.run.items
            if (now := item.values.get(metric)) is not None
            and (other := self.items.get(item.id)) is not None
            and (then := other.values.get(metric)) is not None
        ]


@dataclass(frozen=True, slots=True)
class Moved:
    """A metric before and after, over the `pairs` that both scored; both ways of a 0/1 metric counted."""

    measure: Measure
    pairs: tuple[tuple[float, float], ...]
    before: float
    after: float

    @property
    def better(self) -> int:
        return sum(_rose(self.measure, pair) > 0 for pair in self.pairs)

    @property
    def worse(self) -> int:
        return sum(_rose(self.measure, pair) < 0 for pair in self.pairs)

    @property
    def good_in_both(self) -> int:
        """Of a 0/1 metric, the questions that were right and stayed so."""
        good = 0.0 if self.measure.smaller_is_better else 1.0
        return sum(pair == (good, good) for pair in self.pairs)


def moves(pairing: Pairing, measures: Sequence[Measure]) -> tuple[Moved, ...]:
    """Every measure that both sides have."""
    found = []
    for measure in measures:
        if measure.metric is not None and (pairs := pairing.pairs(measure.name)):
            before, after = (mean(side) for side in zip(*pairs, strict=True))
            found.append(Moved(measure, tuple(pairs), before, after))
    return tuple(found)


def incomparable(pairing: Pairing) -> tuple[str, ...]:
    """Why the numbers of the two runs do not mean the same, where they do not."""
    now, before = pairing.run, pairing.before
    reasons = []
    if now.data_sha256 != before.data_sha256:
        only = f"{pairing.only_here} only here, {len(pairing.only_before)} only in the baseline"
        reasons.append(f"the questions are not the same ({only}): what both have is compared by id")
    if now.judge is not None and before.judge is not None and _judge(now.judge) != _judge(before.judge):
        reasons.append("the judge is not the same, so that judged numbers do not compare")
    return tuple(reasons)


def _rose(measure: Measure, pair: tuple[float, float]) -> float:
    rise = pair[1] - pair[0]
    return -rise if measure.smaller_is_better else rise


def _judge(judge: JudgeRun) -> tuple[object, ...]:
    identity = judge.identity
    who = None if identity is None else (identity.name, identity.digest, identity.revision)
    return judge.kind, who, dict(judge.settings), judge.prompt_digest
