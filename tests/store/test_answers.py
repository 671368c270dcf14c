"""Replies outlive the process and are found by what decides them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from math import inf, nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.fakes import FACTS, IDENTITY, MOMENT, put_all, requests
from tests.store.strategies import moments, numbers, texts
from truthguard.backends.protocol import (
    ContinuationScore,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Text,
    Turn,
    Usage,
)
from truthguard.records import Missing
from truthguard.store import answers
from truthguard.store.answers import AnswerStore, fingerprint, request_key

ME = fingerprint(IDENTITY)
scores = st.builds(
    ContinuationScore,
    log_likelihood=st.none() | numbers,
    tokens=st.integers(0, 9),
    missing=st.none() | st.builds(Missing, texts, texts),
)
values: st.SearchStrategy[Scores | Masses | Text] = st.one_of(
    st.builds(Scores, st.lists(scores, max_size=3).map(tuple)),
    st.builds(Masses, st.lists(st.none() | numbers, max_size=3).map(tuple), st.floats(0, 1), st.booleans()),
    st.builds(Text, texts, texts),
)
usages = st.builds(Usage, *[st.integers(0, 9)] * 4)
any_requests = st.builds(Score, texts, st.lists(texts, max_size=3).map(tuple))


@given(request=any_requests, value=values, usage=usages, moment=moments)
def test_a_reply_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    request: Request,
    value: Scores | Masses | Text,
    usage: Usage,
    moment: datetime,
) -> None:
    """NaN, infinities, reasons, usage and time of a reply survive the disk, whatever the texts hold."""
    store = AnswerStore(tmp_path_factory.mktemp("store") / "answers.sqlite3")
    key = request_key(ME, request)
    store.put(key, Reply(request, moment, value=value, usage=usage))
    kept = store.get_many([key])[key]
    store.close()
    assert repr((kept.value, kept.usage, kept.answered_at)) == repr((value, usage, moment))


def test_infinities_and_nan_are_numbers_again(path: Path) -> None:
    """A log-likelihood of NaN, -inf or +inf is read back as that float."""
    value = Scores(tuple(ContinuationScore(each, 1) for each in (nan, -inf, inf)))
    store = AnswerStore(path)
    store.put(b"k", Reply(requests(1)[0], MOMENT, value=value))
    assert repr(store.get_many([b"k"])[b"k"].value) == repr(value)


def test_a_reply_is_there_as_soon_as_it_is_put(path: Path) -> None:
    """Another connection finds a reply right after `put` returned."""
    store, other = AnswerStore(path), AnswerStore(path)
    (key,) = put_all(store, 1)
    assert list(other.get_many([key])) == [key]


def test_many_are_found_in_several_statements(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More keys than fit one statement are looked up, repeats and unknown ones included."""
    monkeypatch.setattr(answers, "_KEYS_A_SWEEP", 4)
    store = AnswerStore(path)
    keys = put_all(store, 10)
    assert set(store.get_many([*keys, *keys, b"unknown"])) == set(keys)
    assert store.get_many([]) == {}


def test_a_later_reply_takes_the_place_of_an_earlier_one(path: Path) -> None:
    """Asked again, a request has the new answer."""
    store = AnswerStore(path)
    for number in (-1.0, -2.0):
        store.put(b"k", Reply(requests(1)[0], MOMENT, value=Masses((number,))))
    assert store.get_many([b"k"])[b"k"].value == Masses((-2.0,))


def test_a_reply_without_a_value_is_not_kept(path: Path) -> None:
    """A reason is no answer: it is refused, so that the request is asked again."""
    with pytest.raises(ValueError, match="only a reply with a value"):
        AnswerStore(path).put(b"k", Reply(requests(1)[0], MOMENT, missing=Missing("failed", "no")))


