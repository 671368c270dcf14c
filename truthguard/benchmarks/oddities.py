"""What is unusual about items that a judge is measured on: counted under names of QuestionSet.counts, never dropped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from truthguard.records import GradedResponse, ResponsePair

# Reference grades of one response that lie this far apart contradict each other.
WIDE = 2


def of_responses(items: Sequence[GradedResponse]) -> Counter[str]:
    """The counts of graded responses."""
    alike = Counter((item.group, item.response, item.rubric) for item in items)
    return Counter(
        repeated_responses=alike.total() - len(alike),
        empty_responses=sum(not item.response for item in items),
        wide_scores=sum(max(item.scores) - min(item.scores) >= WIDE for item in items),
    )


def of_pairs(items: Sequence[ResponsePair]) -> Counter[str]:
    """The counts of pairs. Two pairs are equal if prompt and responses are, whichever stands first."""
    verdicts: defaultdict[tuple[str, tuple[str, ...]], list[str | None]] = defaultdict(list)
    for item in items:
        better = None if item.winner == "tie" else item.responses["ab".index(item.winner)]
        verdicts[item.instruction, tuple(sorted(item.responses))].append(better)
    identical = [item for item in items if item.responses[0] == item.responses[1]]
    return Counter(
        identical_responses=len(identical),
        identical_decided=sum(item.winner != "tie" for item in identical),
        contradicting_labels=sum(len(labels) for labels in verdicts.values() if len(set(labels)) > 1),
        empty_responses=sum(not all(item.responses) for item in items),
    )
