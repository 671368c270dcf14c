"""lm-evaluation-harness' logged samples become a record: the same numbers by truthguard's own metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importing.harness_files import (
    ENTRIES,
    MC1,
    MC2,
    samples_of,
    write_data,
    write_results,
    write_samples,
)
from truthguard import __main__ as command
from truthguard.benchmarks import truthfulqa
from truthguard.errors import DataError, UsageError
from truthguard.importing.lm_eval import import_samples
from truthguard.records import ItemScores, Run
from truthguard.store.record import read_record

Samples = list[dict[str, Any]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The invented questions as 2021-09; of 2021-10 one answer is another."""
    folder = write_data(tmp_path / "data", "2021-09")
    other = json.loads(json.dumps(ENTRIES))
    other[1]["mc2_targets"] = {"All stones do.": 0, "Pumice does.": 1, "Only at night.": 0, "Few do.": 1}
    return write_data(folder, "2021-10", other)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Where the harness wrote, with its results file."""
    folder = tmp_path / "logs"
    folder.mkdir()
    write_results(folder)
    return folder


@pytest.fixture
def both(logs: Path) -> list[Path]:
    """The samples of both tasks."""
    return [write_samples(logs, "mc1", samples_of("mc1", MC1)), write_samples(logs, "mc2", samples_of("mc2", MC2))]


def by_question(run: Run) -> dict[str, ItemScores]:
    return {item.question: item for item in run.items}


def test_both_tasks_become_one_run(both: list[Path], data: Path) -> None:
    """Ids, categories, questions and choices of the data; values by our metrics: the tie of the second loses."""
    rows, run = import_samples(both, data)
    published = truthfulqa.load(data, "2021-09")
    assert (run.benchmark, run.version, run.complete) == ("truthfulqa", "2021-09", True)
    assert (run.data_sha256, run.file_sha256) == (published.data_sha256, published.file_sha256)
    for item, question in zip(run.items, published.questions, strict=True):
        assert (item.id, item.category, item.question) == (question.id, question.category, question.question)
        assert [(one.text, one.true, one.in_mc1) for one in item.choices] == [
            (one.text, one.true, one.in_mc1) for one in question.choices
        ]
        assert all(one.tokens is None and one.p_yes is None for one in item.choices)
    tin, stones, noon = run.items
    assert [one.log_likelihood for one in tin.choices] == [-3.5, -4.0, -4.0, -8.0]
    assert [one.log_likelihood for one in stones.choices] == [-2.0, -2.0, -9.0, -3.0]
    assert [item.values["mc1"] for item in run.items] == [1.0, 0.0, 0.0]
    assert [item.values["mc3"] for item in run.items] == [0.5, 0.0, 0.0]
    assert noon.values["mc2_mass"] == pytest.approx(math.exp(-1.5) / (math.exp(-1.5) + math.exp(-1.0)))
    assert run.counts.tied_best == 1
    assert [(row.row.id, row.verdict, row.summary and row.summary.n) for row in rows] == [
        ("truthfulqa[mc1]", "not_gated", 3),
        ("truthfulqa[mc2_mass]", "not_gated", 3),
        ("truthfulqa[mc3]", "not_gated", 3),
    ]


def test_the_results_file_names_the_model(both: list[Path], data: Path) -> None:
    """Name, revision, dtype and device class as the harness has them; no secret among the arguments."""
    run = import_samples(both, data)[1]
    assert run.model is not None
    assert run.scorer is not None
    assert (run.model.name, run.model.kind, run.model.digest) == ("some/model", "lm-eval", None)
    assert (run.model.device, run.model.dtype, run.model.revision) == ("cuda", "bfloat16", "0123abcd")
    assert run.model.libraries == {"lm_eval": "0.4.13", "transformers": "5.24.0"}
    assert run.oldest_answer is not None
    assert run.oldest_answer.isoformat() == "2026-01-02T03:04:05.500000+00:00"
    assert run.scorer.scorer == "lm-eval"
    assert "hf, pretrained=some/model, dtype=bfloat16, token=***, add_bos_token=True" in run.scorer.reason
    assert "samples_truthfulqa_mc1_" in run.scorer.reason
    assert (run.settings["prompt"], run.settings["chat_template"], run.settings["limit"]) == ("qa", False, None)


def test_the_settings_have_the_keys_of_a_run_of_our_own(both: list[Path], data: Path) -> None:
    """A comparison of the two lists only what was done otherwise."""
    from truthguard.records import BenchmarkSettings, ModelSettings, Selection
    from truthguard.runner import _recorded

    own = _recorded(BenchmarkSettings("truthfulqa"), ModelSettings("m"), Selection())
    imported = import_samples(both, data)[1].settings
    assert list(imported) == list(own)
    assert {key for key in own if own[key] != imported[key]} == {"scorer"}


def test_the_command_writes_a_record(
    both: list[Path], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reads back whole, and its scores are printed."""
    out = tmp_path / "record.json"
    arguments = ["import", "lm-eval", *map(str, both), "--data", str(data), "--out", str(out)]
    assert command.main(arguments) == 0
    record = read_record(out)
    assert [run.benchmark for run in record.runs] == ["truthfulqa"]
    assert [(row.metric, row.n, row.verdict) for row in record.rows] == [
        ("mc1", 3, "not_gated"),
        ("mc2_mass", 3, "not_gated"),
        ("mc3", 3, "not_gated"),
    ]
    told = capsys.readouterr().out
    assert "mc2_mass (probability mass)" in told
    assert "truthfulqa 2021-09: 3 questions, some/model (bfloat16, cuda), lm-eval scoring" in told
    assert told.endswith(f"record: {out}\n")


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_files_and_lines_does_not_matter(order: int, logs: Path, data: Path) -> None:
    """Items stand in the data file's order, whichever way samples came."""
    paths = [
        write_samples(logs, task, samples_of(task, numbers)[::order]) for task, numbers in (("mc1", MC1), ("mc2", MC2))
    ]
    run = import_samples(paths[::order], data)[1]
    assert [item.question for item in run.items] == [entry["question"] for entry in ENTRIES]
    assert [item.values["mc1"] for item in run.items] == [1.0, 0.0, 0.0]


