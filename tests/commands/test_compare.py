"""`truthguard compare`: two finished records held beside each other, without a model."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commands.recorded import DROP, baseline_file, c19_files, named, record_file, thresholds_file
from tests.report.pages import question, questions_run
from tests.thresholds.made import run_of, scored
from truthguard import __main__ as command
from truthguard.commands import files
from truthguard.records import CorrectedRate, Missing, Run
from truthguard.store.record import read_record, save_record

Told = tuple[int, list[str], str]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run the command: exit status, lines of standard output, standard error."""

    def run(*arguments: str | Path) -> Told:
        status = command.main(["compare", *map(str, arguments)])
        told = capsys.readouterr()
        return status, told.out.splitlines(), told.err

    return run


def test_c19_a_worked_example_of_two_records(compare: Callable[..., Told], tmp_path: Path) -> None:
    """C19: drop 0.06, interval [0.0179, 0.1090], p = 0.00365, McNemar 0.01182: max_drop = 0 fails, exit 1."""
    base, candidate = c19_files(tmp_path)
    gate = thresholds_file(tmp_path, DROP)
    status, lines, error = compare(base, candidate, "--thresholds", gate)
    assert status == 1
    assert error == f"truthguard: candidate.json does not meet {gate}: 1 of 1 rows\n"
    assert lines[0] == (
        "truthfulqa: mc1 of all questions does not meet its bar: drop 0.0600 > 0.0000 (max_drop) against base.json,"
        " shown by a one-sided test: p = 0.00365, alpha = 0.05"
    )
    assert "  interval  0.0179 to 0.1090 at confidence 0.95" in lines
    assert any(line.endswith("exact McNemar p = 0.01182") for line in lines)
    assert any(line.startswith("truthfulqa[mc1]: drop 0.0600 [0.0179, 0.1090] against base.json") for line in lines)
    assert "  asked in the same way of the same model" in lines
    assert "truthguard: 1 failed" in lines


def test_c19_the_mirror_image_is_an_improvement(compare: Callable[..., Told], tmp_path: Path) -> None:
    """C19: the same numbers the other way round pass, and are named an improvement."""
    base, candidate = c19_files(tmp_path, mirrored=True)
    status, lines, error = compare(base, candidate, "--thresholds", thresholds_file(tmp_path, DROP))
    assert (status, error) == (0, "")
    improved = "truthfulqa[mc1]: improved by 0.0600 against base.json, one-sided p = 0.00365; drop -0.0600"
    assert any(line.startswith(improved) for line in lines)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=40), st.sampled_from(["estimate", "proof"]))
def test_a_model_against_its_own_record_never_fails(
    tmp_path_factory: pytest.TempPathFactory, right: list[bool], block_on: str
) -> None:
    """Whatever it scored, by the number and by proof, as a record and as a baseline."""
    folder = tmp_path_factory.mktemp("own")
    run = run_of([float(each) for each in right])
    candidate = record_file(folder / "candidate.json", [run], days=1)
    gate = thresholds_file(folder, f'{DROP}block_on = "{block_on}"\nby = "category"\n')
    for base in (record_file(folder / "base.json", [run]), baseline_file(folder / "small.json", [run])):
        assert command.main(["compare", str(base), str(candidate), "--thresholds", str(gate)]) == 0


def test_without_a_thresholds_file_everything_common_is_shown(compare: Callable[..., Told], tmp_path: Path) -> None:
    """Exit 0 however far it fell; what only one side has is said."""
    base, candidate = c19_files(tmp_path)
    for path, extra in ((base, "gone"), (candidate, "new")):
        record = read_record(path)
        (run,) = record.runs
        save_record(path, replace(record, runs=(run, replace(run, benchmark=extra))))
    status, lines, error = compare(base, candidate)
    assert (status, error) == (0, "")
    assert any(line.startswith("truthfulqa[mc1]: drop 0.0600 [0.0179, 0.1090]") for line in lines)
    assert "warning: only base.json has gone: not compared" in lines
    assert "warning: only candidate.json has new: not compared" in lines


def test_nothing_that_could_be_compared_is_no_success(compare: Callable[..., Told], tmp_path: Path) -> None:
    """Other questions, or none in common: exit 1, and the reason."""
    base = record_file(tmp_path / "base.json", [run_of([1.0, 0.0])])
    other = record_file(tmp_path / "other.json", [replace(run_of([1.0, 0.0]), data_sha256="e")], days=1)
    status, lines, error = compare(base, other)
    assert status == 1
    assert error == "truthguard: nothing of other.json could be compared with base.json\n"
    assert any("the data changed from 'd' to 'e'" in line for line in lines)
    faq = record_file(tmp_path / "faq.json", [named(run_of([1.0, 0.0]), "faq")], days=1)
    status, lines, error = compare(base, faq)
    assert status == 1
    assert "warning: only base.json has truthfulqa: not compared" in lines


