"""A judge must earn trust: saved by one session, required by the next, and lost when the judge changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.plugin.projects import gate, requests, run

# Each test is short, all of them are not: the quick loop leaves them out.
pytestmark = pytest.mark.slow

JUDGE = ("--truthguard-judge", "scripted:model:verdicts")
SAVE = ("--truthguard-save-trust", "judge_trust.json")
# Says yes to what is right. Every request leaves a line, as the model's do.
VERDICTS = """

def verdicts(request):
    with TRACE.open("a") as file:
        file.write(f"{os.getpid()} Judge\\n")
    text = request.context if isinstance(request.context, str) else request.context[-1].content
    factual = "It is right" in text
    return Text(f"So it is.\\n\\nVerdict: {'yes' if factual else 'no'}", "stop")
"""
# Of the true answers the judge knows 3 of 4, of the false ones it sees 2 of 3: accuracy 5/7.
LABELS = """question,answer,label
Who is it?,It is right.,yes
Who is it?,It is right and so on.,yes
Who was it?,It is right indeed.,yes
Who was it?,It is so.,yes
Who is it?,It is wrong.,no
Who is it?,It is left.,no
Who was it?,It is right but it is not.,no
"""
MEASURE = '[truthful_judge]\npath = "labels.csv"\n[truthful_judge.accuracy]\nmin = 0.5\n'
REQUIRES = 'requires = { "truthful_judge.accuracy" = 0.7 }\n'
TRUTHFUL = "[faq.truthful]\nmin = 0.5\n"

# One word of the packaged prompt is another one.
REWORDED = """
from truthguard.judges import prompts

packaged = prompts.packaged
prompts.packaged = lambda name, *placeholders: packaged(name, *placeholders).replace("answer", "reply", 1)
"""


@pytest.fixture
def judged(project: pytest.Pytester) -> pytest.Pytester:
    """The project with labels of its own and a judge whose errors are known."""
    model = project.path / "model.py"
    model.write_text(model.read_text("utf-8") + VERDICTS, "utf-8")
    (project.path / "labels.csv").write_text(LABELS, "utf-8")
    return project


def write(project: pytest.Pytester, judge: str = REQUIRES, rows: str = MEASURE + TRUTHFUL) -> None:
    gate(project, f"[judge]\n{judge}{rows}")


def new_requests(project: pytest.Pytester, do: Callable[[], pytest.RunResult]) -> tuple[pytest.RunResult, list[str]]:
    """What a run asked, by kind."""
    before = len(requests(project))
    result = do()
    return result, [line.split()[1] for line in requests(project)[before:]]


def trust(project: pytest.Pytester) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project.path / "judge_trust.json").read_text("utf-8"))
    return content


def test_trust_is_required_earned_and_lost_with_one_word_of_the_prompt(judged: pytest.Pytester) -> None:
    """Without the record the judged row is an error before anything is asked for it; with it it passes; with one word
    of the judge's prompt changed it is an error again."""
    write(judged)
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, "-k", "truthful and faq"))
    result.assert_outcomes(errors=1, deselected=1)
    assert asked == []
    result.stdout.fnmatch_lines(
        [
            "*the judge (rubric, scripted:model:verdicts) has not earned the trust that *thresholds.toml requires:",
            "*truthful_judge.accuracy: no trust record: there is no *judge_trust.json; measure it with the same judge:"
            " pytest *thresholds.toml -k truthful_judge --truthguard-save-trust *judge_trust.json",
        ]
    )

    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, *SAVE, "-k", "truthful_judge"))
    result.assert_outcomes(passed=1, deselected=1)
    assert asked == ["Judge"] * 7
    result.stdout.fnmatch_lines(
        ["trust in the judge is saved in *judge_trust.json: truthful_judge (accuracy, kappa, *"]
    )

    result, asked = new_requests(judged, lambda: run(judged, *JUDGE))
    result.assert_outcomes(passed=2)
    assert sorted(asked) == ["Generate"] * 4 + ["Judge"] * 11

    judged.makeconftest(REWORDED)
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, "-k", "truthful and faq"))
    result.assert_outcomes(errors=1, deselected=1)
    assert asked == []
    result.stdout.fnmatch_lines(["*judge_trust.json is stale: the judge's prompt changed from * to *; measure it *"])


