"""The questions with everything known of them, small enough to travel in the page.

JSON, deflated and in base64: no character of a record can be read as markup, and 817 questions with answers and
samples stay below 3 MB. An item and what the baseline says of it stand side by side, so that they deflate well.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from truthguard.catalogue import JUDGING_KINDS, LETTER_BIAS
from truthguard.metrics.disagreement import said
from truthguard.records import ItemScores, Missing, Run, Sample, ScoredChoice
from truthguard.report.html.measures import Measure, Seen, changed, seen
from truthguard.report.html.pairing import Pairing
from truthguard.report.html.writing import block, line

# More digits than the page prints.
_DIGITS = 7


def packed(runs: Sequence[tuple[Run, Sequence[Measure], Pairing | None]]) -> str:
    """The questions of all runs, for the page's script."""
    payload = {"runs": [_run(*each) for each in runs]}
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _run(run: Run, measures: Sequence[Measure], pairing: Pairing | None) -> dict[str, Any]:
    items = [_item(run, item, measures, pairing) for item in run.items]
    if pairing is not None:
        items += [_gone(item, measures) for item in pairing.only_before]
    return {
        "name": line(run.benchmark),
        "kind": run.kind,
        "paired": pairing is not None,
        "measures": [
            {"name": line(each.name), "printed": each.printed, "share": each.is_share, "bar": each.bar_text}
            for each in measures
        ],
        "items": items,
    }


def _item(run: Run, item: ItemScores, measures: Sequence[Measure], pairing: Pairing | None) -> dict[str, Any]:
    before = None if pairing is None else pairing.items.get(item.id)
    found = (seen(measure, item) for measure in measures)
    if pairing is not None:
        found = (changed(measure, now, item, before) for measure, now in zip(measures, found, strict=True))
    shown = _texts(item) | {
        "seen": [_seen(each) for each in found],
        "notes": _notes(item),
        "said": line(said(item)) if run.kind in JUDGING_KINDS else None,
        "values": _values(item, before),
        "choices": _choices(item.choices, () if before is None else before.choices),
        "samples": [_sample(sample) for sample in item.samples],
    }
    if before is not None:
        if before.answer is not None and before.answer != item.answer:
            shown["answer_before"] = block(before.answer)
        if before.samples != item.samples:
            shown["samples_before"] = [_sample(sample) for sample in before.samples]
    return {key: value for key, value in shown.items() if value not in (None, [], {})}


def _gone(item: ItemScores, measures: Sequence[Measure]) -> dict[str, Any]:
    """An item that only the baseline has."""
    found = [
        Seen(None, "unscored", None, item.values[measure.name], "only in the baseline")
        if measure.name in item.values
        else None
        for measure in measures
    ]
    return _texts(item) | {"seen": [_seen(each) for each in found], "values": _values(None, item)}


def _texts(item: ItemScores) -> dict[str, Any]:
    return {
        "id": line(item.id),
        "category": line(item.category),
        "question": block(item.question),
        "answer": None if item.answer is None else block(item.answer),
    }


def _seen(found: Seen | None) -> list[Any] | None:
    """[value, verdict, margin, before, change]."""
    if found is None:
        return None
    return [_number(found.value), found.verdict, _number(found.margin), _number(found.before), found.change]


def _values(item: ItemScores | None, before: ItemScores | None) -> list[list[Any]]:
    """[metric, now, before] of everything that was measured of the item."""
    now: Mapping[str, float | None] = {} if item is None else item.values
    then: Mapping[str, float | None] = {} if before is None else before.values
    return [
        [name.replace("_", " ") if name == LETTER_BIAS else line(name), _number(now.get(name)), _number(then.get(name))]
        for name in dict.fromkeys([*now, *then])
    ]


def _notes(item: ItemScores) -> list[str]:
    return [f"{line(name)}: {_reason(reason)}" for name, reason in item.reasons.items()]


def _reason(reason: Missing) -> str:
    return block(str(reason))


def _choices(choices: Sequence[ScoredChoice], before: Sequence[ScoredChoice]) -> list[list[Any]]:
    """[text, true, in_mc1, log_likelihood, tokens, p_yes, log_likelihood before, p_yes before]."""
    then = {(each.text, each.true): each for each in before}
    rows = []
    for choice in choices:
        other = then.get((choice.text, choice.true))
        rows.append(
            [
                block(choice.text),
                int(choice.true),
                int(choice.in_mc1),
                _number(choice.log_likelihood),
                choice.tokens,
                _number(choice.p_yes),
                None if other is None else _number(other.log_likelihood),
                None if other is None else _number(other.p_yes),
            ]
        )
    return rows


def _sample(sample: Sample) -> list[Any]:
    """[question, index, attempt, kind, verdict, explanation, finish_reason, missing]."""
    return [
        line(sample.question),
        sample.index,
        sample.attempt,
        sample.kind,
        None if sample.verdict is None else line(sample.verdict),
        block(sample.explanation),
        line(sample.finish_reason),
        None if sample.missing is None else _reason(sample.missing),
    ]


def _number(value: float | None) -> float | int | str | None:
    """Short, and with a name for what JSON has no number for."""
    if value is None:
        return None
    if not math.isfinite(value):
        return str(value)
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