def test_every_part_of_the_identity_decides() -> None:
    """Models that differ in any field of their identity share no answer; equal ones share all."""
    others = [
        replace(IDENTITY, **{name: f"other {name}"})  # type: ignore[arg-type]
        for name in ("name", "kind", "digest", "device", "dtype", "revision", "scorer")
    ]
    others += [replace(IDENTITY, libraries={"fake": "2"}), replace(IDENTITY, digest=None)]
    prints = [fingerprint(each) for each in (IDENTITY, *others)]
    assert len(set(prints)) == len(prints)
    assert fingerprint(replace(IDENTITY)) == fingerprint(IDENTITY)


def test_every_part_of_the_request_decides() -> None:
    """Requests that differ in kind, context, its turns, or the texts after it have different keys."""
    asked: list[Request] = [
        Score("a", ("b", "c")),
        Score("a", ("bc",)),
        Score("a", ("c", "b")),
        Score("ab", ("c",)),
        Score("a\ud800", ("b", "c")),
        Score((Turn("user", "a"),), ("b", "c")),
        Score((Turn("system", "a"),), ("b", "c")),
        NextToken("a", (("b", "c"),)),
        NextToken("a", (("b",), ("c",))),
    ]
    for one, other in combinations(asked, 2):
        assert request_key(ME, one) != request_key(ME, other)
    assert request_key(ME, asked[0]) == request_key(ME, Score("a", ("b", "c")))
    assert request_key(ME, asked[0]) != request_key("another", asked[0])


def test_facts_are_kept_for_each_identity(path: Path) -> None:
    """What was learnt of one model is not another's; the last word stands."""
    store = AnswerStore(path)
    assert store.facts(ME) is None
    store.put_facts(ME, replace(FACTS, scorer="plain"))
    store.put_facts(ME, FACTS)
    assert AnswerStore(path).facts(ME) == FACTS
    assert store.facts("another") is None


# Digests of files


def test_a_digest_is_computed_once(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that did not change is not read again, by whatever path it is named."""
    file = tmp_path / "weights"
    file.write_bytes(b"1")
    calls = []

    def compute(path: Path) -> str:
        calls.append(path)
        return path.read_text()

    assert AnswerStore(path).digest(file, compute) == "1"
    monkeypatch.chdir(tmp_path)
    assert AnswerStore(path).digest(Path("weights"), compute) == "1"
    assert calls == [file]


def test_a_changed_file_has_a_new_digest(path: Path, tmp_path: Path) -> None:
    """Another size or another time of change means another computation."""
    file, store = tmp_path / "weights", AnswerStore(path)
    file.write_bytes(b"1")
    assert store.digest(file, Path.read_text) == "1"
    file.write_bytes(b"22")
    assert store.digest(file, Path.read_text) == "22"
    file.write_bytes(b"33")
    times = file.stat()
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    assert store.digest(file, Path.read_text) == "33"


def test_a_file_that_changes_while_it_is_read_is_not_remembered(path: Path, tmp_path: Path) -> None:
    """A digest that belongs to no state of the file is not kept."""
    file, store = tmp_path / "weights", AnswerStore(path)
    file.write_bytes(b"1")

    def slow(path: Path) -> str:
        path.write_bytes(b"longer")
        return "torn"

    assert store.digest(file, slow) == "torn"
    assert store.digest(file, Path.read_text) == "longer"


def test_an_unfinished_run_keeps_its_beginning(path: Path) -> None:
    """Whoever goes on with a run, in this process or the next, is told when it was begun; a finished one is over."""
    store = AnswerStore(path)
    begun = store.begin("a" * 64)
    other = store.begin("b" * 64)
    assert other >= begun
    store.close()
    store = AnswerStore(path)
    assert store.begin("a" * 64) == begun
    store.finish("a" * 64)
    assert store.begin("a" * 64) > other
    assert store.begin("b" * 64) == other


def test_a_damaged_beginning_is_told(path: Path) -> None:
    """A run whose beginning cannot be read begins anew, and the summary says so."""
    store = AnswerStore(path)
    begun = store.begin("run")
    store._database.execute("UPDATE unfinished SET begun = 'then'")
    assert store.begin("run") > begun
    assert "begins anew" in store.warnings[-1]
