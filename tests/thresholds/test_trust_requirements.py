"""Whether a judge has earned trust: missing, stale and failed requirements, and what two trust files make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.thresholds.trusted import ENTRY, JUDGE, RECORD
from truthguard.records import Missing, TrustedJudge, TrustedMetric, TrustedSet, TrustRecord
from truthguard.thresholds.trust import Current, Place, merged, staleness, unmet

LOCAL = replace(JUDGE, name="models/judge.gguf", digest="1" * 64, revision="v1", dtype="float32")
PLACE = Place(Path("gate/thresholds.toml"), Path("gate/judge_trust.json"), {"truthful_judge.accuracy"})
REQUIRES = {"truthful_judge.accuracy": 0.71}


def reasons(
    requires: Mapping[str, float] = REQUIRES,
    record: TrustRecord | Missing = RECORD,
    now: TrustedJudge = JUDGE,
) -> list[str]:
    return unmet(requires, record, {"truthful_judge": Current(now)}, PLACE)


def test_what_is_reached_is_earned() -> None:
    """The estimate counts, inclusive, with the gate's tolerance; without requirements everything is earned."""
    assert reasons() == []
    assert reasons({"truthful_judge.accuracy": 0.7100000000001}) == []
    assert unmet({}, Missing("no_file", "there is none"), {}, PLACE) == []


def test_a_number_below_is_told_with_what_it_rests_on() -> None:
    """The estimate, the requirement, n, the interval and the unscored; more digits where four hide the difference."""
    (reason,) = reasons({"truthful_judge.accuracy": 0.85})
    assert reason == (
        "truthful_judge.accuracy: 0.7100 < 0.8500 (n = 200, 0.6436 to 0.7686 at confidence 0.95, 3 unscored,"
        " in gate/judge_trust.json): use a judge that reaches it"
    )
    assert "0.71000 < 0.71001" in reasons({"truthful_judge.accuracy": 0.71001})[0]


def test_a_missing_file_is_told_with_the_command_that_makes_it() -> None:
    """One reason for each requirement, with the row that the thresholds file lacks."""
    found = reasons({"truthful_judge.accuracy": 0.8, "autoj.without_ties": 0.5}, Missing("no_file", "there is no x"))
    assert found == [
        "truthful_judge.accuracy: no trust record: there is no x; measure it with the same judge:"
        " pytest gate/thresholds.toml -k truthful_judge --truthguard-save-trust gate/judge_trust.json",
        "autoj.without_ties: no trust record: there is no x; measure it with the same judge:"
        " pytest gate/thresholds.toml -k autoj --truthguard-save-trust gate/judge_trust.json,"
        " with a row [autoj.without_ties] in that file",
    ]


def test_the_command_can_be_pasted_whatever_the_folder_is_called() -> None:
    """A path with a space is one word."""
    place = Place(Path("my gate/thresholds.toml"), Path("my gate/trust.json"), {"truthful_judge.accuracy"})
    (reason,) = unmet(REQUIRES, Missing("no_file", "there is none"), {}, place)
    assert reason.endswith(
        "pytest 'my gate/thresholds.toml' -k truthful_judge --truthguard-save-trust 'my gate/trust.json'"
    )


def test_a_judge_that_cannot_be_compared_has_earned_nothing() -> None:
    """The file of its words is not here, say: the reason is told, and no number is looked at."""
    now = {"truthful_judge": Missing("no_comparison", "no data: get the files")}
    (reason,) = unmet({"truthful_judge.accuracy": 0.99}, RECORD, now, PLACE)
    assert reason == (
        "truthful_judge.accuracy: gate/judge_trust.json cannot be compared with the judge as it is:"
        " no data: get the files"
    )