def test_mc2_alone_has_all_values(logs: Path, data: Path) -> None:
    """mc1's choices are among mc2's."""
    run = import_samples([write_samples(logs, "mc2", samples_of("mc2", MC2))], data)[1]
    assert [set(item.values) for item in run.items] == [{"mc1", "mc2_mass", "mc3"}] * 3
    assert run.scorer is not None
    assert run.scorer.largest_difference is None


def test_mc1_alone_has_mc1(logs: Path, data: Path) -> None:
    """The other choices were not asked: they stand there without a number."""
    rows, run = import_samples([write_samples(logs, "mc1", samples_of("mc1", MC1))], data, version="2021-09")
    assert [dict(item.values) for item in run.items] == [{"mc1": 1.0}, {"mc1": 0.0}, {"mc1": 0.0}]
    assert [one.log_likelihood for one in run.items[0].choices] == [-3.5, None, -4.0, None]
    assert [row.row.metric for row in rows] == ["mc1"]


def test_a_question_that_mc2_lacks_is_missing(logs: Path, data: Path) -> None:
    """With a reason for each metric that needs it; the rows say that it could not be scored."""
    paths = [
        write_samples(logs, "mc1", samples_of("mc1", MC1)),
        write_samples(logs, "mc2", samples_of("mc2", MC2)[1:]),
    ]
    rows, run = import_samples(paths, data)
    tin = run.items[0]
    assert (tin.values["mc1"], tin.values["mc2_mass"]) == (1.0, None)
    assert str(tin.reasons["mc3"]) == "not_logged: no sample of truthfulqa_mc2 has this question"
    assert [row.verdict for row in rows] == ["not_gated", "error", "error"]


def test_a_limited_set_has_those_items(logs: Path, data: Path) -> None:
    """The first two questions are the run's limit, any others are not."""
    paths = [write_samples(logs, "mc2", samples_of("mc2", MC2)[:2])]
    first = import_samples(paths, data)[1]
    assert (len(first.items), first.settings["limit"]) == (2, 2)
    paths = [write_samples(logs, "mc2", samples_of("mc2", MC2)[1:2])]
    other = import_samples(paths, data)[1]
    assert (len(other.items), other.settings["limit"]) == (1, None)


def test_the_number_of_mc2_is_taken(logs: Path, data: Path) -> None:
    """Two batches differ a little: an item's numbers are all of one, and how far apart they were is said."""
    close = [["-3.625", "-4.0"], *MC1[1:]]
    paths = [write_samples(logs, "mc1", samples_of("mc1", close)), write_samples(logs, "mc2", samples_of("mc2", MC2))]
    run = import_samples(paths, data)[1]
    assert run.items[0].choices[0].log_likelihood == -3.5
    assert run.scorer is not None
    assert run.scorer.largest_difference == 0.125
    assert "differ by at most 0.12" in run.scorer.reason