def test_what_differs_is_listed(compare: Callable[..., Told], tmp_path: Path) -> None:
    """Two dtypes and two primers are what is compared; a primer other than the file's is said, not refused."""
    run = run_of([1.0, 0.0, 1.0])
    assert run.model is not None
    base = record_file(tmp_path / "base.json", [replace(run, settings={"prompt": "qa"})])
    other = replace(run, model=replace(run.model, dtype="bfloat16"), settings={"prompt": "help"})
    candidate = record_file(tmp_path / "candidate.json", [other], days=1)
    status, lines, _ = compare(base, candidate, "--thresholds", thresholds_file(tmp_path, DROP))
    assert status == 0
    assert "  the model's dtype changed from 'float32' to 'bfloat16'" in lines
    assert "  prompt changed from 'qa' to 'help'" in lines
    assert (
        "warning: truthfulqa in candidate.json was asked in another way than thresholds.toml says:"
        " the prompt changed from 'qa' to 'help'" in lines
    )


def test_bars_are_held_as_in_pytest(compare: Callable[..., Told], tmp_path: Path) -> None:
    """min and max, categories from the record, must-pass items, waivers; one that fails is enough."""
    items = [scored(float(number % 4 > 0), number, category="Law" if number < 8 else "Art") for number in range(16)]
    base = record_file(tmp_path / "base.json", [run_of(items)])
    candidate = record_file(tmp_path / "candidate.json", [run_of(items)], days=1)
    rows = '[truthfulqa.mc1]\nmin = 0.7\nmax = 0.8\nby = "category"\n'
    status, lines, _ = compare(base, candidate, "-v", "--thresholds", thresholds_file(tmp_path, rows))
    assert status == 0
    assert "truthguard: 3 passed" in lines
    gate = thresholds_file(tmp_path, rows + "item_min = 1\n")
    status, lines, _ = compare(base, candidate, "--thresholds", gate)
    assert status == 1
    assert "truthguard: 15 passed, 4 failed" in lines
    assert any(line.startswith("truthfulqa: mc1 of item q0 does not meet its bar") for line in lines)
    waived = rows.replace("0.7\n", "0.9\n").replace("0.8\n", "1\n")
    gate = thresholds_file(tmp_path, waived + 'waive_until = 2999-12-31\nwaive_reason = "known"\n')
    status, lines, _ = compare(base, candidate, "--thresholds", gate)
    assert status == 0
    assert "truthguard: 3 waived" in lines


def test_rows_that_the_record_lacks_are_errors(compare: Callable[..., Told], tmp_path: Path) -> None:
    """A benchmark, a metric, a category, a version: each by name, with what is there; never a pass."""
    base, candidate = c19_files(tmp_path)
    gate = thresholds_file(
        tmp_path,
        '[truthfulqa.mc1]\nmin = 0\n[truthfulqa.mc1.categories."Lwa"]\nmin = 0\n[truthfulqa.mc3]\nmin = 0\n'
        "[starter.mc1]\nmin = 0\n",
    )
    status, lines, error = compare(base, candidate, "--thresholds", gate)
    assert (status, error.endswith("3 of 4 rows\n")) == (1, True)
    missing = [line for line in lines if "could not be measured: " in line]
    assert missing == [
        "truthfulqa[mc1-Lwa] could not be measured: no question of category 'Lwa' is among the 200 of truthfulqa that"
        " were asked: enlarge the sample, or deselect this row",
        "truthfulqa[mc3] could not be measured: candidate.json has no mc3 of truthfulqa, it has mc1",
        "starter[mc1] could not be measured: candidate.json has no starter, it has truthfulqa",
    ]
    gate.write_text('[truthfulqa]\nversion = "2025-01"\n[truthfulqa.mc1]\nmin = 0\n', encoding="utf-8")
    status, lines, _ = compare(base, candidate, "--thresholds", gate)
    assert status == 1
    assert "truthfulqa in candidate.json is of 2021-10, thresholds.toml asks for 2025-01" in lines[0]


def test_a_metric_of_some_questions_only_is_an_error(compare: Callable[..., Told], tmp_path: Path) -> None:
    """A record of another hand may have it of half of them."""
    base = record_file(tmp_path / "base.json", [run_of([1.0, 0.0])])
    items = [scored(1.0, 0), scored(0.5, 1, metric="mc3")]
    candidate = record_file(tmp_path / "candidate.json", [run_of(items)], days=1)
    status, lines, _ = compare(base, candidate, "--thresholds", thresholds_file(tmp_path, DROP))
    assert status == 1
    assert lines[0].endswith("candidate.json has mc1 of 1 of 2 items of truthfulqa only")


