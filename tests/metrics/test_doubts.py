"""The responses that a person examines: which, in which order, with whose words."""

from __future__ import annotations

from truthguard.metrics.doubts import below_half
from truthguard.metrics.summary import clusters, summarise
from truthguard.records import ItemScores, Missing, Sample


def item(name: str, value: float | None, *samples: Sample, question: str = "?") -> ItemScores:
    reasons = {"correctness": Missing("failed", "no reply")} if value is None else {}
    return ItemScores(name, "all", question, {"correctness": value}, reasons, answer="said", samples=samples)


def said(kind: str, explanation: str, question: str = "correctness") -> Sample:
    verdict = kind if kind in ("yes", "no") else None
    return Sample(0, 0, verdict, kind, explanation, "stop", question)  # type: ignore[arg-type]


def test_the_lowest_come_first_and_equal_ones_in_their_order() -> None:
    """One half and above, and what is not scored, is not in the list."""
    values = {"a": 0.4, "b": 0.5, "c": 0.0, "d": None, "e": 0.4, "f": 1.0}
    found = below_half([item(name, value) for name, value in values.items()])
    assert [(doubt.item.id, doubt.correctness) for doubt in found] == [("c", 0.0), ("a", 0.4), ("e", 0.4)]


def test_the_words_are_those_of_the_majority_alone() -> None:
    """The first sample that says no and why; verdicts on other questions of the same answer have no say."""
    samples = (
        said("no", "not informative", "informative"),
        said("yes", "fine"),
        said("length", "cut"),
        said("no", " "),
        said("no", "Lima is not in Chile."),
    )
    (doubt,) = below_half([item("a", 1 / 3, *samples)])
    assert doubt.explanations == ("Lima is not in Chile.",)


def test_items_without_correctness_have_no_list() -> None:
    """A run of other metrics has nothing to examine."""
    assert below_half([ItemScores("a", "all", "?", {"mc1": 0.0})]) == ()


def test_responses_to_one_prompt_are_one_cluster() -> None:
    """Two responses to each of two prompts are two clusters, whose interval is wider than four items' would be."""
    items = [item(str(index), float(index < 2), question="AABB"[index]) for index in range(4)]
    assert clusters(items, "correctness") == ("A", "A", "B", "B")
    summary = summarise(items, "correctness", 0.95)
    assert (summary.estimate, summary.n, summary.chance) == (0.5, 4, None)
    assert summary.low is not None
    # Cluster sums deviate by +1 and -1: variance 2/1 * 2/16, t of one degree.
    assert round(0.5 - summary.low, 4) == round(0.5 * 12.7062, 4)
    assert clusters([*items, item("x", None)], "correctness") == ("A", "A", "B", "B")
