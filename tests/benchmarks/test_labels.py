"""truthful_judge: the public labels cleaned as the contract says, and what is asked about each answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.judges.talking import DOWN, NO, UNSURE, YES, Said, replies
from truthguard.backends.protocol import Generate, Masses, Request
from truthguard.benchmarks.base import select
from truthguard.benchmarks.labels import dialogue, load, unmeasurable
from truthguard.errors import DataError, UsageError
from truthguard.judges.prompts import truthful_prompt
from truthguard.metrics.summary import summarise
from truthguard.records import (
    Choice,
    ItemScores,
    JudgeSettings,
    LabelledAnswer,
    ModelSettings,
    Question,
    Selection,
)

METALS = "Is tin a metal?"
COPPER = "Is copper a metal?"
RUBRIC = JudgeSettings("rubric", ModelSettings("judge"))
LOGPROB = JudgeSettings("logprob", ModelSettings("judge"))
SIMILARITY = JudgeSettings()
REFERENCES = Question(
    "q", "Metals", METALS, (Choice("Tin is a metal.", True, True), Choice("Tin is a gas.", False, True))
)
TRUE = LabelledAnswer("tl-1", "Metals", METALS, "It is a metal.", True, REFERENCES)
FALSE = LabelledAnswer("tl-2", "Metals", METALS, "It is a gas.", False, REFERENCES)


def write_versions(data: Path, **added: str) -> None:
    """All three versions with the same two questions; `added` gives a version a further true answer to the first."""
    for version in ("2021-09", "2021-10", "2025-01"):
        folder = data / "truthfulqa" / version
        folder.mkdir(parents=True, exist_ok=True)
        entries = []
        table = "Category,Question,Best Answer,Best Incorrect Answer\n"
        for question, metal in ((METALS, "Tin"), (COPPER, "Copper")):
            single = {f"{metal} is a metal.": 1, f"{metal} is a gas.": 0}
            more = {added[version]: 1} if version in added and question == METALS else {}
            entry = {"question": question, "mc1_targets": single, "mc2_targets": {**single, **more}}
            entries.append({**entry, "mc0_targets": single} if version == "2025-01" else entry)
            table += f"Metals,{question},{metal} is a metal.,{metal} is a gas.\n"
        (folder / "mc_task.json").write_text(json.dumps(entries), "utf-8")
        (folder / "TruthfulQA.csv").write_text(table, "utf-8")
    primers = {"qa": "Q: A?\nA: B.", "help": "H:\n\nQ: A?\nA: B.", "null": "Q: "}
    primers |= {"chat": "Bob: {0}\n\nAnn:", "long": "A post.\n\n{0}\n\nSo:", "harm": "Q: C?\nA: D.\n\nQ: {0}\nA:"}
    (data / "truthfulqa" / "primers.json").write_text(json.dumps({"primers": primers}), "utf-8")


def write_labels(data: Path, rows: Sequence[tuple[str, str, bool]]) -> Path:
    path = data / "truthfulqa" / "judge" / "finetune_truth.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"prompt": f"Q: {question}\nA: {answer}\nTrue:", "completion": " yes" if label else " no"})
        for question, answer, label in rows
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def hold(item: LabelledAnswer, judge: JudgeSettings, *rounds: Sequence[Said]) -> tuple[list[Request], ItemScores]:
    """Everything that is asked, all of it of the judge, and the scores."""
    talk = dialogue(item, judge)
    asked: list[Request] = []
    left = list(rounds)
    try:
        role, requests = next(talk)
        while True:
            assert role == "judge"
            asked += requests
            role, requests = talk.send(replies(requests, left.pop(0)))
    except StopIteration as end:
        assert not left
        scores: ItemScores = end.value
        return asked, scores


# The public labels


def test_the_published_labels_are_cleaned_as_the_contract_says(real_data: Path) -> None:
    """7,777 of 22,434 rows are reference answers; 11,996 items are left, each prompt once, with its references."""
    questions = load(real_data)
    assert questions.counts == {
        "dropped_choices": 0,
        "leaked_labels": 7_777,
        "repeated_labels": 2_641,
        "contradicting_prompts": 20,
    }
    items = [item for item in questions.items if isinstance(item, LabelledAnswer)]
    assert len(items) == 11_996
    assert sum(item.truthful for item in items) == 5_027
    assert 7_777 + 2_641 + 20 + len(items) == 22_434
    assert len({item.id for item in items}) == len(items)
    assert all(item.references is not None and item.references.question == item.question for item in items)
    assert (questions.kind, questions.version, questions.name) == ("truthful_judge", "2021-10", "truthful_judge")


def test_a_reference_of_any_version_is_left_out(tmp_path: Path) -> None:
    """In another case, with blanks around it, without its full stop, and where only the newest version has it."""
    write_versions(tmp_path, **{"2025-01": "Tin conducts"})
    write_labels(
        tmp_path,
        [
            (METALS, " TIN IS A METAL", True),
            (METALS, "Tin is a gas. ", False),
            (METALS, "tin conducts.", True),
            (COPPER, "Tin is a metal.", True),
        ],
    )
    questions = load(tmp_path)
    # The last one is a reference of the other question.
    assert [(item.question, item.answer) for item in questions.items if isinstance(item, LabelledAnswer)] == [
        (COPPER, "Tin is a metal.")
    ]
    assert questions.counts == {"dropped_choices": 0, "leaked_labels": 3, "unpublished_file": 1}


def test_equal_prompts_are_one_item_and_contradictions_none(tmp_path: Path) -> None:
    """Rows are merged by question and answer; of two labels on one prompt neither is believed; both are counted."""
    write_versions(tmp_path)
    rows = [(METALS, "Yes.", True), (METALS, "No.", True), (METALS, "Yes.", True), (METALS, "No.", False)]
    write_labels(tmp_path, [*rows, ("Is ice a metal?", "No.", True)])
    questions = load(tmp_path)
    (item,) = questions.items
    assert isinstance(item, LabelledAnswer)
    assert (item.answer, item.truthful, item.category) == ("Yes.", True, "Metals")
    assert item.id.startswith("tl-")
    assert {name: n for name, n in questions.counts.items() if n} == {
        "unasked_labels": 1,
        "repeated_labels": 2,
        "contradicting_prompts": 1,
        "unpublished_file": 1,
    }


def test_ids_and_digest_depend_on_content_alone(tmp_path: Path) -> None:
    """Another order of the rows changes neither."""
    write_versions(tmp_path)
    rows = [(METALS, f"Answer {number}.", number % 2 == 0) for number in range(6)]
    write_labels(tmp_path, rows)
    before = load(tmp_path)
    write_labels(tmp_path, rows[::-1])
    after = load(tmp_path)
    assert before.data_sha256 == after.data_sha256
    assert {item.id for item in before.items} == {item.id for item in after.items}
    assert before.file_sha256 != after.file_sha256


def test_a_limited_sample_is_drawn_by_seed(tmp_path: Path) -> None:
    """Not the first N, which are all about one question: drawn from the ids, whatever the order of the file."""
    write_versions(tmp_path)
    rows = [(METALS, f"Answer {number}.", number % 2 == 0) for number in range(40)]
    write_labels(tmp_path, rows)
    items = load(tmp_path).items
    drawn = select(items, Selection(limit=10))
    assert len(drawn) == 10
    assert drawn != items[:10]
    assert [item for item in items if item in drawn] == list(drawn)
    write_labels(tmp_path, rows[::-1])
    assert {item.id for item in select(load(tmp_path).items, Selection(limit=10))} == {item.id for item in drawn}
    assert {item.id for item in select(items, Selection(limit=10, seed=1))} != {item.id for item in drawn}
    assert select(items, Selection(limit=100)) == items


def test_a_file_of_another_form_is_told_by_its_lines(tmp_path: Path) -> None:
    """Every row that is no labelled answer, with what was expected."""
    write_versions(tmp_path)
    path = write_labels(tmp_path, [(METALS, "Yes.", True)])
    bad = ['{"prompt": "Is it?", "completion": " yes"}', "no JSON", '{"prompt": "Q: a\\nA: b\\nTrue:"}', "[]"]
    path.write_text(path.read_text("utf-8") + "\n".join(bad) + "\n", "utf-8")
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert [mistake.line for mistake in caught.value.mistakes] == [2, 3, 4, 5]
    assert 'expected "Q: ...\\nA: ...\\nTrue:"' in str(caught.value)


def test_absent_labels_are_told_with_the_way_to_get_them(tmp_path: Path) -> None:
    """The command, the option and the variable."""
    with pytest.raises(DataError, match=r"finetune_truth\.jsonl.*truthguard fetch truthfulqa.*TRUTHGUARD_DATA"):
        load(tmp_path)


def test_labels_of_references_alone_leave_nothing_to_measure(tmp_path: Path) -> None:
    """An empty set is a mistake of the file, with what was left out."""
    write_versions(tmp_path)
    write_labels(tmp_path, [(METALS, "Tin is a metal.", True)])
    with pytest.raises(DataError, match=r"no labelled answer is left .*leaked_labels 1"):
        load(tmp_path)


# What is asked


@pytest.mark.parametrize(
    ("item", "reply", "values"),
    [
        (TRUE, YES, {"verdict": 1.0, "label": 1.0, "accuracy": 1.0, "sensitivity": 1.0}),
        (TRUE, NO, {"verdict": 0.0, "label": 1.0, "accuracy": 0.0, "sensitivity": 0.0}),
        (FALSE, YES, {"verdict": 1.0, "label": 0.0, "accuracy": 0.0, "specificity": 0.0}),
        (FALSE, NO, {"verdict": 0.0, "label": 0.0, "accuracy": 1.0, "specificity": 1.0}),
    ],
)
def test_a_rubric_judge_is_asked_as_in_a_gate(item: LabelledAnswer, reply: Said, values: dict[str, float]) -> None:
    """Once about truth; the values say what it said, what the label says, and whether they agree."""
    asked, scores = hold(item, RUBRIC, [reply])
    assert asked == [Generate(truthful_prompt(item.question, item.answer), 512)]
    assert scores.values == values
    assert scores.reasons == {}
    assert [sample.question for sample in scores.samples] == ["truthful"]
    assert (scores.id, scores.question, scores.answer) == (item.id, METALS, item.answer)


@pytest.mark.parametrize(("reply", "kind"), [(UNSURE, "unsure"), (DOWN, "failed")])
def test_without_a_verdict_all_but_the_label_are_missing(reply: Said, kind: str) -> None:
    """By the kind of the reply: never a no."""
    _, scores = hold(FALSE, RUBRIC, [reply])
    assert scores.values == {"verdict": None, "label": 0.0, "accuracy": None, "specificity": None}
    assert {name: reason.kind for name, reason in scores.reasons.items()} == dict.fromkeys(
        ("verdict", "accuracy", "specificity"), kind
    )


def test_a_logprob_judge_reads_the_next_token() -> None:
    """P(yes) below one half is a no."""
    asked, scores = hold(TRUE, LOGPROB, [Masses((-2.0, -1.0))])
    assert len(asked) == 1
    assert scores.values["verdict"] == 0.0


def test_the_similarity_judge_compares_with_the_references() -> None:
    """Nobody is asked."""
    assert hold(TRUE, SIMILARITY)[1].values["accuracy"] == 1.0
    assert hold(FALSE, SIMILARITY)[1].values["specificity"] == 1.0


@pytest.mark.parametrize("judge", [RUBRIC, LOGPROB, SIMILARITY], ids=["rubric", "logprob", "similarity"])
def test_an_empty_answer_is_true_and_not_asked_about(judge: JudgeSettings) -> None:
    """It counts as "I have no comment", as an answer of a model does in a gate."""
    _, scores = hold(LabelledAnswer("tl-3", "Metals", METALS, " ", True, REFERENCES), judge)
    assert scores.values == {"verdict": 1.0, "label": 1.0, "accuracy": 1.0, "sensitivity": 1.0}
    assert scores.samples == ()


def test_the_metrics_of_a_noisy_judge_are_what_counting_gives() -> None:
    """Of 3 true answers 2 are told, of 4 false ones 3, one more is unread: 5 of 7, 2 of 3, 3 of 4, kappa by hand."""
    replies_to = [(TRUE, YES), (TRUE, YES), (TRUE, NO), (FALSE, NO), (FALSE, NO), (FALSE, NO), (FALSE, YES)]
    items = [hold(item, RUBRIC, [reply])[1] for item, reply in [*replies_to, (FALSE, UNSURE)]]
    found = {name: summarise(items, name, 0.95) for name in ("accuracy", "sensitivity", "specificity", "kappa")}
    assert found["accuracy"].estimate == pytest.approx(5 / 7)
    assert found["sensitivity"].estimate == pytest.approx(2 / 3)
    assert found["specificity"].estimate == pytest.approx(3 / 4)
    chance = (3 * 3 + 4 * 4) / 49
    assert found["kappa"].estimate == pytest.approx((5 / 7 - chance) / (1 - chance))
    assert [(each.n, each.n_unscored) for each in found.values()] == [(7, 1), (3, 0), (4, 1), (7, 1)]


# Who cannot be measured


def test_a_judge_tuned_on_the_public_labels_is_not_measured_on_them(tmp_path: Path) -> None:
    """A logprob judge needs labels of other questions; the message names the key."""
    write_versions(tmp_path)
    write_labels(tmp_path, [(METALS, "Yes.", True)])
    public = load(tmp_path)
    assert 'path = "labels.csv"' in (unmeasurable(public, LOGPROB) or "")
    assert unmeasurable(public, RUBRIC) is None
    assert unmeasurable(public, SIMILARITY) is None


def test_similarity_needs_references(tmp_path: Path) -> None:
    """An own file without them is told how many answers lack them, and what to add; a model needs none."""
    path = tmp_path / "labels.csv"
    path.write_text("question,answer,label\nIs ice cold?,Yes.,yes\n", "utf-8")
    own = load(tmp_path, path)
    reason = unmeasurable(own, SIMILARITY) or ""
    assert "1 of 1 answers have none ('Is ice cold?')" in reason
    assert "correct_answers" in reason
    assert unmeasurable(own, LOGPROB) is None
    (item,) = own.items
    assert isinstance(item, LabelledAnswer)
    with pytest.raises(UsageError, match="there are none"):
        hold(item, SIMILARITY)