def test_what_was_an_error_in_its_session_is_one_here(compare: Callable[..., Told], tmp_path: Path) -> None:
    """A stopped run and a dead backend, whatever they scored."""
    run = run_of([1.0, 0.0])
    base = record_file(tmp_path / "base.json", [run])
    gate = thresholds_file(tmp_path, "[truthfulqa.mc1]\nmin = 0\n")
    stopped = replace(run, complete=False, stopped=Missing("max_requests", "sent"))
    dead = run_of([scored(1.0, number, degenerate=("log_likelihood",)) for number in range(2)])
    for wrong, words in ((stopped, "was stopped before everything"), (dead, "a dead or constant backend")):
        status, lines, _ = compare(base, record_file(tmp_path / "now.json", [wrong], days=1), "--thresholds", gate)
        assert status == 1
        assert words in lines[0]


def test_a_file_in_which_no_row_is_gated_is_no_success(compare: Callable[..., Told], tmp_path: Path) -> None:
    """As in pytest."""
    base, candidate = c19_files(tmp_path)
    gate = thresholds_file(tmp_path, "[truthfulqa.mc1]\nmin = 0\nmin_items = 500\n")
    status, _, error = compare(base, candidate, "--thresholds", gate)
    assert (status, error) == (1, f"truthguard: {gate}: no row was gated, so this says nothing\n")


def test_max_drop_against_other_questions_is_an_error(compare: Callable[..., Told], tmp_path: Path) -> None:
    """Refused by name, as in pytest."""
    base, candidate = c19_files(tmp_path)
    record = read_record(base)
    save_record(base, replace(record, runs=(replace(record.runs[0], data_sha256="other"),)))
    status, lines, _ = compare(base, candidate, "--thresholds", thresholds_file(tmp_path, DROP))
    assert status == 1
    assert "max_drop: not comparable with base.json: the data changed from 'other' to 'd'" in lines[0]


def test_the_judge_that_is_required_is_said_to_be_held_elsewhere(compare: Callable[..., Told], tmp_path: Path) -> None:
    """No judge is asked here."""
    base, candidate = c19_files(tmp_path)
    gate = thresholds_file(
        tmp_path, '[judge]\nrequires = { "truthful_judge.accuracy" = 0.8 }\n[truthfulqa.mc1]\nmin = 0\n'
    )
    status, lines, _ = compare(base, candidate, "--thresholds", gate)
    assert status == 0
    assert any(line.startswith("warning: thresholds.toml requires trust in its judge") for line in lines)


def test_a_corrected_rate_is_kept(compare: Callable[..., Told], tmp_path: Path) -> None:
    """What the session knew of its judge's errors stands beside the same score."""
    rate = CorrectedRate(0.9, 0.8, 100, 100, 0.95, 0.7, 0.6, 0.8, 0.7)
    base, candidate = c19_files(tmp_path)
    gate = thresholds_file(tmp_path, "[truthfulqa.mc1]\nmin = 0\n")
    out = tmp_path / "out.json"
    assert compare(base, candidate, "--thresholds", gate, "--json", out)[0] == 0
    record = read_record(out)
    save_record(candidate, replace(record, rows=(replace(record.rows[0], corrected=rate),)))
    assert compare(base, candidate, "--thresholds", gate, "--json", out)[0] == 0
    assert read_record(out).rows[0].corrected == rate


def test_pages_and_the_record_are_written(compare: Callable[..., Told], tmp_path: Path) -> None:
    """The candidate's runs as they were, with the rows of the comparison; written also when a bar fails."""
    base, candidate = c19_files(tmp_path)
    names = {name: tmp_path / f"out.{name}" for name in ("html", "markdown", "json")}
    options = [each for name, path in names.items() for each in (f"--{name}", path)]
    status, lines, _ = compare(base, candidate, "--thresholds", thresholds_file(tmp_path, DROP), *options)
    assert status == 1
    assert [f"record: {names['json']}", f"page: {names['markdown']}", f"page: {names['html']}"] == lines[-3:]
    record, before = read_record(names["json"]), read_record(candidate)
    assert (record.runs, record.created) == (before.runs, before.created)
    assert record.rows[0].drops[0].estimate == 0.06
    page = names["html"].read_text("utf-8")
    for words in ("Since the baseline", "beyond the bar", "lower than base.json", "16 worse, 4 better"):
        assert words in page
    assert "### Changed most against `base.json`: 10 of 20 items" in names["markdown"].read_text("utf-8")
    again, third = tmp_path / "again.html", tmp_path / "third.html"
    for path in (again, third):
        compare(base, candidate, "--html", path)
    assert again.read_bytes() == third.read_bytes()


