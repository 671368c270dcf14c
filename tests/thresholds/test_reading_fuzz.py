"""Whatever bytes a thresholds file has, it is a gate or a usage error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from truthguard.catalogue import BENCHMARKS, METRICS
from truthguard.errors import Mistake, UsageError
from truthguard.thresholds.reading import read
from truthguard.thresholds.schema import BenchmarkKeys, LimitKeys, ModelTable, RowKeys
from truthguard.thresholds.spec import Gate

VALID = b"""[model]
name = "some/model"
batch_tokens = 512
[truthfulqa]
version = "2021-10"
[truthfulqa.mc1]
min = 0.22
waive_until = 2026-12-31
waive_reason = "known"
[truthfulqa.mc2_mass]
min = 0.42
by = "category"
each = { min = 0.30, block_on = "proof" }
[truthfulqa.mc2_mass.categories."Confusion: People"]
min = 0.20
[faq]
kind = "questions"
path = "faq.jsonl"
[faq.mc1]
item_min = 1
"""
KEYS = sorted(
    {*ModelTable.model_fields, *BenchmarkKeys.model_fields, *RowKeys.model_fields, *LimitKeys.model_fields}
    | {*METRICS, *BENCHMARKS, "model", "judge", "faq", "max_drop", "adapter", "order", "requires", "trust", "grades"}
)
VALUES = ["0.5", "1", "nan", "-inf", "true", '"qa"', '"category"', "[]", "[{}]", "[{min=nan}]", "{}", "2026-12-31"]
VALUES += ["07:32:00", "2026-12-31T00:00:00Z", "99999999999999999999", "0x" + "f" * 300, '"\\u0000"', "1e400"]
ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


def gate_or_mistakes(folder: Path, content: bytes) -> Gate | None:
    """Nothing but UsageError escapes, and each of its mistakes can be found and shown."""
    path = folder / "thresholds.toml"
    path.write_bytes(content)
    mistakes: tuple[Mistake, ...] = ()
    try:
        return read(path)
    except UsageError as error:
        mistakes = error.mistakes
    assert mistakes
    last = content.count(b"\n") + 1
    for mistake in mistakes:
        assert mistake.file == path
        assert mistake.line is None or 1 <= mistake.line <= last
        assert mistake.message.isprintable()
    return None


def test_the_valid_file_is_valid(tmp_path: Path) -> None:
    """The file that the mutations start from is a gate."""
    gate = gate_or_mistakes(tmp_path, VALID)
    assert gate is not None
    assert [len(table.rows) for table in gate.benchmarks] == [2, 1]


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
@example(b"a = 'x\r'")
@example(b"\xed\xa0\x80")
@ANY_FILE
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    """Arbitrary bytes never raise anything but UsageError."""
    gate_or_mistakes(tmp_path, content)


@given(
    st.integers(0, len(VALID)),
    st.integers(0, 40),
    st.one_of(st.binary(max_size=8), st.text("[]{}.=#\"'\\\n,a1", max_size=8).map(str.encode)),
)
@ANY_FILE
def test_a_valid_file_with_a_piece_replaced(tmp_path: Path, start: int, length: int, piece: bytes) -> None:
    """A valid file in which some bytes are replaced, cut or inserted never raises anything but UsageError."""
    gate_or_mistakes(tmp_path, VALID[:start] + piece + VALID[start + length :])


STATEMENTS = st.one_of(
    st.lists(st.sampled_from(KEYS), min_size=1, max_size=4).map(lambda path: f"[{'.'.join(path)}]"),
    st.lists(st.sampled_from(KEYS), min_size=1, max_size=2).map(lambda path: f"[[{'.'.join(path)}]]"),
    st.tuples(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3), st.sampled_from(VALUES)).map(
        lambda pair: f"{'.'.join(pair[0])} = {pair[1]}"
    ),
    st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS), st.sampled_from(VALUES)).map(
        lambda parts: f"{parts[0]} = {{ {parts[1]} = {parts[2]} }}"
    ),
)


@given(st.lists(STATEMENTS, max_size=8))
@ANY_FILE
def test_known_names_in_any_place(tmp_path: Path, written: list[str]) -> None:
    """Known keys, tables and values put together at random never raise anything but UsageError."""
    gate_or_mistakes(tmp_path, "\n".join(written).encode())


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("table", ["model", "starter", "starter.mc1", "starter.mc1.each", "starter.mc1.categories.A"])
def test_no_key_takes_nan(tmp_path: Path, table: str, key: str) -> None:
    """NaN is refused wherever a key may stand, and named."""
    assert gate_or_mistakes(tmp_path, f"[{table}]\n{key} = nan\n".encode()) is None
