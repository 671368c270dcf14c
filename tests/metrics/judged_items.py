"""Items on which a judge is measured, made for the tests."""

from __future__ import annotations

from collections.abc import Sequence

from truthguard.records import ItemScores, Missing, Sample, VerdictKind

UNPARSED = Missing("unparsed", "no grade could be read")
TIE = Missing("tie", "people call it a tie")


def graded(
    name: str,
    runs: float | Sequence[float | None] | None,
    reference: float,
    *,
    human: float | None = None,
    group: str | None = None,
    category: str = "chat",
) -> ItemScores:
    """A response with the judge's grade in each run (None: unread), the reference's and people's."""
    each = runs if isinstance(runs, Sequence) else [runs]
    readable = [run for run in each if run is not None]
    values: dict[str, float | None] = {"grade": sum(readable) / len(readable) if readable else None}
    values["reference"] = reference
    if human is not None:
        values["human"] = human
    values |= {f"grade_run{number}": run for number, run in enumerate(each, 1)}
    values["accuracy"] = float(readable[0] == reference) if readable else None
    reasons = {key: UNPARSED for key, value in values.items() if value is None}
    return ItemScores(name, category, f"prompt of {group or name}", values, reasons, group=group)


def graded_items(judge: str, reference: str) -> list[ItemScores]:
    """One item for each pair of grades, as cases.md writes them: "-" for one that was not read."""
    rows = zip(judge.split(), reference.split(), strict=True)
    return [
        graded(f"i{place}", None if grade == "-" else float(grade), float(other))
        for place, (grade, other) in enumerate(rows)
    ]


def labelled(name: str, verdict: bool | None, label: bool) -> ItemScores:
    """An answer with the judge's yes or no and people's label."""
    said = None if verdict is None else float(verdict)
    right = None if verdict is None else float(verdict == label)
    values = {"verdict": said, "label": float(label), "accuracy": right}
    values["sensitivity" if label else "specificity"] = right
    reasons = {key: UNPARSED for key, value in values.items() if value is None}
    return ItemScores(name, "labels", f"is {name} so?", values, reasons)


def pair(name: str, right: bool | None, *, tie: bool = False, verdicts: Sequence[VerdictKind] = ()) -> ItemScores:
    """A pair of responses; `tie` = people call it one; the verdicts are those with the first, the second as A."""
    value = None if right is None else float(right)
    values = {"with_ties": value} if tie else {"without_ties": value, "with_ties": value}
    reasons = {key: UNPARSED for key in values if value is None} | ({"without_ties": TIE} if tie else {})
    samples = tuple(
        Sample(0, 0, kind if kind in ("a", "b", "tie") else None, kind, "", "stop", question)
        for kind, question in zip(verdicts, ("first", "second"), strict=False)
    )
    return ItemScores(name, "chat", f"prompt of {name}", values, reasons, samples=samples)