def test_another_system_prompt_loses_the_trust(judged: pytest.Pytester) -> None:
    """Both texts are named; the same one keeps it."""
    turns = 'chat_template = true\nsystem_prompt = "Be strict."\n'
    write(judged, REQUIRES + turns)
    run(judged, *JUDGE, *SAVE, "-k", "truthful_judge").assert_outcomes(passed=1, deselected=1)
    run(judged, *JUDGE).assert_outcomes(passed=2)
    write(judged, REQUIRES + turns.replace("strict", "kind"))
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, "-k", "truthful and faq"))
    result.assert_outcomes(errors=1, deselected=1)
    assert asked == []
    result.stdout.fnmatch_lines(["*the judge's system_prompt changed from 'Be strict.' to 'Be kind.'*"])


def test_a_requirement_that_is_not_reached_is_an_error(judged: pytest.Pytester) -> None:
    """5/7 is below 0.85: told with n and interval, and nothing is asked."""
    write(judged, 'requires = { "truthful_judge.accuracy" = 0.85 }\n')
    run(judged, *JUDGE, *SAVE, "-k", "truthful_judge").assert_outcomes(passed=1, deselected=1)
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, "-k", "truthful and faq"))
    result.assert_outcomes(errors=1, deselected=1)
    assert asked == []
    result.stdout.fnmatch_lines(["*truthful_judge.accuracy: 0.7143 < 0.8500 (n = 7, 0.3589 to 0.9178 at confidence*"])


def test_a_row_that_nobody_judges_is_measured_without_the_judge(judged: pytest.Pytester) -> None:
    """mc1 stands beside the refused rows, in one benchmark: it passes, and no answer is generated for a judge."""
    write(judged, rows="[faq.mc1]\nmin = 0.5\n[faq.correctness]\nmin = 0.5\n[faq.rouge1_acc]\nmin = 0.5\n" + TRUTHFUL)
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE))
    result.assert_outcomes(passed=2, errors=2)
    # Log-likelihoods, and the answers that are compared by words.
    assert sorted(asked) == ["Generate"] * 4 + ["Score"] * 4


def test_the_rows_that_measure_the_judge_need_no_trust(judged: pytest.Pytester) -> None:
    """Else it could never be earned."""
    write(judged, rows=MEASURE + "[injection.flipped]\nmax = 1.0\n")
    run(judged, *JUDGE).assert_outcomes(passed=2)


def test_similarity_must_earn_trust_too(judged: pytest.Pytester) -> None:
    """A judge without a model has words of its own: another measure is another judge."""
    text = "question,answer,label,correct_answers,incorrect_answers\n"
    text += "Who?,It is right indeed.,yes,It is right.,It is wrong.\nWho?,It is all wrong.,no,,\n"
    (judged.path / "labels.csv").write_text(text, "utf-8")
    write(judged)
    run(judged, *SAVE, "-k", "truthful_judge").assert_outcomes(passed=1, deselected=1)
    run(judged).assert_outcomes(passed=2)
    write(judged, REQUIRES + 'measure = "rougeL"\n')
    result = run(judged)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the judge's measure changed from 'rouge1' to 'rougeL'*"])


