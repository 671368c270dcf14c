"""Baselines in a session: saved, read, compared, refused; in one process and under xdist."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.projects import gate, requests, run
from truthguard.store.baseline import read_baseline
from truthguard.store.record import read_record

DROP = "[faq.mc1]\nmax_drop = 0\n"
SAVE, READ = "--truthguard-save-baseline", "--truthguard-baseline"


def better(project: pytest.Pytester) -> None:
    """The model that is right about the last question, too."""
    model = project.path / "model.py"
    model.write_text(model.read_text().replace('lies = "Which of 3" in text', "lies = False"), encoding="utf-8")


def worse(project: pytest.Pytester) -> None:
    """The model as it was made: wrong about the last question."""
    model = project.path / "model.py"
    model.write_text(model.read_text().replace("lies = False", 'lies = "Which of 3" in text'), encoding="utf-8")


def save(
    project: pytest.Pytester, name: str = "base.json", text: str = "[faq.mc1]\nmin = 0\n[faq.mc2]\nmin = -1\n"
) -> None:
    """A baseline of the model as it is now."""
    gate(project, text, "saving.toml")
    result = run(project, "saving.toml", SAVE, name)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([f"the baseline is saved in *{name}: faq (4 items; mc1*"])


def test_a_model_passes_against_its_own_baseline(project: pytest.Pytester) -> None:
    """Nothing changed: undecided at most, and said in one line of the summary, with what could have been shown."""
    save(project)
    gate(project, DROP)
    result = run(project, READ, "base.json")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "faq *mc1*max_drop 0.0*pass*",
            "faq[[]mc1]: drop 0.0000 [[]-0.4899, 0.4899] against base.json, n = 4; one-sided p = 0.5 that it is above 0"
            " (alpha = 0.05); exact McNemar p = 1; 0 worse, 0 better; could show a drop of 0.6216 with 80 % power",
            "faq beside base.json of 20*",
            "*asked in the same way of the same model*",
        ]
    )


def test_a_drop_fails_by_the_number_and_an_improvement_passes(project: pytest.Pytester) -> None:
    """One of four questions lost fails under estimate; the mirror image passes."""
    better(project)
    save(project, "good.json")
    worse(project)
    save(project, "bad.json")
    gate(project, DROP + 'block_on = "estimate"\n')
    result = run(project, READ, "good.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "faq: mc1 of all questions does not meet its bar: drop 0.2500 > 0.0000 (max_drop) against good.json",
            "  drop      0.2500 against good.json, n = 4 pairs",
            "  Worse by most than in good.json:",
            "    q3  1 before, 0 now: best answer * behind the strongest other",
            "      Which of 3 is it?",
        ]
    )
    better(project)
    result = run(project, READ, "bad.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["faq[[]mc1]: drop -0.2500 * against bad.json*"])


def questions(n: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{number:03}",
            "question": f"Which of {number:03} is it?",
            "correct_answers": ["It is right."],
            "incorrect_answers": ["It is wrong."],
        }
        for number in range(n)
    ]


@pytest.mark.parametrize("mirrored", [False, True])
def test_c19_a_worked_example_in_a_real_session(project: pytest.Pytester, mirrored: bool) -> None:
    """C19: a record made by hand as baseline; 0.06 lower fails, p = 0.00365; 0.06 higher is named an improvement."""
    (project.path / "faq.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions(200)), "utf-8")
    model = project.path / "model.py"
    before, now = set(range(156)), {*range(140), *range(156, 160)}
    if mirrored:
        before, now = now, before
    wrong = f'any(f"Which of {{n:03}} " in text for n in {sorted(set(range(200)) - now)})'
    model.write_text(model.read_text().replace('"Which of 3" in text', wrong, 1), encoding="utf-8")
    gate(project, "[faq.mc1]\nmin = 0\n", "saving.toml")
    assert run(project, "saving.toml", "--truthguard-json", "base.json").ret == pytest.ExitCode.OK
    record = json.loads((project.path / "base.json").read_text("utf-8"))
    for number, item in enumerate(record["runs"][0]["items"]):
        item["values"]["mc1"] = float(number in before)
    (project.path / "base.json").write_text(json.dumps(record), "utf-8")
    gate(project, DROP)
    result = run(project, READ, "base.json", "--truthguard-json", "out.json")
    row = read_record(project.path / "out.json").rows[0]
    (drop,) = row.drops
    assert (drop.worse, drop.better, drop.n) == ((4, 16, 200) if mirrored else (16, 4, 200))
    if mirrored:
        result.assert_outcomes(passed=1)
        words = "improved by 0.0600 against base.json, one-sided p = 0.00365"
        result.stdout.fnmatch_lines([f"*faq[[]mc1]: pass: {words}", f"faq[[]mc1]: {words}; drop -0.0600 *"])
    else:
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "*bar: drop 0.0600 > 0.0000 (max_drop) against base.json, shown by a one-sided test: p = 0.00365,*",
                "  interval  0.0179 to 0.1090 at confidence 0.95",
                "  one-sided p = 0.00365 * exact McNemar p = 0.01182",
                "faq[[]mc1]: drop 0.0600 [[]0.0179, 0.1090] against base.json, n = 200; one-sided p = 0.00365 *",
            ]
        )
        assert row.bar == {"max_drop": 0.0, "drop_block_on": "proof"}


def test_max_drop_without_a_baseline_is_an_error(project: pytest.Pytester) -> None:
    """Not a pass and not a failure: E, with the option's name; and the first baseline can be made all the same."""
    gate(project, DROP + "[faq.mc2]\nmin = -1\n")
    result = run(project, SAVE, "base.json")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*max_drop is held against a baseline, and none is named*--truthguard-baseline FILE*"])
    assert set(read_baseline(project.path / "base.json").runs) == {"faq"}
    run(project, READ, "base.json").assert_outcomes(passed=2)


