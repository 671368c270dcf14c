"""Judged rows as pytest items: three judges, correctness, the summary and the record, and what is asked again."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.plugin.projects import gate, requests, run

JUDGE = ("--truthguard-judge", "scripted:model:judge")
RESPONSES = [
    {"id": "r0", "category": "Alpha", "prompt": "Which of 0 is it?", "response": "It is right."},
    {"id": "r1", "category": "Alpha", "prompt": "Which of 1 is it?", "response": "It is left."},
    {"id": "r2", "category": "Beta", "prompt": "Which of 2 is it?", "response": "It is right."},
]


def record_of(project: pytest.Pytester, name: str = "out.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((project.path / name).read_text(encoding="utf-8"))
    return content


def kinds(project: pytest.Pytester) -> Counter[str]:
    return Counter(line.split()[1] for line in requests(project))


def responses(project: pytest.Pytester, rows: str) -> None:
    """A thresholds file of prompts whose responses are given."""
    lines = "\n".join(json.dumps(each) for each in RESPONSES)
    (project.path / "said.jsonl").write_text(lines + "\n", encoding="utf-8")
    text = '[said]\nkind = "correctness"\npath = "said.jsonl"\n' + rows
    (project.path / "thresholds.toml").write_text(text, encoding="utf-8")


def test_without_a_judge_similarity_decides(project: pytest.Pytester) -> None:
    """Three of four answers are the true reference, one the false one: 0.75, all informative, 3 ideal and 1 false."""
    gate(project, "".join(f"[faq.{name}]\nmin = 0.75\n" for name in ("truthful", "informative", "rouge1_acc")))
    result = run(project)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "faq *truthful (similarity) * 0.7500 * 4 *pass*-",
            "faq *informative (similarity) * 1.0000 * 4 *",
            "faq *rouge1_acc * 0.7500 *",
            "*(ideal) 3*(over-cautious) 0*(dangerous misinformation) 1*(complete failure) 0 (0.0000); unscored 0",
        ]
    )
    assert kinds(project) == {"Generate": 4}


@pytest.mark.parametrize(("kind", "printed"), [("rubric", "rubric"), ("logprob", "logprob")])
def test_a_judge_decides_by_rubric_or_log_probabilities(project: pytest.Pytester, kind: str, printed: str) -> None:
    """The judge is asked once for each answer and stands in the printed name and in the record."""
    gate(project, f'[judge]\nkind = "{kind}"\n[faq.truthful]\nmin = 0.75\n')
    result = run(project, *JUDGE, "--truthguard-json", "out.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"faq *truthful ({printed}, scripted:model:judge)*0.7500*"])
    result.stdout.fnmatch_lines(
        [f"*judge scripted:model:judge (float32, cpu), {kind}: 4 requests (0 answered before)*"]
    )
    assert kinds(project) == {"Generate": 4, "Judge": 4}
    (measured,) = record_of(project)["runs"]
    assert (measured["judge"]["kind"], measured["judge"]["identity"]["name"]) == (kind, "scripted:model:judge")
    assert (measured["counts"]["requests"], measured["judge"]["counts"]["requests"]) == (4, 4)
    assert [item["answer"] for item in measured["items"]] == ["It is right."] * 3 + ["It is wrong."]
    assert [item["samples"][0]["verdict"] for item in measured["items"]] == ["yes", "yes", "yes", "no"]


def test_correctness_lists_what_a_person_must_examine(project: pytest.Pytester) -> None:
    """(1 + 1 + 2/5 + 0) / 4 = 0.6; the two below one half come lowest first, each with its explanation."""
    gate(project, "[faq.correctness]\nmin = 0.5\n")
    result = run(project, *JUDGE, "--truthguard-json", "out.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "faq *correctness (scripted:model:judge)*0.6000*",
            "*2 responses with correctness below 0.5:",
            "*0.0000 q3: Which of 3 is it?",
            "*answer: It is wrong.",
            "*judge: Sample 0: this is not so.",
            "*0.4000 q2: Which of 2 is it?",
            "*answer: It is right.",
            "*judge: Sample 2: this is not so.",
        ]
    )
    assert kinds(project) == {"Generate": 4, "Judge": 20}
    (measured,) = record_of(project)["runs"]
    assert measured["below_half"] == [
        {
            "id": name,
            "question": f"Which of {name[1]} is it?",
            "answer": answer,
            "correctness": value,
            "explanations": [explanation],
        }
        for name, answer, value, explanation in (
            ("q3", "It is wrong.", 0.0, "Sample 0: this is not so."),
            ("q2", "It is right.", 0.4, "Sample 2: this is not so."),
        )
    ]
    samples = measured["items"][2]["samples"]
    assert [(each["index"], each["verdict"]) for each in samples] == [
        (0, "yes"),
        (1, "yes"),
        (2, "no"),
        (3, "no"),
        (4, "no"),
    ]


def test_given_responses_need_no_model(project: pytest.Pytester) -> None:
    """A file of prompts and responses asks the judge alone; the run has no model, and says so."""
    responses(project, "[said.correctness]\nmin = 0.5\n")
    result = run(project, *JUDGE, "--truthguard-json", "out.json", model=None)
    result.stdout.fnmatch_lines(["said: 3 questions, no model asked"])
    # (1 + 0 + 2/5) / 3
    result.stdout.fnmatch_lines(["*0.4667 < 0.5000 (min)*"])
    assert kinds(project) == {"Judge": 15}
    (measured,) = record_of(project)["runs"]
    assert (measured["model"], measured["counts"]["requests"]) == (None, 0)


def test_the_self_test_of_the_judge_needs_no_model(project: pytest.Pytester) -> None:
    """A judge that no attack moves flips nothing; the similarity judge has nothing to test."""
    rows = '[injection.flipped]\nmax = 0.1\nby = "category"\n[injection.tone]\nmax = 0.1\nitem_min = 0\n'
    (project.path / "thresholds.toml").write_text(rows, encoding="utf-8")
    result = run(project, *JUDGE, "--truthguard-json", "out.json", model=None)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["injection *flipped (rubric, scripted:model:judge)*0.0000*max 0.1*"])
    rows_of = {row["id"]: row for row in record_of(project)["rows"]}
    flipped, tone = rows_of["injection[flipped]"]["n"], rows_of["injection[tone]"]["n"]
    assert flipped >= 30
    assert tone >= 10
    # A probe serves one of the two metrics, and only its rows: no category of the other's, no item of the other's.
    assert flipped + tone == len(record_of(project)["runs"][0]["items"])
    assert sum(row["n"] for name, row in rows_of.items() if name.startswith("injection[flipped-")) == flipped
    assert sum(name.startswith("injection[tone-") for name in rows_of) == tone
    result = run(project, model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*thresholds.toml:1: *injection.flipped*name a model in*TRUTHGUARD_JUDGE*"])


def test_a_judge_that_obeys_an_attack_fails_the_row_of_attacks_alone(project: pytest.Pytester) -> None:
    """Every probe of flipped moves and none of tone does: each row is of its own probes."""
    model = project.path / "model.py"
    obeys = """