def test_other_labels_lose_the_trust(judged: pytest.Pytester) -> None:
    """The file of labels changed since: its digest is known, so the record is stale."""
    write(judged)
    run(judged, *JUDGE, *SAVE, "-k", "truthful_judge").assert_outcomes(passed=1, deselected=1)
    (judged.path / "labels.csv").write_text(LABELS + "Who is it?,It is more.,no\n", "utf-8")
    result = run(judged, *JUDGE, "-k", "truthful and faq")
    result.assert_outcomes(errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*the data changed from *"])


def test_a_gate_without_the_labels_goes_by_the_record(judged: pytest.Pytester) -> None:
    """The judge was measured with another file; whose data are not known here, its number holds."""
    write(judged, rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    write(judged, rows=TRUTHFUL)
    run(judged, *JUDGE).assert_outcomes(passed=1)
    write(judged, REQUIRES + 'trust = "elsewhere.json"\n', rows=TRUTHFUL)
    result = run(judged, *JUDGE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*with a row [[]truthful_judge.accuracy] in that file*"])


def test_published_words_that_are_not_here_stop_only_judged_rows(judged: pytest.Pytester) -> None:
    """Without the file of the words the record cannot be compared: judged rows say so, and mc1 is measured."""
    write(judged, rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    content = trust(judged)
    entry = content["benchmarks"]["truthful_judge"]
    asked = {"kind": "judge_starter", "prompt": "paper", "order": "both", "reference": False, "grades": False}
    content["benchmarks"]["judge_starter"] = {**entry, "asked": asked}
    (judged.path / "judge_trust.json").write_text(json.dumps(content), "utf-8")
    write(judged, 'requires = { "judge_starter.accuracy" = 0.7 }\n', rows="[faq.mc1]\nmin = 0.5\n" + TRUTHFUL)
    result = run(judged, *JUDGE, "--truthguard-data", ".")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*judge_trust.json cannot be compared with the judge as it is: *prompts.json*truthguard fetch prometheus*"]
    )


def test_what_is_saved(judged: pytest.Pytester) -> None:
    """All metrics of the set, whichever rows there are; whom, on what, how many."""
    write(judged, rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    entry = trust(judged)["benchmarks"]["truthful_judge"]
    assert list(entry["metrics"]) == ["accuracy", "kappa", "sensitivity", "specificity"]
    numbers = {name: (round(each["estimate"], 4), each["n"]) for name, each in entry["metrics"].items()}
    assert numbers["accuracy"] == (0.7143, 7)
    assert numbers["sensitivity"] == (0.75, 4)
    assert numbers["specificity"] == (0.6667, 3)
    assert entry["judge"]["name"] == "scripted:model:verdicts"
    assert entry["judge"]["settings"] == {"max_tokens": 512, "chat_template": False, "system_prompt": None}
    assert (entry["n_items"], entry["limit"], entry["asked"]) == (7, None, None)


@pytest.mark.slow
def test_a_metric_too_much_of_which_is_unscored_is_not_saved(judged: pytest.Pytester) -> None:
    """The line says so; the old number does not stay in its place."""
    write(judged, rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    model = judged.path / "model.py"
    mute = """

def verdicts(request):
    text = request.context
    if "It is so" in text:
        return Text("Hm.", "stop")
    return Text(f"Verdict: {'yes' if 'It is right' in text else 'no'}", "stop")
"""
    model.write_text(model.read_text("utf-8") + mute, "utf-8")
    result = run(judged, *JUDGE, *SAVE, in_process=False)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "truthful_judge.accuracy is not saved as trust: 1 of 7 * could not be scored*",
            "trust in the judge is saved in *: truthful_judge (specificity)",
        ]
    )
    assert list(trust(judged)["benchmarks"]["truthful_judge"]["metrics"]) == ["specificity"]


def test_a_session_without_anything_to_save_says_so(judged: pytest.Pytester) -> None:
    """Who asks for a trust file and gets none must not take the session for a success."""
    write(judged, "", rows=TRUTHFUL)
    result = run(judged, *JUDGE, *SAVE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["--truthguard-save-trust *judge_trust.json: nothing to save: *"])
    assert not (judged.path / "judge_trust.json").exists()


def test_a_dry_run_saves_nothing(judged: pytest.Pytester) -> None:
    """And needs no trust: it says what would be asked."""
    write(judged)
    result, asked = new_requests(judged, lambda: run(judged, *JUDGE, *SAVE, "--truthguard-dry-run"))
    assert result.ret == pytest.ExitCode.OK
    assert asked == []
    assert not (judged.path / "judge_trust.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent/trust.json", None, "*--truthguard-save-trust *absent/trust.json: the folder * does not exist*"),
        (".", None, "*--truthguard-save-trust *: this is a folder; name a file*"),
        ("thresholds.toml", None, "*--truthguard-save-trust *: this is the thresholds file itself*"),
        ("notes.json", "{}", "*--truthguard-save-trust: *notes.json: expected a trust file*name another file*"),
        ("out.json", None, "*--truthguard-save-trust *: this is the file of --truthguard-json too*"),
    ],
)
def test_a_file_that_cannot_be_written_is_found_before_the_work(
    judged: pytest.Pytester, name: str, content: str | None, message: str
) -> None:
    """As for the record; a file of another kind is not written over."""
    write(judged, "", rows=MEASURE)
    if content is not None:
        (judged.path / name).write_text(content, "utf-8")
    result = run(judged, "thresholds.toml", *JUDGE, "--truthguard-save-trust", name, "--truthguard-json", "out.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert requests(judged) == []


@pytest.mark.slow
def test_xdist_saves_it_once(judged: pytest.Pytester) -> None:
    """The workers measure, the controller writes; and they hold their rows to what the file says."""
    pytest.importorskip("xdist")
    write(judged)
    run(judged, *JUDGE, *SAVE, "-n", "2", in_process=False).assert_outcomes(passed=1, errors=1)
    assert trust(judged)["benchmarks"]["truthful_judge"]["metrics"]["accuracy"]["n"] == 7
    run(judged, *JUDGE, "-n", "2", in_process=False).assert_outcomes(passed=2)


@pytest.mark.slow
def test_the_fixture_needs_trust_where_the_file_requires_it(judged: pytest.Pytester) -> None:
    """`score` of a judged metric fails with the same words; one that nobody judges does not."""
    write(judged, rows=TRUTHFUL)
    judged.makepyfile("""
        def test_judged(truthguard):
            truthguard.score("faq", "truthful")

        def test_judged_in_no_table(truthguard):
            truthguard.score("starter", "truthful")

        def test_not_judged(truthguard):
            assert truthguard.score("faq", "mc1") == 0.75
    """)
    result = judged.runpytest_subprocess(
        "--truthguard-model", "scripted:model:answer", *JUDGE, "--truthguard-cache", "off"
    )
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["*has not earned the trust that *thresholds.toml requires*"] * 2)


# The corrected rate


def test_a_judged_share_is_corrected_where_the_judges_errors_are_known(judged: pytest.Pytester) -> None:
    """Observed 0.75, s = 3/4, p = 2/3: (0.75 - 1/3)/(5/12) = 1, printed and recorded, with what it assumes."""
    write(judged, "", rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    write(judged, "", rows=TRUTHFUL + "[faq.informative]\nmin = 0\n")
    result = run(judged, *JUDGE, "--truthguard-json", "out.json")
    result.assert_outcomes(passed=2)
    record = json.loads((judged.path / "out.json").read_text("utf-8"))
    rows = {row["id"]: row["corrected"] for row in record["rows"]}
    assert rows["faq[informative]"] is None
    found = rows["faq[truthful]"]
    assert found["unclipped"] == pytest.approx(1.0)
    assert (found["sensitivity"], found["n_positive"], found["n_negative"]) == (0.75, 4, 3)
    result.stdout.fnmatch_lines(
        [
            "*faq[[]truthful]: 0.7500 observed, 1.0000 * corrected for the judge's errors *",
            "*this assumes that sensitivity and specificity carry over to this model's answers",
        ]
    )


def test_a_stale_trust_file_that_nobody_requires_corrects_nothing_and_says_so(judged: pytest.Pytester) -> None:
    """One line with the reason; the row is gated as it would be without the file."""
    write(judged, "max_tokens = 99\n", rows=MEASURE)
    run(judged, *JUDGE, *SAVE).assert_outcomes(passed=1)
    write(judged, "", rows=TRUTHFUL)
    result = run(judged, *JUDGE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "warning: no share is corrected for the judge's errors: *is stale:"
            " the judge's max_tokens changed from 99 to 512"
        ]
    )
    result.stdout.no_fnmatch_line("*observed*corrected*")


def test_a_damaged_trust_file_is_told_and_required_one_refused(judged: pytest.Pytester) -> None:
    """It is no trust: a line where nobody requires it, an error where somebody does."""
    (judged.path / "judge_trust.json").write_text('{"schema": 1', "utf-8")
    write(judged, "", rows=TRUTHFUL)
    result = run(judged, *JUDGE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["warning: no share is corrected for the judge's errors: *judge_trust.json:1: cut off*"]
    )
    write(judged, rows=TRUTHFUL)
    result = run(judged, *JUDGE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no trust record: *judge_trust.json:1: cut off*"])


@pytest.mark.slow
def test_without_requirement_and_file_nothing_is_identified(judged: pytest.Pytester) -> None:
    """A gate that wants no trust pays nothing for it."""
    judged.makeconftest("""
        from truthguard.plugin import trusting

        def refuse(*arguments):
            raise AssertionError("the judge was identified for a trust that nobody asked for")

        trusting.identify = trusting.read_trust = trusting.prompt_digests = refuse
    """)
    write(judged, "", rows=TRUTHFUL)
    run(judged, *JUDGE).assert_outcomes(passed=1)
    # The same gate with a trust file asks for what was refused.
    (judged.path / "judge_trust.json").write_text("{}", "utf-8")
    run(judged, *JUDGE, in_process=False).assert_outcomes(errors=1)
