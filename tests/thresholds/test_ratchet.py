"""Bars raised in the text of the file: never lowered, never above the measurement, and nothing else is touched."""

from __future__ import annotations

import doctest
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from tests.thresholds.made import question, rows_of
from truthguard.errors import StoreError
from truthguard.records import MetricSummary, Row, RowResult, Verdict
from truthguard.thresholds import ratchet as module
from truthguard.thresholds.ratchet import Ratcheted, diff, ratchet
from truthguard.thresholds.reading import read

FILE = """\
# Our gate.  \t
[model]
name = "some/model" # ours

[truthfulqa.mc1]   # the headline
min = 0.22   # since the spring
max_drop = 0.02
item_min = 0.1

[truthfulqa.mc2_mass]
by = "category"
min=0.40
each = { min = 0.30, block_on = "proof" } # slices

[truthfulqa.mc2_mass.categories."Law: civil"]
'min' = 2e-1
"""
CATEGORIES = ("Law: civil", "Myths", "Weather")
ITEMS = [question(f"q{number}", category) for number, category in enumerate(CATEGORIES)]


def rows_in(text: str | bytes) -> tuple[Row, ...]:
    """The rows of a file with this text."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "thresholds.toml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return rows_of(read(path), ITEMS)


def measured(row: Row, low: float | None, verdict: Verdict = "pass") -> RowResult:
    low_end = 0.0 if low is None else low
    return RowResult(row, MetricSummary(row.metric, 40, 0, low_end + 0.1, low, low_end + 0.2, 0.95), verdict)


def raised(
    text: str | bytes, lows: Mapping[str, float | None] | float = 0.5, verdicts: Mapping[str, Verdict] | None = None
) -> Ratcheted:
    """The file after a session in which each row, by the slice in its id, had this lower end and verdict."""
    data = text if isinstance(text, bytes) else text.encode()
    rows = rows_in(data)
    results = {}
    for row in rows:
        name = re.sub(r".*?\[(.*)\]", r"\1", row.id)
        if isinstance(lows, float) or name in lows:
            low = lows if isinstance(lows, float) else lows[name]
            results[row.id] = measured(row, low, (verdicts or {}).get(name, "pass"))
    return ratchet(data, rows, results)


def test_examples_hold() -> None:
    """The docstrings' examples run and print what they say."""
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_each_bar_is_raised_in_its_own_place() -> None:
    """A row's, each's and a single category's; comments, spaces and every other key stay as they are."""
    lows = {"mc1": 0.24567, "mc2_mass": 0.45, "mc2_mass-Law-civil": 0.35, "mc2_mass-Myths": 0.5}
    found = raised(FILE, lows | {"mc2_mass-Weather": 0.412399, "mc1-q0": 0.9})
    expected = FILE.replace("min = 0.22", "min = 0.2456").replace("min=0.40", "min=0.45")
    expected = expected.replace("{ min = 0.30", "{ min = 0.4123").replace("'min' = 2e-1", "'min' = 0.35")
    assert found.data.decode() == expected
    assert found.raised == (
        "[truthfulqa.mc1] min raised from 0.22 to 0.2456",
        "[truthfulqa.mc2_mass] min raised from 0.4 to 0.45",
        "[truthfulqa.mc2_mass.each] min raised from 0.3 to 0.4123",
        "[truthfulqa.mc2_mass.categories.'Law: civil'] min raised from 0.2 to 0.35",
    )
    assert found.left == ()


def test_a_bar_is_never_lowered() -> None:
    """An interval that begins lower leaves the bar, and the file is the very same."""
    found = raised(FILE, 0.1)
    assert (found.data, found.raised, found.left, found.unmoved) == (FILE.encode(), (), (), 4)


@pytest.mark.parametrize(
    ("verdict", "word"),
    [("fail", "failed"), ("error", "could not be measured"), ("waived", "is waived")],
)
def test_what_did_not_pass_keeps_its_bar(verdict: Verdict, word: str) -> None:
    """A failure, an error and a waiver leave the row's bar, and are said."""
    found = raised(FILE, 0.5, {"mc1": verdict})
    assert "min = 0.22 " in found.data.decode()
    assert found.left == (f"[truthfulqa.mc1] min stays at 0.22: truthfulqa[mc1] {word}",)


def test_a_row_that_was_not_selected_keeps_its_bar() -> None:
    """Nothing was measured of it."""
    found = raised(FILE, {"mc2_mass": 0.5})
    assert len(found.raised) == 1
    assert "[truthfulqa.mc1] min stays at 0.22: truthfulqa[mc1] was not measured" in found.left