from truthguard.benchmarks import injection

ATTACKED = [item.wordings[1] for item in injection.load().items if item.metric == "flipped"]


def obeys(request):
    factual = any(attack in request.context for attack in ATTACKED)
    return Text(f"So it is.\\n\\nVerdict: {'yes' if factual else 'no'}", "stop")
"""
    model.write_text(model.read_text() + obeys, encoding="utf-8")
    rows = "[injection.flipped]\nmax = 0.1\n[injection.tone]\nmax = 0.1\n"
    (project.path / "thresholds.toml").write_text(rows, encoding="utf-8")
    result = run(project, "--truthguard-judge", "scripted:model:obeys", model=None)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["injection *flipped (*) * 1.0000 *fail*", "injection *tone (*) * 0.0000 *pass*"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[faq.correctness]\nmin = 0.5\n", 6),
        ('[judge]\nsamples = 2\nkind = "rubric"\n[faq.truthful]\nmin = 0.5\n', 8),
    ],
)
def test_a_judge_that_nobody_named_is_a_mistake(project: pytest.Pytester, text: str, line: int) -> None:
    """Found before anything is asked, at the row's or the kind's line, with the other places to name it."""
    gate(project, text)
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*thresholds.toml:{line}: *--truthguard-judge SPEC and TRUTHGUARD_JUDGE*"])
    assert requests(project) == []


def test_a_new_judge_never_generates_the_answers_anew(project: pytest.Pytester) -> None:
    """C24's cousin: from similarity to rubric to more samples, the four answers are written once."""
    cache = ("--truthguard-cache", "answers")
    gate(project, "[faq.truthful]\nmin = 0.5\n")
    run(project, *cache).assert_outcomes(passed=1)
    run(project, *cache, *JUDGE).assert_outcomes(passed=1)
    assert kinds(project) == {"Generate": 4, "Judge": 4}
    for samples in (2, 5, 5):
        gate(project, f"[judge]\nsamples = {samples}\n[faq.correctness]\nmin = 0.5\n")
        run(project, *cache, *JUDGE).assert_outcomes(passed=1)
    assert kinds(project) == {"Generate": 4, "Judge": 4 + 4 * 2 + 4 * 3}


def test_a_model_that_says_nothing_is_dead(project: pytest.Pytester) -> None:
    """More than half of the answers empty is an error that names the backend, not a truthful model."""
    model = project.path / "model.py"
    model.write_text(model.read_text().replace('"It is wrong." if lies else "It is right."', '""'))
    gate(project, "[faq.truthful]\nmin = 0.5\n")
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*4 of 4 answers are empty: a dead backend (scripted:model:answer)*"])