@pytest.mark.parametrize(
    ("numbers", "values", "kind"),
    [
        (["nan", "-4.0", "-4.0", "-8.0"], None, "nan"),
        (["-inf", "-inf", "-inf", "-inf"], None, "zero_probability"),
        (["inf", "-1.0", "-1.0", "-1.0"], None, "infinite"),
        (["-inf", "-4.0", "-4.0", "-8.0"], 0.0, None),
    ],
)
def test_numbers_that_are_none(
    numbers: list[str], values: float | None, kind: str | None, logs: Path, data: Path, tmp_path: Path
) -> None:
    """NaN is missing, with its reason, where the harness' argmax says right; -inf is probability 0."""
    path = write_samples(logs, "mc2", samples_of("mc2", [numbers, *MC2[1:]]))
    out = tmp_path / "record.json"
    assert command.main(["import", "lm-eval", str(path), "--data", str(data), "--out", str(out)]) == 0
    item = read_record(out).runs[0].items[0]
    assert item.values["mc1"] == values
    assert (item.reasons["mc1"].kind if "mc1" in item.reasons else None) == kind


def test_a_dead_model_is_an_error_row(logs: Path, data: Path) -> None:
    """Every choice with the same number: no score, though the harness counts it as right."""
    dead = [["-7.0"] * len(row) for row in MC2]
    rows, run = import_samples([write_samples(logs, "mc2", samples_of("mc2", dead))], data)
    assert run.counts.degenerate == 3
    assert {row.verdict for row in rows} == {"error"}
    assert "dead or constant backend (some/model)" in rows[0].reason


# The model


def test_a_name_for_the_model_alone(tmp_path: Path, data: Path) -> None:
    """Without a results file --model must name it, and no dtype is made up."""
    path = write_samples(tmp_path, "mc2", samples_of("mc2", MC2))
    with pytest.raises(UsageError, match=r"no results file lies beside it .* --model NAME"):
        import_samples([path], data)
    model = import_samples([path], data, model="mine")[1].model
    assert model is not None
    assert (model.name, model.dtype, model.device, model.digest) == ("mine", "", "", None)


def test_a_name_replaces_the_results_files(both: list[Path], data: Path) -> None:
    """What else the results file says stays."""
    model = import_samples(both, data, model="mine")[1].model
    assert model is not None
    assert (model.name, model.dtype) == ("mine", "bfloat16")


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [("pretrained=some/model,dtype=float16,revision=v2", "float16"), ("pretrained=some/model", "")],
)
def test_arguments_as_text(arguments: str, dtype: str, logs: Path, both: list[Path], data: Path) -> None:
    """Where the harness kept them as they were typed, and a model that tells nothing of itself."""
    write_results(logs, model_args=arguments, model_dtype="", model_revision="", model_sha="")
    run = import_samples(both, data)[1]
    assert run.model is not None
    assert run.model.dtype == dtype
    assert run.model.revision == ("v2" if "v2" in arguments else None)


def test_samples_of_two_models_by_their_results(logs: Path, data: Path) -> None:
    """Each run has its own results file."""
    later = "2026-02-02T00-00-00.000001"
    paths = [
        write_samples(logs, "mc1", samples_of("mc1", MC1)),
        write_samples(logs, "mc2", samples_of("mc2", MC2), later),
    ]
    write_results(logs, later)
    assert len(import_samples(paths, data)[1].items) == 3
    write_results(logs, later, model_name="other/model")
    with pytest.raises(DataError, match=r"mc2_2026-02-02.*: samples of two different models: other/model .*some/model"):
        import_samples(paths, data)
    write_results(logs, later, model_dtype="torch.float32")
    with pytest.raises(DataError, match=r"two different runs: some/model \(float32, .*some/model \(bfloat16, "):
        import_samples(paths, data)


def test_samples_of_two_models_by_their_numbers(tmp_path: Path, data: Path) -> None:
    """Without results files the numbers of the same answers give them away."""
    paths = [
        write_samples(tmp_path, "mc1", samples_of("mc1", [["-9", "-9"], ["-9", "-9", "-9"], ["-9", "-9"]])),
        write_samples(tmp_path, "mc2", samples_of("mc2", MC2)),
    ]
    with pytest.raises(DataError, match=r"mc1_.*\.jsonl:3: samples of two models: .* 7 answers .* lie 7 apart"):
        import_samples(paths, data, model="mine")