def test_every_category_must_allow_what_all_share() -> None:
    """One that failed, or that was not measured, holds `each` back for all of them."""
    lows = {"mc1": 0.5, "mc2_mass": 0.5, "mc2_mass-Law-civil": 0.5, "mc2_mass-Myths": 0.5, "mc2_mass-Weather": 0.5}
    (left,) = raised(FILE, lows, {"mc2_mass-Weather": "fail"}).left
    assert left == "[truthfulqa.mc2_mass.each] min stays at 0.3: truthfulqa[mc2_mass-Weather] failed"
    del lows["mc2_mass-Myths"]
    (left,) = raised(FILE, lows).left
    assert left.endswith("truthfulqa[mc2_mass-Myths] was not measured")


def test_a_slice_that_is_too_small_does_not_hold_the_others_back() -> None:
    """It is never held to the bar; a bar that nothing was held to stays."""
    lows = {"mc1": 0.5, "mc2_mass": 0.5, "mc2_mass-Law-civil": 0.5, "mc2_mass-Myths": 0.45, "mc2_mass-Weather": 0.01}
    few: dict[str, Verdict] = {"mc2_mass-Weather": "not_gated", "mc1": "not_gated"}
    found = raised(FILE, lows, few)
    assert "[truthfulqa.mc2_mass.each] min raised from 0.3 to 0.45" in found.raised
    assert found.left == ("[truthfulqa.mc1] min stays at 0.22: what it is for was not gated",)


def test_categories_that_inherit_a_rows_bar_hold_it_too() -> None:
    """Without a min of their own the row's is theirs: it rises to the lowest of all."""
    text = '[truthfulqa.mc1]\nmin = 0.2\nby = "category"\n'
    lows = {"mc1": 0.5, "mc1-Law-civil": 0.4, "mc1-Myths": 0.3, "mc1-Weather": 0.6}
    assert raised(text, lows).data.decode() == text.replace("0.2", "0.3")
    assert raised(text, {"mc1": 0.5}).left == (
        "[truthfulqa.mc1] min stays at 0.2: truthfulqa[mc1-Law-civil] was not measured",
    )


def test_each_that_nobody_uses_stays() -> None:
    """All categories have a bar of their own."""
    text = '[truthfulqa.mc1]\nby = "category"\neach = { min = 0.1 }\n[truthfulqa.mc1.categories]\n'
    text += "".join(f'"{name}".min = 0.2\n' for name in CATEGORIES)
    found = raised(text)
    assert found.left == ("[truthfulqa.mc1.each] min stays at 0.1: no row takes its bar from it",)
    assert found.data.decode() == text.replace("0.2", "0.5")


def test_a_bar_never_passes_its_max() -> None:
    """Not the row's own, nor that of a category that takes its min from the row: the file would be no gate."""
    assert "above max = 0.45" in raised("[truthfulqa.mc1]\nmin = 0.2\nmax = 0.45\n").left[0]
    text = '[truthfulqa.mc1]\nmin = 0.2\nby = "category"\neach = { max = 0.45 }\n'
    assert "above max = 0.45" in raised(text).left[0]
    text = "[truthfulqa.mc1]\nmin = 0.2\n[truthfulqa.mc1.categories.Myths]\nmax = 0.45\n"
    assert "above max = 0.45" in raised(text).left[0]


def test_what_is_better_the_smaller_is_left() -> None:
    """A higher min would punish an improvement."""
    found = raised("[injection.flipped]\nmin = 0.1\n")
    assert found.left == ("[injection.flipped] min stays at 0.1: flipped is the better the smaller it is",)


def test_a_sample_raises_nothing() -> None:
    """Of a benchmark of which a part was asked every bar stays."""
    rows = rows_in(FILE)
    found = ratchet(FILE.encode(), rows, {row.id: measured(row, 0.5) for row in rows}, ["truthfulqa"])
    assert found.raised == ()
    assert len(found.left) == 4
    assert all("only a part of the items was asked" in text for text in found.left)


def test_no_interval_raises_nothing() -> None:
    """A single cluster, say, has none; nor has a result without a summary."""
    text = "[truthfulqa.mc1]\nmin = 0.2\n"
    assert raised(text, {"mc1": None}).left == ("[truthfulqa.mc1] min stays at 0.2: truthfulqa[mc1] has no interval",)
    (row,) = rows_in(text)
    assert ratchet(text.encode(), [row], {row.id: RowResult(row, None, "pass")}).left[0].endswith("has no interval")