def test_a_baseline_of_other_questions_is_refused(project: pytest.Pytester) -> None:
    """The row is an error with the reason and the way out; one without max_drop is judged, and the summary says it."""
    save(project)
    file = project.path / "faq.jsonl"
    file.write_text(file.read_text().replace("It is so.", "So it is."), encoding="utf-8")
    gate(project, DROP + "[faq.mc2]\nmin = -1\n")
    result = run(project, READ, "base.json")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*max_drop: not comparable with base.json: the data changed from *; make a new baseline*",
            "warning: faq: not comparable with base.json: the data changed*",
        ]
    )


def test_fewer_questions_than_the_baseline_are_an_error(project: pytest.Pytester) -> None:
    """A sample is not compared with the whole, unless max_unscored allows it."""
    save(project)
    gate(project, DROP)
    result = run(project, READ, "base.json", "--truthguard-limit", "3")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*1 of 4 items of mc1 have no counterpart*1 only in base.json (q3)*"])
    gate(project, DROP + "max_unscored = 0.25\n")
    result = run(project, READ, "base.json", "--truthguard-limit", "3")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*n = 3;*1 only in the baseline: q3*", "*limit changed from none to 3*"])


def test_two_baselines_must_both_hold(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option twice, or the variable; each has its line, its differences and its JUnit properties."""
    save(project, "last.json")
    better(project)
    save(project, "anchor.json")
    worse(project)
    gate(project, DROP + 'block_on = "estimate"\n')
    run(project, READ, "last.json").assert_outcomes(passed=1)
    result = run(project, READ, "last.json", READ, "anchor.json", "--junit-xml", "out.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*bar: drop 0.2500 > 0.0000 (max_drop) against anchor.json",
            "faq[[]mc1]: drop 0.0000 * against last.json*",
            "faq[[]mc1]: drop 0.2500 * against anchor.json*",
            "faq beside last.json of *",
            "faq beside anchor.json of *",
        ]
    )
    named = {each.attrib["name"]: each.attrib["value"] for each in ET.parse(project.path / "out.xml").iter("property")}
    assert named["truthguard_bar_max_drop"] == "0.0"
    assert (named["truthguard_drop_baseline"], named["truthguard_drop_estimate"]) == ("last.json", "0.0")
    assert (named["truthguard_drop2_baseline"], named["truthguard_drop2_estimate"]) == ("anchor.json", "0.25")
    monkeypatch.setenv("TRUTHGUARD_BASELINES", os.pathsep.join(["last.json", "anchor.json"]))
    run(project).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((READ, "none.json"), "*none.json: the baseline cannot be read (No such file*"),
        ((READ, "faq.jsonl"), "*faq.jsonl:*not JSON*"),
        ((READ, "base.json") * 3, "*--truthguard-baseline: at most 2 files*"),
        ((READ, "base.json", READ, "./base.json"), "*base.json: named twice*"),
        ((SAVE, "none/base.json"), "*--truthguard-save-baseline *the folder *none does not exist"),
        ((SAVE, "thresholds.toml"), "*this is the thresholds file itself*"),
        ((SAVE, "out.json", "--truthguard-json", "out.json"), "*out.json: this is the file of --truthguard-json too*"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    project: pytest.Pytester, arguments: tuple[str, ...], words: str
) -> None:
    """Exit 4, whatever is wrong with the files."""
    save(project)
    (project.path / "requests.log").unlink()
    result = run(project, "thresholds.toml", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])
    assert requests(project) == []


def test_the_baseline_that_is_read_may_be_the_one_that_is_written(project: pytest.Pytester) -> None:
    """A rolling baseline: compared with what it was, then replaced."""
    better(project)
    save(project)
    worse(project)
    gate(project, DROP + 'block_on = "estimate"\n')
    run(project, READ, "base.json", SAVE, "base.json").assert_outcomes(failed=1)
    run(project, READ, "base.json", SAVE, "base.json").assert_outcomes(passed=1)


def test_what_could_not_be_measured_is_no_baseline(project: pytest.Pytester) -> None:
    """All or nothing: the older file stays as it was, and the session says why."""
    save(project)
    before = (project.path / "base.json").read_bytes()
    model = project.path / "model.py"
    model.write_text(model.read_text().replace("value - rank / 8", "float('nan') if lies else value"))
    gate(project, DROP + "[faq.mc2]\nmin = -1\n")
    result = run(project, READ, "base.json", SAVE, "base.json")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        ["--truthguard-save-baseline *base.json: not written: faq[[]mc1] could not be measured: *nan*"]
    )
    assert (project.path / "base.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("--truthguard-dry-run",), "a dry run measures nothing"), (("-x",), "the session was stopped before its end")],
)
def test_a_session_that_did_not_reach_its_end_saves_nothing(
    project: pytest.Pytester, arguments: tuple[str, ...], why: str
) -> None:
    """Half of a baseline would be a wrong one."""
    gate(project, "[faq.mc1]\nmin = 0.9\n[faq.mc2]\nmin = -1\n")
    result = run(project, SAVE, "base.json", *arguments)
    result.stdout.fnmatch_lines([f"*base.json was not written: {why}"])
    assert not (project.path / "base.json").exists()


def test_without_a_thresholds_file_the_options_say_so(project: pytest.Pytester) -> None:
    """Options that do nothing are not silent about it."""
    project.makepyfile("def test_mine(): assert True")
    result = project.runpytest_inprocess(SAVE, "base.json", READ, "none.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*--truthguard-save-baseline did nothing*"])


def test_a_waived_drop_is_an_xfail(project: pytest.Pytester) -> None:
    """The waiver's day and reason stand beside the drop."""
    better(project)
    save(project)
    worse(project)
    year = datetime.now(UTC).year + 1
    gate(project, DROP + f'block_on = "estimate"\nwaive_until = {year}-12-31\nwaive_reason = "known"\n')
    result = run(project, READ, "base.json")
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines([f"*drop 0.2500 > 0.0000*waived until {year}-12-31: known"])


def test_categories_are_compared_and_single_questions_are_not(project: pytest.Pytester) -> None:
    """Each category has its own drop; passing ones are counted, and -v lists them."""
    better(project)
    save(project)
    worse(project)
    gate(project, DROP + 'block_on = "estimate"\nby = "category"\nitem_min = 0\n')
    result = run(project, READ, "base.json", "--truthguard-json", "out.json")
    result.assert_outcomes(failed=2, passed=5)
    result.stdout.fnmatch_lines(
        [
            "faq[[]mc1]: drop 0.2500*",
            "faq[[]mc1-Beta]: drop 0.5000*",
            "1 row more compared with a baseline (-v lists them)",
        ]
    )
    drops = {row.id: [drop.estimate for drop in row.drops] for row in read_record(project.path / "out.json").rows}
    assert drops["faq[mc1-Alpha-one]"] == [0.0]
    assert drops["faq[mc1-q3]"] == []
    result = run(project, READ, "base.json", "-v")
    result.stdout.fnmatch_lines(["faq[[]mc1-Alpha-one]: drop 0.0000*"])


def test_rows_without_max_drop_are_compared_for_reports_alone(project: pytest.Pytester) -> None:
    """The record has their drops, the summary has them with -v, and nothing hangs on them."""
    better(project)
    save(project)
    worse(project)
    result = run(project, READ, "base.json", "--truthguard-json", "out.json")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("faq[[]mc1]: drop*")
    result.stdout.fnmatch_lines(["1 row more compared with a baseline (-v lists them)"])
    assert [drop.estimate for drop in read_record(project.path / "out.json").rows[0].drops] == [0.25]
    run(project, READ, "base.json", "-v").stdout.fnmatch_lines(["faq[[]mc1]: drop 0.2500*"])


def test_another_model_is_listed_as_a_difference(project: pytest.Pytester) -> None:
    """What is compared is named: here the scripted model's own name."""
    save(project)
    (project.path / "other.py").write_text((project.path / "model.py").read_text(), encoding="utf-8")
    gate(project, DROP)
    result = run(project, READ, "base.json", model="scripted:other:answer")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*the model's name changed from 'scripted:model:answer' to 'scripted:other:answer'"])


@pytest.mark.slow
def test_workers_compare_as_one_process_does(project: pytest.Pytester, tmp_path: Path) -> None:
    """Under xdist the verdicts, drops and the saved baseline are those of a single process."""
    better(project)
    save(project)
    worse(project)
    gate(project, DROP + 'block_on = "estimate"\nby = "category"\n[faq.mc2]\nmax_drop = 0.9\n')
    for name, spread in (("alone", ()), ("spread", ("-n", "2"))):
        result = run(
            project,
            *(READ, "base.json", SAVE, f"{name}.json", "--truthguard-json", f"{name}.record.json", *spread),
            in_process=False,
        )
        result.assert_outcomes(failed=2, passed=2)
        result.stdout.fnmatch_lines(["faq[[]mc1]: drop 0.2500*", "faq beside base.json of *", "the baseline is saved*"])
    alone, both = (read_record(project.path / f"{name}.record.json").rows for name in ("alone", "spread"))
    assert {row.id: row for row in alone} == {row.id: row for row in both}
    one, two = (read_baseline(project.path / f"{name}.json") for name in ("alone", "spread"))
    assert one.runs == two.runs
