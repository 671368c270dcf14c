"""`truthguard power`: what a comparison could show, told before anything is asked."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands.recorded import baseline_file, record_file, thresholds_file
from tests.thresholds.made import row_of, run_of, scored
from truthguard import __main__ as command
from truthguard.commands.power import CHANGED, WIDTH, Power, power_of
from truthguard.metrics import power
from truthguard.metrics.power import detectable_drop
from truthguard.records import ItemScores, Missing

Told = tuple[int, list[str], str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[[Path, Path], Told]:
    """Run the command: exit status, lines of standard output, standard error."""

    def run(thresholds: Path, baseline: Path) -> Told:
        status = command.main(["power", str(thresholds), "--baseline", str(baseline)])
        printed = capsys.readouterr()
        return status, printed.out.splitlines(), printed.err

    return run


def test_the_doctests() -> None:
    """The examples of what it is computed with are true."""
    assert doctest.testmod(power).failed == 0


def test_the_table(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """817 questions at 5, 10 and 20 % changed: (z(1 - alpha) + z(0.8)) s / sqrt(n) above the bar, and the items."""
    baseline = baseline_file(tmp_path / "base.json", [run_of([1.0, 0.0] * 408 + [1.0])])
    gate = thresholds_file(tmp_path, "[truthfulqa.mc1]\nmax_drop = 0.02\n")
    status, lines, error = told(gate, baseline)
    assert (status, error) == (0, "")
    assert lines == [
        "The smallest drop that would be shown with 80 % power if 5, 10 or 20 % of the items change:",
        "row                n  max_drop  alpha     5 %    10 %    20 %  decided           items needed",
        "truthfulqa[mc1]  817      0.02   0.05  0.0395  0.0475  0.0589  up to 5 %  773 / 1,546 / 3,092",
        "decided: a model that lost nothing would be shown to be within max_drop, and one that lost twice as much"
        " beyond it",
    ]


def test_alpha_is_the_rows_own(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """Divided by the proof rows of the file, those of the categories among them; under doubt it is not."""
    items = [scored(float(number % 2), number, category="Law" if number < 60 else "Art") for number in range(100)]
    baseline = record_file(tmp_path / "base.json", [run_of(items)])
    gate = thresholds_file(
        tmp_path,
        '[truthfulqa.mc1]\nmax_drop = 0.1\nby = "category"\n'
        '[truthfulqa.mc1.categories."Art"]\nmax_drop = 0.2\nblock_on = "doubt"\n',
    )
    status, lines, _ = told(gate, baseline)
    assert status == 0
    cells = [line.split()[:4] for line in lines[2:5]]
    assert cells == [
        ["truthfulqa[mc1]", "100", "0.1", "0.025"],
        ["truthfulqa[mc1-Law]", "60", "0.1", "0.025"],
        ["truthfulqa[mc1-Art]", "40", "0.2", "0.05"],
    ]


def test_a_bar_of_zero_is_decided_by_no_number_of_items(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """And the command says so instead of a number."""
    baseline = baseline_file(tmp_path / "base.json", [run_of([1.0, 0.0] * 100)])
    status, lines, _ = told(thresholds_file(tmp_path, "[truthfulqa.mc1]\nmax_drop = 0\n"), baseline)
    assert status == 0
    assert lines[2].split()[-2:] == ["no", "-"]
    assert "max_drop = 0 is decided by no number of items" in lines[-1]


def test_what_is_too_small_shows_nothing_at_all() -> None:
    """A drop wider than the metric's range is none; as many items as needed are enough."""
    few = power_of(row_of(max_drop=0.5), [scored(1.0, number) for number in range(2)])
    assert isinstance(few, Power)
    assert (few.smallest, few.decided) == ((None,) * 3, "no")
    needed = few.needed[-1]
    assert needed is not None
    enough = power_of(row_of(max_drop=0.5), [scored(1.0, number) for number in range(needed)])
    assert isinstance(enough, Power)
    assert enough.decided == "yes"


def test_means_use_the_spread_of_the_baselines_values() -> None:
    """Values that hardly differ can hardly drop."""
    wide, narrow = (
        power_of(row_of(metric="mc3", max_drop=0.1), [scored(value, n, metric="mc3") for n, value in enumerate(values)])
        for values in ([0.1, 0.9] * 100, [0.49, 0.51] * 100)
    )
    assert isinstance(wide, Power)
    assert isinstance(narrow, Power)
    assert (narrow.smallest[0] or 1) < (wide.smallest[0] or 0)