def test_a_results_file_of_another_name(tmp_path: Path, data: Path) -> None:
    """With --output_path NAME.json the harness calls it NAME_MOMENT.json; a date that is none is no moment."""
    path = write_samples(tmp_path, "mc2", samples_of("mc2", MC2))
    results = write_results(tmp_path, date=10**400)
    results.rename(results.with_name(results.name.replace("results", "mine")))
    run = import_samples([path], data)[1]
    assert run.model is not None
    assert (run.model.name, run.oldest_answer) == ("some/model", None)


def test_a_results_file_that_is_none(logs: Path, both: list[Path], data: Path) -> None:
    """The error names it."""
    next(logs.glob("results_*")).write_text("[]")
    with pytest.raises(DataError, match=r"results_.*json: no results file of lm-evaluation-harness"):
        import_samples(both, data)


# The prompt


def framed(samples: Samples, *, blank: bool) -> Samples:
    """The prompt as a user's turn."""
    for sample in samples:
        for argument in sample["arguments"].values():
            argument["arg_0"] = f"<user>{argument['arg_0']}</user><model>"
            argument["arg_1"] = argument["arg_1"] if blank else argument["arg_1"][1:]
    return samples


@pytest.mark.parametrize("blank", [True, False])
def test_a_chat_template_is_said(blank: bool, logs: Path, data: Path) -> None:
    """In the settings and in the scorer's words; the system prompt is kept."""
    path = write_samples(logs, "mc2", framed(samples_of("mc2", MC2), blank=blank))
    with pytest.raises(
        DataError, match=r"jsonl:1: the prompt is not that .* holds more than that, of which no results"
    ):
        import_samples([path], data)
    write_results(logs, chat_template="{{ messages }}", system_instruction="Be brief.")
    run = import_samples([path], data)[1]
    assert (run.settings["chat_template"], run.settings["system_prompt"]) == (True, "Be brief.")
    assert run.scorer is not None
    assert "asked with a chat template" in run.scorer.reason


def test_few_shot_examples_are_refused(logs: Path, data: Path) -> None:
    """They would hide in a chat template."""
    shots: dict[str, Any] = {"n-shot": {"truthfulqa_mc1": 0, "truthfulqa_mc2": 3}}
    write_results(logs, chat_template="{{ messages }}", **shots)
    path = write_samples(logs, "mc2", framed(samples_of("mc2", MC2), blank=False))
    with pytest.raises(DataError, match=r"results_.*: asked with 3 few-shot examples"):
        import_samples([path], data)


def test_another_prompt_is_refused(logs: Path, data: Path) -> None:
    """Its numbers are of another benchmark."""
    samples = samples_of("mc2", MC2)
    for argument in samples[1]["arguments"].values():
        argument["arg_0"] = "Stones?"
    with pytest.raises(DataError, match=r"jsonl:2: the prompt is not that of truthfulqa_mc1 and truthfulqa_mc2"):
        import_samples([write_samples(logs, "mc2", samples)], data)


# The version


def test_the_version_is_the_one_that_has_them_all(logs: Path, data: Path) -> None:
    """The second question's answers are those of 2021-10."""
    entries = json.loads((data / "truthfulqa" / "2021-10" / "mc_task.json").read_text())
    run = import_samples([write_samples(logs, "mc2", samples_of("mc2", MC2, entries))], data)[1]
    assert run.version == "2021-10"
    assert run.data_sha256 == truthfulqa.load(data, "2021-10").data_sha256


def test_several_versions_have_them_all(logs: Path, data: Path) -> None:
    """Then it must be said which is meant."""
    path = write_samples(logs, "mc2", samples_of("mc2", MC2)[:1])
    with pytest.raises(UsageError, match="the 1 questions of the samples are the same in 2021-09 and 2021-10"):
        import_samples([path], data)
    assert import_samples([path], data, version="2021-10")[1].version == "2021-10"


def test_the_version_that_is_named_has_other_answers(logs: Path, data: Path) -> None:
    """The error says which question differs, and how."""
    path = write_samples(logs, "mc2", samples_of("mc2", MC2))
    with pytest.raises(DataError) as caught:
        import_samples([path], data, version="2021-10")
    first, second = map(str, caught.value.mistakes)
    assert first.startswith("of 3 samples 1 differ from 2021-10")
    assert second == (
        f"{path}:2: not as in 2021-10: mc2_targets has 1 answers too many, the first 'Most do not.'; 1 answers missing,"
        " the first 'Few do.' ('Do stones float?')"
    )