def spoiled(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda base, candidate: base.unlink(), "base.json: the baseline cannot be read (No such file"),
        (lambda base, candidate: candidate.write_text("no"), "candidate.json:1: cut off, not JSON"),
        (lambda base, candidate: candidate.write_text("{}"), "candidate.json: expected a baseline of truthguard: an"),
        (lambda base, candidate: spoiled(base, lambda c: c.update(schema=99)), "base.json: a record of schema 99"),
        (lambda base, candidate: spoiled(candidate, lambda c: c.pop("rows")), "candidate.json: not a record of schema"),
    ],
)
def test_files_that_are_no_records_are_named(
    compare: Callable[..., Told], tmp_path: Path, spoil: Callable[[Path, Path], object], words: str
) -> None:
    """Not there, not JSON, of a later schema, not whole: exit 1 before anything is printed."""
    base, candidate = c19_files(tmp_path)
    spoil(base, candidate)
    status, lines, error = compare(base, candidate)
    assert (status, lines) == (1, [])
    assert words in error


def test_values_that_no_metric_has_are_named(compare: Callable[..., Told], tmp_path: Path) -> None:
    """In either file, with the item."""
    base, _ = c19_files(tmp_path)
    candidate = record_file(tmp_path / "candidate.json", [run_of([0.5])])
    status, lines, error = compare(base, candidate)
    assert (status, lines) == (1, [])
    assert "truthfulqa: q0 has mc1 = 0.5, expected 0 or 1" in error


def test_a_record_beside_itself_is_refused(compare: Callable[..., Told], tmp_path: Path) -> None:
    """By whatever path it is named."""
    base, _ = c19_files(tmp_path)
    (tmp_path / "link.json").symlink_to(base)
    for other in (base, tmp_path / "." / "base.json", tmp_path / "link.json"):
        status, _, error = compare(base, other)
        assert status == 1
        assert "named as BASE and as CANDIDATE" in error


def test_swapped_arguments_are_told(compare: Callable[..., Told], tmp_path: Path) -> None:
    """A baseline cannot be the candidate; of two records the dates tell."""
    base, candidate = c19_files(tmp_path)
    small = baseline_file(tmp_path / "small.json", [run_of([1.0, 0.0])])
    status, _, error = compare(candidate, small)
    assert status == 1
    assert f"are the two swapped? truthguard compare {small} {candidate}" in error
    status, lines, _ = compare(candidate, base)
    assert status == 0
    assert any(line.startswith("warning: candidate.json was made after base.json") for line in lines)


def test_two_files_of_one_name_are_told_apart(compare: Callable[..., Told], tmp_path: Path) -> None:
    """By their paths."""
    base, candidate = c19_files(tmp_path)
    (tmp_path / "new").mkdir()
    other = tmp_path / "new" / "base.json"
    shutil.move(candidate, other)
    _, lines, _ = compare(base, other)
    assert any(f"against {base}" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--html", "base.json"), "--html base.json: this file is read here; name another file"),
        (("--json", "none/out.json"), "--json none/out.json: the folder none does not exist"),
        (("--html", "out", "--markdown", "out"), "--markdown out: this is the file of --html too"),
        (("--markdown", "."), "--markdown .: this is a folder"),
        (("--thresholds", "none.toml"), "none.toml"),
    ],
)
def test_mistakes_are_told_before_the_work(
    compare: Callable[..., Told],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: Sequence[str],
    words: str,
) -> None:
    """Nothing is printed and nothing written."""
    c19_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    status, lines, error = compare("base.json", "candidate.json", *arguments)
    assert (status, lines) == (1, [])
    assert words in error
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_missing_extra_is_told(compare: Callable[..., Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    base, candidate = c19_files(tmp_path)
    monkeypatch.setattr(files, "missing_extra", lambda: 'pip install "truthguard[report]"')
    status, _, error = compare(base, candidate, "--html", tmp_path / "out.html")
    assert (status, error) == (1, 'truthguard: --html: pip install "truthguard[report]"\n')


def test_no_model_is_loaded() -> None:
    """Neither torch nor a client of an API is imported."""
    code = "import sys; from truthguard.commands import comparing, power, reporting; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not set(done.stdout.split()) & {"torch", "transformers", "openai", "matplotlib", "jinja2", "pytest"}


def test_judged_metrics_are_compared_and_named_with_their_judge(compare: Callable[..., Told], tmp_path: Path) -> None:
    """The judge's name stands behind its metric, as in pytest."""
    run: Run = questions_run([question(place, random.Random(place)) for place in range(20)])
    base = record_file(tmp_path / "base.json", [run])
    candidate = record_file(tmp_path / "candidate.json", [run], days=1)
    status, lines, _ = compare(base, candidate)
    assert status == 0
    assert any(line.startswith("faq        truthful (rubric, openai:some-judge)") for line in lines)
    assert not any("against" in line and "drop 0.0000" not in line and line.startswith("faq[") for line in lines)