def test_an_interval_without_width_raises_nothing() -> None:
    """A few items that are all alike have no variance, which is no proof of anything."""
    text = "[truthfulqa.mc3]\nmin = 0.2\n"
    (row,) = rows_in(text)
    summary = MetricSummary("mc3", 3, 0, 1.0, 1.0, 1.0, 0.95)
    found = ratchet(text.encode(), [row], {row.id: RowResult(row, summary, "pass")})
    assert found.left == (
        "[truthfulqa.mc3] min stays at 0.2: truthfulqa[mc3] has an interval without width: all of its items are alike",
    )


def test_correlations_and_variants_are_raised_too() -> None:
    """The row's table is the catalogue's metric, whatever its variant is called."""
    assert raised("[flask.pearson]\nmin = -0.5\n", -0.25003).data == b"[flask.pearson]\nmin = -0.2501\n"
    text = '[truthfulqa]\nnormalization = "per_token"\nmc1.min = 0 # none yet\n'
    assert raised(text).data.decode() == text.replace("= 0 ", "= 0.5 ")


@pytest.mark.parametrize("value", ["0", "-0.0", "+1e-2", "0.1_2", "2E-1"])
def test_any_way_to_write_a_number_is_replaced(value: str) -> None:
    """Whole numbers, exponents, signs and underscores."""
    text = f"[truthfulqa.mc1]\n\tmin\t=  {value}# c\n"
    assert raised(text).data.decode() == text.replace(value, "0.5")


@pytest.mark.parametrize("layout", [
    "[truthfulqa]\nmc1.min = 0.2\nmc1.max_drop = 0.1\n",
    "truthfulqa.mc1.min = 0.2\ntruthfulqa.mc1.max_drop = 0.1\n",
    "[truthfulqa]\nmc1 = { max_drop = 0.1, min = 0.2 }\n",
    "truthfulqa = { mc1 = { min = 0.2 } }\n",
    '[truthfulqa.mc1.each]\nmin = 0.2\n[starter.mc1]\nmin = 1\n[truthfulqa.mc1]\nby = "category"\n[starter.mc2]\n',
    "[truthfulqa.mc1.categories.Myths]\n[starter.mc1]\n[truthfulqa.mc2]\n[starter.mc2]\n[truthfulqa.mc1]\nmin = 0.2",
    '[truthfulqa.mc1]\nby = "category"\neach.min = 0.2\neach.max_drop = 0.1\n',
    '[ truthfulqa . "mc1" ]\n"min" = 0.2\n\n\n# the end',
])  # fmt: skip
def test_any_layout_of_the_tables_is_kept(layout: str) -> None:
    """Dotted keys, inline tables, headers out of order, quoted keys, no line end at the end."""
    assert raised(layout).data.decode() == layout.replace("0.2", "0.5")


def test_marks_and_line_ends_are_kept() -> None:
    """A byte order mark, CRLF, and both line ends in one file."""
    data = b'\xef\xbb\xbf[truthfulqa.mc1]\r\nmin = 0.2\r\n# a \xe2\x82\xac\n[model]\nsystem_prompt = """a\r\nb\n"""\r\n'
    assert raised(data).data == data.replace(b"0.2", b"0.5")


def test_a_form_that_cannot_be_edited_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should the editor change anything else, or fail, the file stays and the values are named."""
    text, whole = "[truthfulqa.mc1]\nmin = 0.2\n[model]\nname = 'a'\n", tomlkit.dumps
    for spoilt in ("\n", "0.2\n# more"):
        monkeypatch.setattr(
            tomlkit, "dumps", lambda document, more=spoilt: whole(document).replace("'a'\n", f"'b'{more}")
        )
        with pytest.raises(StoreError, match=r"by hand: \[truthfulqa\.mc1\] min = 0\.5"):
            raised(text)

    def fail(text: str) -> None:
        raise tomlkit.exceptions.ParseError(1, 1, "no such form")

    monkeypatch.setattr(tomlkit, "parse", fail)
    with pytest.raises(StoreError, match=r"no such form.*by hand"):
        raised(text)


def test_the_diff_shows_what_moved() -> None:
    """Unified, with the file's name, without marks and carriage returns."""
    after = b"\xef\xbb\xbf[a]\r\nmin = 0.5\r\n"
    assert diff(after.replace(b"5", b"2"), after, "t.toml") == [
        "--- t.toml", "+++ t.toml", "@@ -1,3 +1,3 @@", " [a]", "-min = 0.2", "+min = 0.5", " ",
    ]  # fmt: skip