def test_questions_that_no_version_has(logs: Path, data: Path) -> None:
    """How many they are, by version, and each of those that differ from the nearest."""
    entries = json.loads(json.dumps(ENTRIES))
    entries[0]["question"] = "Is lead a metal?"
    entries[2]["mc1_targets"]["Noon is dark."] = 1
    path = write_samples(logs, "mc2", samples_of("mc2", MC2, entries))
    with pytest.raises(DataError) as caught:
        import_samples([path], data)
    told = str(caught.value)
    assert "of 3 samples 2 differ from 2021-09, 3 differ from 2021-10" in told
    assert f"{path}:1: not as in 2021-09: its question is not there ('Is lead a metal?')" in told
    assert f"{path}:3: not as in 2021-09: mc1_targets has 1 answers labelled otherwise" in told


def test_without_data_it_is_said_where_to_get_them(both: list[Path], tmp_path: Path) -> None:
    """As by every benchmark; a version that alone is there is enough."""
    with pytest.raises(DataError, match="truthguard fetch truthfulqa"):
        import_samples(both, tmp_path / "nothing")
    alone = write_data(tmp_path / "alone", "2021-09")
    assert import_samples(both, alone)[1].version == "2021-09"


# Files that are none, and damaged ones


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file; expected samples of truthfulqa_mc1 or truthfulqa_mc2"),
        ('{\n "results": {}\n}\n', "no file of samples, its first line is not valid JSON"),
        ("[1, 2]\n", "the first line: expected an object"),
        ('{"question": "?"}\n', "the first line: no 'doc' among its keys (question)"),
    ],
)
def test_a_file_that_holds_no_samples(text: str, message: str, tmp_path: Path, data: Path) -> None:
    """One error, whatever is in it."""
    path = tmp_path / "some.jsonl"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        import_samples([path], data)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert len(caught.value.mistakes) == 1


def test_samples_of_another_task(tmp_path: Path, data: Path) -> None:
    """They have other docs, whatever the file is called."""
    samples = samples_of("mc2", MC2)
    samples[0]["doc"] = {"question": "Is tin a metal?", "best_answer": "Yes."}
    path = write_samples(tmp_path, "gen", samples)
    with pytest.raises(
        DataError, match=r"the doc: no 'mc1_targets' among its keys .* expected samples of truthfulqa_mc1"
    ):
        import_samples([path], data)


def _one_response_less(sample: dict[str, Any]) -> None:
    sample["filtered_resps"] = sample["filtered_resps"][1:]


def _one_choice_less(sample: dict[str, Any]) -> None:
    sample["arguments"].popitem()


def _another_choice(sample: dict[str, Any]) -> None:
    sample["arguments"]["gen_args_0"]["arg_1"] = " Lead is."


def _two_prompts(sample: dict[str, Any]) -> None:
    sample["arguments"]["gen_args_0"]["arg_0"] = "Q: ?"


def _no_label(sample: dict[str, Any]) -> None:
    sample["doc"]["mc1_targets"]["labels"].pop()


def _odd_label(sample: dict[str, Any]) -> None:
    sample["doc"]["mc2_targets"]["labels"][0] = True


def _twice(sample: dict[str, Any]) -> None:
    sample["doc"]["mc2_targets"]["choices"][1] = sample["doc"]["mc2_targets"]["choices"][0]


def _no_question(sample: dict[str, Any]) -> None:
    sample["doc"]["question"] = 7


def _no_number(sample: dict[str, Any]) -> None:
    sample["filtered_resps"][0][0] = "many"


def _a_text_alone(sample: dict[str, Any]) -> None:
    sample["filtered_resps"][0] = "-3.5"


def _above_zero(sample: dict[str, Any]) -> None:
    sample["filtered_resps"][0][0] = "0.25"