def graded(n: int) -> list[ItemScores]:
    return [
        ItemScores(f"{k}", "", "", {"grade": 1.0 + k % 5, "reference": 1.0 + k % 4}, group=f"{k}") for k in range(n)
    ]


def test_what_is_no_mean_is_resampled() -> None:
    """A correlation has a number too: more changed items, a wider spread; the same file says the same again."""
    row = row_of(metric="pearson", max_drop=0.1)
    found = power_of(row, graded(60))
    assert isinstance(found, Power)
    drops = [drop for drop in found.smallest if drop is not None]
    assert len(drops) == len(CHANGED)
    assert drops == sorted(drops)
    assert power_of(row, graded(60)) == found
    assert isinstance(power_of(row, graded(1)), Missing)


def test_what_cannot_be_held_is_listed_and_exits_1(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """A benchmark, a metric and a category that the baseline lacks, beside a row that it has."""
    baseline = baseline_file(tmp_path / "base.json", [run_of([1.0, 0.0] * 20)])
    gate = thresholds_file(
        tmp_path,
        "[truthfulqa.mc1]\nmax_drop = 0.1\n[truthfulqa.mc1.categories.Nowhere]\nmax_drop = 0.1\n"
        "[truthfulqa.mc3]\nmax_drop = 0.1\n[starter.mc1]\nmax_drop = 0.1\nmin = 0\n",
    )
    status, lines, error = told(gate, baseline)
    assert (status, error) == (1, f"truthguard: base.json does not serve 3 rows of {gate}\n")
    assert lines[2].startswith("truthfulqa[mc1] ")
    assert lines[-3:] == [
        "truthfulqa[mc1-Nowhere]: the baseline has scored no item of category 'Nowhere'",
        "truthfulqa[mc3]: base.json has no mc3 of truthfulqa, it has mc1",
        "starter[mc1]: base.json has no starter, it has truthfulqa",
    ]


def test_a_file_without_max_drop_is_told(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """There is nothing to say."""
    baseline = baseline_file(tmp_path / "base.json", [run_of([1.0, 0.0])])
    status, lines, error = told(thresholds_file(tmp_path, "[truthfulqa.mc1]\nmin = 0\n"), baseline)
    assert (status, lines) == (1, [])
    assert "no row has max_drop" in error


def test_files_that_are_not_what_they_should_be(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """A mistake in the thresholds file with its line; a baseline that is none."""
    baseline = baseline_file(tmp_path / "base.json", [run_of([1.0, 0.0])])
    gate = thresholds_file(tmp_path, "[truthfulqa.mc1]\nmax_drp = 0\n")
    assert f"{gate}:4: " in told(gate, baseline)[2]
    assert "not JSON" in told(thresholds_file(tmp_path, "[truthfulqa.mc1]\nmax_drop = 0\n"), gate)[2]
    assert "cannot be read" in told(gate.with_name("none.toml"), baseline)[2]


def test_the_table_fits_120_columns(told: Callable[[Path, Path], Told], tmp_path: Path) -> None:
    """However long the names are; the row's own stays recognisable."""
    category = "A category with a name that is much longer than a line of a table would have room for, by far"
    items = [scored(float(number % 2), number, category=category) for number in range(30)]
    baseline = record_file(tmp_path / "base.json", [replace(run_of(items))])
    gate = thresholds_file(tmp_path, '[truthfulqa.mc1]\nmax_drop = 0.0001\nby = "category"\n')
    _, lines, _ = told(gate, baseline)
    assert max(map(len, lines)) <= WIDTH
    assert any(line.startswith("truthfulqa[mc1-A-category") and "…" in line for line in lines)


def test_it_says_before_what_the_comparison_says_after() -> None:
    """The same formula: s of a candidate that changed that share of the items, as many up as down."""
    found = power_of(row_of(max_drop=0.0), [scored(1.0, number) for number in range(400)])
    assert isinstance(found, Power)
    assert found.smallest[1] == pytest.approx(detectable_drop(0.1**0.5, 400, 0.05))
