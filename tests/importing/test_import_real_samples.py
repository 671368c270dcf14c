"""What lm-evaluation-harness really logged, imported: the same numbers as truthguard's own run of the same model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.importing.harness_files import sample_of, write_results, write_samples
from truthguard import __main__ as command
from truthguard.store.record import RecordedRun, read_record

GOLDEN = Path(__file__).parent.parent / "golden"
REFERENCE = GOLDEN / "smollm2_2021-10_first40.json"
LOGGED = GOLDEN / "lm_eval_samples_2021-10_first40.json"


@pytest.fixture(scope="module")
def logged() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LOGGED.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def paths(logged: dict[str, Any], real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The real files, with the texts of the real data put back."""
    folder = tmp_path_factory.mktemp("logs")
    entries = json.loads((real_data / "truthfulqa" / "2021-10" / "mc_task.json").read_text(encoding="utf-8"))
    primer = json.loads((real_data / "truthfulqa" / "primers.json").read_text(encoding="utf-8"))["primers"]["qa"]
    write_results(folder, logged["moment"], **logged["results"]["config"], **logged["results"])
    found = []
    for task in ("mc1", "mc2"):
        part = logged[task]
        samples = [
            sample_of(number, entries[number], task, numbers, [n in greedy for n in range(len(numbers))], acc, primer)
            for number, (numbers, greedy, acc) in enumerate(
                zip(part["log_likelihoods"], part["greedy"], part["acc"], strict=True)
            )
        ]
        found.append(write_samples(folder, task, samples, logged["moment"]))
    return found


@pytest.fixture(scope="module")
def run(paths: list[Path], real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    out = tmp_path_factory.mktemp("record") / "record.json"
    arguments = ["import", "lm-eval", *map(str, paths), "--data", str(real_data), "--out", str(out)]
    assert command.main(arguments) == 0
    (found,) = read_record(out).runs
    return found


def test_the_files_are_the_harness_own(paths: list[Path], logged: dict[str, Any]) -> None:
    """Byte for byte what it wrote: the form that the other tests write is the real one."""
    for path, task in zip(paths, ("mc1", "mc2"), strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == logged[task]["sha256"]


def test_the_imported_run_is_our_own(run: RecordedRun, real_data: Path) -> None:
    """All 305 log-likelihoods and every value within 1e-3, mc1 0.3750 and mc2_mass 0.5048."""
    expected = json.loads(REFERENCE.read_text(encoding="utf-8"))
    assert (run.version, len(run.items), run.settings["limit"]) == ("2021-10", 40, 40)
    found = [[one.log_likelihood for one in item.choices] for item in run.items]
    assert sum(map(len, found)) == 305
    for ours, reference in zip(found, expected["log_likelihoods"], strict=True):
        assert ours == pytest.approx(reference, abs=1e-3)
    for metric, mean in (("mc1", 0.3750), ("mc2_mass", 0.5048)):
        values = [item.values[metric] for item in run.items]
        assert values == pytest.approx(expected[metric], abs=1e-3)
        assert fmean(value for value in values if value is not None) == pytest.approx(mean, abs=5e-5)


def test_the_metrics_agree_with_the_harness_own(run: RecordedRun, logged: dict[str, Any]) -> None:
    """Without a tie or an underflow its acc is mc1 and mc2_mass."""
    for metric, task in (("mc1", "mc1"), ("mc2_mass", "mc2")):
        assert [item.values[metric] for item in run.items] == pytest.approx(logged[task]["acc"], abs=1e-9)


def test_the_model_is_told(run: RecordedRun) -> None:
    """As the results file has it."""
    assert run.model is not None
    assert (run.model.name, run.model.dtype, run.model.device) == ("smollm2-135m-instruct", "float32", "cpu")
    assert (run.model.revision, run.model.libraries["lm_eval"]) == ("main", "0.4.13")
    assert run.scorer is not None
    assert run.scorer.largest_difference == 0.0