@pytest.mark.parametrize("required", ["truthful_judge.kappa", "vicuna_bench.pearson"])
def test_an_entry_that_is_not_there_is_missing(required: str) -> None:
    """The set was not measured, or the metric could not be: neither is a pass."""
    (reason,) = reasons({required: 0.1})
    assert "gate/judge_trust.json does not have it; measure it" in reason


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "openai:other"}, "the judge's name changed from 'openai:judge' to 'openai:other'"),
        ({"kind": "logprob"}, "the judge's kind changed from 'rubric' to 'logprob'"),
        ({"prompt_digest": "b" * 64}, "the judge's prompt changed from aaaaaaaaaaaa to bbbbbbbbbbbb"),
        ({"prompt_digest": None}, "the judge's prompt changed from aaaaaaaaaaaa to none"),
        ({"digest": "2" * 64}, "the judge's weights changed from none to 222222222222"),
        ({"revision": "v2"}, "the judge's revision changed from none to 'v2'"),
        ({"dtype": "float16"}, "the judge's dtype changed from '' to 'float16'"),
        (
            {"settings": {**JUDGE.settings, "system_prompt": "Be kind."}},
            "the judge's system_prompt changed from 'Be strict.' to 'Be kind.'",
        ),
        ({"settings": {**JUDGE.settings, "max_tokens": 99}}, "the judge's max_tokens changed from 512 to 99"),
        (
            {"settings": {"max_tokens": 512, "chat_template": True}},
            "the judge's system_prompt changed from 'Be strict.' to none",
        ),
    ],
)
def test_each_change_makes_the_record_stale(changes: dict[str, Any], told: str) -> None:
    """Named with both values; the number is no longer looked at."""
    (reason,) = reasons({"truthful_judge.accuracy": 0.99}, now=replace(JUDGE, **changes))
    assert f"gate/judge_trust.json is stale: {told}; measure it with the same judge: pytest" in reason
    assert "0.99" not in reason


def test_other_weights_are_another_judge_and_another_path_is_not() -> None:
    """The path of the same file differs from machine to machine: the digest decides."""
    entry = replace(ENTRY, judge=LOCAL)
    assert staleness(entry, Current(replace(LOCAL, name="/elsewhere/judge.gguf", revision=None))) == []
    (change,) = staleness(entry, Current(replace(LOCAL, digest="2" * 64)))
    assert change == "the judge's weights (models/judge.gguf) changed from 111111111111 to 222222222222"


def test_other_data_and_another_way_of_asking_are_told_where_they_are_known() -> None:
    """The settings of a set of graded responses, and its items' digest; what is not known here changes nothing."""
    asked = TrustedSet("direct", "default", "both", reference=True, grades=False)
    entry = replace(ENTRY, asked=asked)
    assert staleness(entry, Current(JUDGE, asked, "d" * 64)) == []
    assert staleness(entry, Current(JUDGE)) == []
    assert staleness(entry, Current(JUDGE, replace(asked, prompt="paper", reference=False), "e" * 64)) == [
        "prompt changed from 'default' to 'paper'",
        "reference changed from true to false",
        "the data changed from dddddddddddd to eeeeeeeeeeee",
    ]


def test_what_a_file_says_cannot_act_on_the_terminal() -> None:
    """A trust file comes from elsewhere: its texts are shown escaped."""
    for edited in ({"name": "x\x1b[31m"}, {"settings": {**JUDGE.settings, "x\x1b[31m": 1}}):
        (change,) = staleness(replace(ENTRY, judge=replace(JUDGE, **edited)), Current(JUDGE))
        assert "\x1b" not in change
    (reason,) = reasons(record=Missing("unreadable", "written by x\x1b[31m"))
    assert "\x1b" not in reason


def test_a_new_measurement_replaces_the_old_one_of_the_same_set() -> None:
    """With all of its metrics: a metric that could not be measured again is no longer there."""
    old = replace(ENTRY, metrics={"kappa": TrustedMetric(0.4, None, None, 0.95, 9, 0)})
    record, left_out = merged(replace(RECORD, benchmarks={"truthful_judge": old}), RECORD)
    assert record == RECORD
    assert left_out == ()


def test_sets_of_the_same_judge_stay_and_those_of_another_leave() -> None:
    """A file is about one judge; one without a model (similarity) may stand beside it."""
    similarity = TrustedJudge("similarity", None, None, None, None, {"measure": "rouge1"}, None)
    old = {
        "autoj": replace(ENTRY, judge=replace(JUDGE, kind="prometheus", prompt_digest="c" * 64)),
        "injection": replace(ENTRY, judge=replace(JUDGE, name="openai:other")),
        "mine": replace(ENTRY, judge=similarity),
    }
    record, left_out = merged(replace(RECORD, benchmarks=old), RECORD)
    assert list(record.benchmarks) == ["autoj", "mine", "truthful_judge"]
    assert left_out == ("injection",)
