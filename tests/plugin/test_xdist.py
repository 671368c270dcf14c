"""Under xdist one process measures and all judge; every mode gives the scores of a single process."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.plugin.projects import gate, requests
from tests.plugin.projects import run as run_anywhere

pytestmark = pytest.mark.slow

ROWS = '[faq.mc1]\nmin = 0.5\nby = "category"\nitem_min = 0\n[faq.mc2]\nmin = 0.9\n'


run = partial(run_anywhere, in_process=False)


@pytest.mark.parametrize("dist", ["load", "loadscope", "loadfile", "worksteal", "loadgroup"])
def test_one_run_serves_every_worker(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dist: str
) -> None:
    """Whatever --dist, each question is asked once, and the record is that of a single process, row for row."""
    gate(project, ROWS)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run(project, "--truthguard-json", "alone.json").assert_outcomes(passed=7, failed=1)
    alone = len(requests(project))
    result = run(project, "-n", "2", "--dist", dist, "--truthguard-json", "spread.json")
    result.assert_outcomes(passed=7, failed=1)
    assert len(requests(project)) == 2 * alone
    assert len({line.split()[0] for line in requests(project)[alone:]}) == 1, "two processes loaded the model"
    first, second = (json.loads((project.path / name).read_text()) for name in ("alone.json", "spread.json"))
    assert first["rows"] == second["rows"], "the order is the file's, whichever worker was first"
    assert first["runs"][0]["items"] == second["runs"][0]["items"]
    assert not list(tmp_path.glob("truthguard-*")), "the session's folder is left behind"


def test_workers_that_each_run_everything_measure_once(project: pytest.Pytester) -> None:
    """--dist each runs every row on every worker; each question is asked once all the same."""
    gate(project, ROWS)
    result = run(project, "--dist", "each", "--tx", "2*popen", "--truthguard-json", "spread.json")
    result.assert_outcomes(passed=14, failed=2)
    assert len({line.split()[0] for line in requests(project)}) == 1, "two processes loaded the model"
    spread = len(requests(project))
    run(project)
    assert len(requests(project)) == 2 * spread
    assert len(json.loads((project.path / "spread.json").read_text())["rows"]) == 8


def test_mistakes_stop_before_the_workers_measure(project: pytest.Pytester) -> None:
    """The controller reads the file too: exit 4 as without xdist."""
    gate(project, "[faq.mc1]\nmin = 70\n")
    result = run(project, "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*thresholds.toml:7*70*"])
    assert requests(project) == []


def test_a_missing_model_is_said_once(project: pytest.Pytester) -> None:
    """Without a model the workers are not asked at all."""
    result = run(project, "-n", "2", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no model is named*"])


def test_a_model_that_breaks_is_tried_once(project: pytest.Pytester) -> None:
    """Every row of the run shows the same error; the other workers do not try again."""
    gate(project, ROWS)
    model = project.path / "model.py"
    model.write_text(
        model.read_text().replace("    lies =", "    raise RuntimeError('the wheels came off')\n    lies =")
    )
    result = run(project, "-n", "2")
    result.assert_outcomes(errors=8)
    assert len(requests(project)) == 1
    result.stdout.fnmatch_lines(["*the wheels came off*"])


def test_one_process_and_none_give_the_same_table(project: pytest.Pytester) -> None:
    """-n 0 and no xdist at all print the same rows."""
    gate(project, ROWS)

    def table(*arguments: str) -> list[str]:
        return [line for line in run(project, "-v", *arguments).outlines if line.startswith("faq  ")]

    assert table("-n", "0") == table("-p", "no:xdist") != []
