"""Values become JSON and come back, whatever is in them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.store import strategies
from truthguard.records import Facts, Identity, ItemScores, RowResult, Run
from truthguard.store.encoding import FormError, decode, digest, encode, from_bytes, to_bytes


@given(strategies.runs)
def test_a_run_comes_back_as_it_was(run: Run) -> None:
    """Every field of a run survives: NaN, infinities, any text, the order of mappings."""
    assert repr(decode(Run, from_bytes(to_bytes(encode(run))))) == repr(run)


@given(strategies.runs)
def test_what_is_written_is_strict_json(run: Run) -> None:
    """The bytes hold no NaN or Infinity literal, which other readers refuse."""

    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is not JSON")

    json.loads(to_bytes(encode(run)).decode("utf-8", "surrogatepass"), parse_constant=refuse)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, -0.0, 5e-324])
def test_floats_beyond_json_survive(number: float) -> None:
    """NaN, infinities, the negative zero and the smallest number come back bit for bit."""
    facts = Facts("packed", "", largest_difference=number)
    back = decode(Facts, from_bytes(to_bytes(encode(facts))))
    assert back.largest_difference is not None
    assert back.largest_difference.hex() == number.hex()


def test_surrogates_are_told_from_the_character_that_they_spell() -> None:
    """Two lone surrogates in a row are another text than the one character, in digests and in storage."""
    pair, character = "\ud83d" + "\ude00", "\U0001f600"
    assert digest(pair) != digest(character)
    assert from_bytes(to_bytes([pair, character])) == [pair, character]


def test_the_digest_ignores_the_order_of_keys() -> None:
    """A mapping has one digest, whoever built it."""
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1, "b": 2}) != digest({"a": 2, "b": 1})


def test_times_are_written_in_utc() -> None:
    """A time of any zone is written as the same moment in UTC."""
    noon = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert encode(noon) == "2026-07-01T10:00:00Z"
    assert decode(datetime, encode(noon)) == noon


def test_a_time_without_zone_is_refused() -> None:
    """A naive time is no moment and is not written."""
    with pytest.raises(ValueError, match="no time zone"):
        encode(datetime(2026, 7, 1))


def test_an_unknown_type_is_refused() -> None:
    """A value that JSON cannot hold is not turned into a text in silence."""
    with pytest.raises(TypeError, match="Path cannot be kept"):
        encode({"path": Path("x")})


IDENTITY: dict[str, Any] = encode(Identity("m", "k", None))


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (Identity, [], r"the whole: expected an object, got \[\]"),
        (Identity, {"name": "m", "kind": "k"}, "digest is missing"),
        (Identity, IDENTITY | {"divice": "cpu"}, "divice is not known here; did you mean 'device'"),
        (Identity, IDENTITY | {"name": 3}, "name: expected a text, got 3"),
        (Identity, IDENTITY | {"libraries": {"torch": None}}, "libraries.torch: expected a text, got None"),
        (Facts, {"scorer": "s", "reason": "", "seconds_load": True}, "seconds_load: expected a number"),
        (Facts, {"scorer": "s", "reason": "", "seconds_load": "fast"}, "seconds_load: expected a number"),
        (Facts, {"scorer": "s", "reason": "", "seconds_load": None}, "seconds_load: expected a number"),
        (Facts, {"scorer": "s", "reason": "", "seconds_load": 10**400}, "within the range of a float"),
        (Facts, {"scorer": "s", "reason": "", "seconds_load": json.loads("1e999")}, "range of a float"),
        (datetime, "yesterday", "expected an ISO 8601 time, got 'yesterday'"),
        (datetime, "2026-01-01T00:00:00", "with its zone"),
        (datetime, 5, "expected an ISO 8601 time, got 5"),
        (bool, 1, "expected true or false, got 1"),
        (int, True, "expected a whole number, got True"),
        (int, 1.0, "expected a whole number"),
    ],
)
def test_other_forms_are_refused_by_place(kind: type, data: object, message: str) -> None:
    """Data of another form are refused with the place, what was expected and what stood there."""
    with pytest.raises(FormError, match=message):
        decode(kind, data)


def test_the_place_is_named_to_the_bottom() -> None:
    """A mistake deep inside is named by its whole path."""
    item = encode(ItemScores("i", "c", "q", {"mc1": 1.0}))
    item["choices"] = [{"text": "t", "true": True, "in_mc1": True, "log_likelihood": "low"}]
    with pytest.raises(FormError, match=r'items\[0\]\.choices\[0\]\.log_likelihood: expected a number, "nan"'):
        decode(ItemScores, item, "items[0]")


def test_a_long_value_is_shown_shortened() -> None:
    """A message stays readable whatever stood in the file."""
    with pytest.raises(FormError) as refused:
        decode(int, "x" * 10_000)
    assert len(str(refused.value)) < 150


def test_a_literal_holds_only_its_names() -> None:
    """A verdict that no version knows is refused with the known ones."""
    data = {"row": {"id": "r", "benchmark": "b", "metric": "m", "line": 1}, "summary": None, "verdict": "ok"}
    with pytest.raises(FormError, match="verdict: expected one of pass, fail, error"):
        decode(RowResult, data)


def test_fields_with_a_default_may_be_left_out() -> None:
    """What an older version did not write yet has its default."""

    @dataclass(frozen=True)
    class Grown:
        old: int
        new: int = 7

    assert decode(Grown, {"old": 1}) == Grown(1, 7)