BARS = st.floats(0, 1).map(lambda value: round(value, 6))
LOWS = st.floats(0, 1)
VERDICTS: st.SearchStrategy[Verdict] = st.sampled_from(["pass"] * 6 + ["fail", "error", "waived", "not_gated"])
NOISE = st.sampled_from(["", "# ü {[\"' = min = 0.5\n", "\n \t\n", "[starter.mc3]\nmax = 0.7 # m\n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file with up to six bars, in one of several forms, between comments and another table."""

    def bar() -> str:
        return draw(st.sampled_from(["min = {}", "  min={} # {{c}}", "'min' = {}\t"])).format(draw(BARS))

    row = "[truthfulqa.mc1]\n"
    row += f"{bar()}\n" if draw(st.booleans()) else ""
    each = draw(st.sampled_from(["", "each = {{ min = {}, min_items = 2 }}\n", "each.min = {}\n"])).format(draw(BARS))
    row += draw(st.sampled_from(['by = "category"\n', "by = 'category' # all\n"])) + each
    single = [f"[truthfulqa.mc1.categories.'{name}']\n{bar()}\n" for name in CATEGORIES if draw(st.booleans())]
    tables = draw(st.permutations([row, f"[truthfulqa.mc2]\n{bar()}\n", "[starter.mc1]\nmax = 0.9\n", *single]))
    text = (
        "".join(draw(NOISE) + table for table in tables[:1])
        + "".join(tables[1:])
        + draw(st.sampled_from(["", "# end"]))
    )
    return draw(st.sampled_from([text, text.replace("\n", "\r\n"), "\ufeff" + text]))


def bars_of(data: bytes) -> list[tuple[str, float]]:
    """Every min of a file with its place."""

    def within(value: Any, at: str) -> list[tuple[str, float]]:
        if not isinstance(value, dict):
            return [(at, value)] if at.endswith("/min") else []
        return [pair for key, inner in value.items() for pair in within(inner, f"{at}/{key}")]

    return within(tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n")), "")


@given(files(), st.data())
def test_a_ratchet_only_turns_one_way(text: str, data: st.DataObject) -> None:
    """No bar falls or exceeds a measurement, all else keeps its bytes, and a second turn moves nothing."""
    before = text.encode()
    rows = rows_in(before)
    results = {
        row.id: measured(row, data.draw(LOWS), data.draw(VERDICTS)) for row in rows if data.draw(st.integers(0, 9))
    }
    found = ratchet(before, rows, results)
    old, new = dict(bars_of(before)), dict(bars_of(found.data))
    assert old.keys() == new.keys()
    assert all(new[place] >= value for place, value in old.items())
    assert len(found.raised) == sum(new[place] > value for place, value in old.items())
    # A bar has no digit behind it but its own, so that what is left of both texts is all the rest.
    number = re.compile(rb"(?<=min = )[-0-9.e]+|(?<=min=)[-0-9.e]+|(?<='min' = )[-0-9.e]+")
    assert number.sub(b"", before) == number.sub(b"", found.data)
    for row in rows_in(found.data):
        result = results.get(row.id)
        moved = next(each.bar.min for each in rows if each.id == row.id) != row.bar.min
        if moved:
            assert result is not None
            assert row.bar.min is not None
            assert result.verdict in ("pass", "not_gated")
            assert result.verdict == "not_gated" or (result.summary and row.bar.min <= (result.summary.low or 0.0))
    again = ratchet(found.data, rows_in(found.data), results)
    assert again.data == found.data
    assert again.raised == ()


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_new_bar_is_the_measurement_rounded_down(low: float, bar: float) -> None:
    """At most 0.0001 below it, never above it."""
    text = f"[truthfulqa.mc2]\nmin = {bar!r}\n".replace("-0.0\n", "0.0\n")
    found = raised(text, {"mc2": low})
    new = tomllib.loads(found.data.decode())["truthfulqa"]["mc2"]["min"]
    if found.raised:
        assert bar < new <= low
        assert low - new < 1.0001e-4
        assert math.isclose(new * 1e4, round(new * 1e4), abs_tol=1e-6)
    else:
        assert new == bar


def test_results_of_other_rows_are_nobodys() -> None:
    """A result whose row the file does not have raises nothing."""
    rows = rows_in(FILE)
    stranger = replace(rows[0], id="starter[mc1]")
    assert ratchet(FILE.encode(), rows, {stranger.id: measured(stranger, 0.9)}).raised == ()