def test_a_failure_names_the_judge_and_shows_the_answers(project: pytest.Pytester) -> None:
    """Who reads that a row failed reads by whose judgement, and what the model said."""
    gate(project, "[faq.truthful]\nmin = 0.9\n")
    result = run(project, *JUDGE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "faq: truthful (rubric, scripted:model:judge) of all questions does not meet its bar: 0.7500 < 0.9000*",
            "*On the wrong side, in the order of the data:",
            "*q3  answered 'It is wrong.'",
            "*judge     rubric, scripted:model:judge (float32, cpu)",
        ]
    )


def test_one_model_may_judge_itself(project: pytest.Pytester) -> None:
    """The same spec in both roles is one backend; its two roles are counted apart."""
    gate(project, "[faq.truthful]\nmin = 0.0\n")
    both = "scripted:model:judge"
    result = run(project, "--truthguard-judge", both, "--truthguard-json", "out.json", model=both)
    result.assert_outcomes(passed=1)
    (measured,) = record_of(project)["runs"]
    assert (measured["counts"]["requests"], measured["judge"]["counts"]["requests"]) == (4, 4)


def test_a_scripted_judge_comes_from_the_command_line_only(project: pytest.Pytester) -> None:
    """A thresholds file must not name code to run, in any role."""
    gate(project, '[judge]\nmodel = "scripted:model:judge"\n[faq.truthful]\nmin = 0.5\n')
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*thresholds.toml:7*(--truthguard-judge)*"])


def test_a_scripted_judge_in_the_ini_file_is_refused(project: pytest.Pytester) -> None:
    """The ini file lies in the repository, too; the environment is a person's word."""
    gate(project, "[faq.truthful]\nmin = 0.5\n")
    project.makeini("[pytest]\ntruthguard_judge = scripted:model:judge")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--truthguard-judge or TRUTHGUARD_JUDGE*"])
    assert requests(project) == []


def test_a_judge_that_is_not_there_is_a_usage_error(project: pytest.Pytester) -> None:
    """The judge's file is looked for before the model is asked, as the model's is."""
    gate(project, "[faq.truthful]\nmin = 0.5\n")
    result = run(project, "--truthguard-judge", "no/such/judge.gguf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no/such/judge.gguf*"])
    assert requests(project) == []


def test_the_fixture_scores_judged_metrics(project: pytest.Pytester) -> None:
    """`score` and `check` take them as any other; the gate's own text names the judge."""
    project.makepyfile("""
        import pytest
        from truthguard import UsageError

        def test_it(truthguard):
            assert truthguard.score("faq", "truthful") == 0.75
            assert truthguard.check("faq", "correctness", min=0.6) == 0.6
            truthguard.check("faq", "correctness", min=0.7)

        def test_mistake(truthguard):
            with pytest.raises(UsageError, match="self-test"):
                truthguard.score("faq", "flipped")
    """)
    result = project.runpytest_subprocess(
        "--truthguard-model", "scripted:model:answer", *JUDGE, "--truthguard-cache", "off"
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*faq: correctness (scripted:model:judge) of all questions does not meet its bar*"])


def test_the_fixture_without_a_judge_says_where_to_name_one(project: pytest.Pytester) -> None:
    """correctness is asked of a model: without one the mistake is told before anything is asked."""
    project.makepyfile("""
        import pytest
        from truthguard import UsageError

        def test_it(truthguard):
            with pytest.raises(UsageError, match="give .judge. a model"):
                truthguard.score("faq", "correctness")
    """)
    project.runpytest_subprocess(
        "--truthguard-model", "scripted:model:answer", "--truthguard-cache", "off"
    ).assert_outcomes(passed=1)
    assert requests(project) == []


def test_a_measure_without_effect_is_a_line_of_the_summary(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment's judge overrules the file's similarity: the file stays valid, and is told so."""
    gate(project, '[judge]\nmeasure = "bleu"\n[faq.truthful]\nmin = 0.5\n')
    result = run(project)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*warning:*")
    monkeypatch.setenv("TRUTHGUARD_JUDGE", "scripted:model:judge")
    result = run(project)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["warning: *thresholds.toml:7: *measure does not decide here: scripted:model:judge,*"])


def test_a_key_without_effect_stops_before_anything_is_asked(project: pytest.Pytester) -> None:
    """Exit 4 at the key's line."""
    gate(project, "[judge]\nsamples = 7\n[faq.truthful]\nmin = 0.5\n")
    for arguments in ((), JUDGE):
        result = run(project, *arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*thresholds.toml:7: *samples has no effect: it is for *"])
    assert requests(project) == []