def _a_list_of_arguments(sample: dict[str, Any]) -> None:
    sample["arguments"] = [["prompt", " choice"]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_one_response_less, "filtered_resps: expected 4 responses, one for each choice asked, found 3 responses"),
        (_one_choice_less, "the 3 choices that were asked are neither the 3 of mc1_targets nor the 4 of mc2_targets"),
        (_another_choice, "the 4 choices that were asked are neither"),
        (_two_prompts, "arguments: expected one prompt for all choices, found 2"),
        (_no_label, "mc1_targets: expected a list of choices and as many labels"),
        (_odd_label, "mc2_targets: the label True, expected 0 or 1"),
        (_twice, "mc2_targets: the choice 'All stones do.' stands there twice"),
        (_no_question, "question: expected a text, found 7"),
        (_no_number, "response 1: expected a log-likelihood, found 'many'"),
        (_a_text_alone, "response 1: expected a log-likelihood and True or False, found '-3.5'"),
        (_above_zero, "response 1: 0.25 is no log-likelihood: above 0"),
        (_a_list_of_arguments, "arguments: expected an object, found list"),
    ],
)
def test_a_damaged_sample(spoil: Callable[[dict[str, Any]], None], message: str, logs: Path, data: Path) -> None:
    """Named by file and line."""
    samples = samples_of("mc2", MC2)
    spoil(samples[1])
    path = write_samples(logs, "mc2", samples)
    with pytest.raises(DataError) as caught:
        import_samples([path], data)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)


def test_a_file_that_is_cut_off(logs: Path, data: Path) -> None:
    """The last line is half a sample: none of the others is imported without it."""
    path = write_samples(logs, "mc2", samples_of("mc2", MC2))
    path.write_text(path.read_text()[:-200])
    with pytest.raises(DataError, match=r"jsonl:3: not valid JSON: .* is it cut short\?"):
        import_samples([path], data)


def test_a_question_that_stands_twice(logs: Path, data: Path) -> None:
    """In one file, or in two files of one task: which of the two counts?"""
    samples = samples_of("mc2", MC2)
    path = write_samples(logs, "mc2", [*samples, samples[0]])
    with pytest.raises(DataError, match=r"jsonl:4: this question stands at .*jsonl:1 already"):
        import_samples([path], data)
    paths = [write_samples(logs, task, samples) for task in ("mc2", "local_mc2")]
    with pytest.raises(DataError, match=r"local_mc2_.*jsonl:1: this question stands at .*jsonl:1 already"):
        import_samples(paths, data)
    with pytest.raises(DataError, match="already"):
        import_samples([paths[0], paths[0]], data)


def test_other_filters_are_left_out_and_said(logs: Path, data: Path) -> None:
    """With their number; a file of nothing else is refused."""
    samples = samples_of("mc2", MC2)
    others = [{**sample, "filter": "first"} for sample in samples]
    run = import_samples([write_samples(logs, "mc2", [*samples, *others])], data)[1]
    assert len(run.items) == 3
    assert run.scorer is not None
    assert run.scorer.reason.startswith("3 samples of the filter 'first' left out; ")
    with pytest.raises(DataError, match="no sample of the filter 'none', only of: first"):
        import_samples([write_samples(logs, "mc2", others)], data)


@pytest.mark.parametrize(
    "arguments",
    [
        ["lm-eval", "a.jsonl"],
        ["lm-eval", "--out", "r.json"],
        ["helm", "a.jsonl", "--out", "r.json"],
        ["lm-eval", "a.jsonl", "--out", "r.json", "--version", "2025-01"],
    ],
)
def test_a_wrong_command_line_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No record to write, no samples, another tool, a version that the harness does not ask."""
    with pytest.raises(SystemExit) as exit_:
        command.main(["import", *arguments])
    assert exit_.value.code == 2
    assert "usage: truthguard import" in capsys.readouterr().err


def test_a_folder_is_no_file(logs: Path, data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One message, exit 1, no record."""
    out = tmp_path / "record.json"
    assert command.main(["import", "lm-eval", str(logs), "--data", str(data), "--out", str(out)]) == 1
    assert capsys.readouterr().err.startswith(f"truthguard: {logs}: cannot be read")
    assert not out.exists()


@given(
    junk=st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
        max_leaves=5,
    ),
    key=st.sampled_from(["doc", "arguments", "filtered_resps", "filter"]),
)
def test_junk_in_any_field_is_one_of_our_errors(
    junk: object, key: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Never a traceback, never a sample of it."""
    folder = tmp_path_factory.mktemp("junk")
    data = write_data(folder / "data", "2021-09")
    samples = samples_of("mc2", MC2)
    samples[1][key] = junk
    path = folder / "samples.jsonl"
    path.write_text("\n".join(map(json.dumps, samples)))
    if key == "filter":
        assert len(import_samples([path], data, model="m")[1].items) == (3 if junk == "none" else 2)
        return
    with pytest.raises(DataError, match=r"samples\.jsonl:2: "):
        import_samples([path], data, model="m")
