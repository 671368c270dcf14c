"""A damaged file costs no more than it must, and many processes share one."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.store import fakes
from tests.store.fakes import FACTS, IDENTITY, put_all, reply_to, requests
from truthguard.backends.cached import CachedBackend
from truthguard.errors import StoreError
from truthguard.store.answers import AnswerStore, fingerprint, request_key
from truthguard.store.database import Database

ME = fingerprint(IDENTITY)


def put_garbage(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 500)


def put_damaged_page(path: Path) -> None:
    store = AnswerStore(path)
    put_all(store, 60)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


def put_half(path: Path) -> None:
    store = AnswerStore(path)
    put_all(store, 60)
    store.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 + 100])


def put_foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def put_newer(path: Path) -> None:
    Database(path, version=2, schema=["CREATE TABLE IF NOT EXISTS answers (other)"]).close()


def put_older(path: Path) -> None:
    Database(path, version=0, schema=["CREATE TABLE IF NOT EXISTS answers (other)"]).close()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (put_garbage, "is damaged (file is not a database)"),
        (put_damaged_page, "is damaged ("),
        (put_half, "is damaged ("),
        (put_foreign, "was not made by truthguard"),
        (put_newer, "was made by a newer truthguard (form 2; this one uses 1)"),
        (put_older, "was made by an older truthguard (form 0; this one uses 1)"),
    ],
)
def test_an_unusable_file_is_set_aside(path: Path, spoil: Callable[[Path], None], reason: str) -> None:
    """A file that cannot be used is renamed as it is, a fresh one serves, and a warning says so."""
    path.parent.mkdir()
    spoil(path)
    before = path.read_bytes()
    store = AnswerStore(path)
    keys = [request_key(ME, request) for request in requests(60)]
    assert store.get_many(keys) == {}
    put_all(store, 3)
    assert len(store.get_many(keys)) == 3
    (warning,) = store.warnings
    assert warning.startswith(f"{path} {reason}")
    assert "set aside as answers.sqlite3.aside-1" in warning
    assert path.with_name("answers.sqlite3.aside-1").read_bytes() == before


def test_a_second_file_is_set_aside_beside_the_first(path: Path) -> None:
    """Nothing that was set aside before is overwritten."""
    path.parent.mkdir()
    for _ in range(2):
        put_garbage(path)
        AnswerStore(path).close()
    assert path.with_name("answers.sqlite3.aside-1").exists()
    assert path.with_name("answers.sqlite3.aside-2").exists()


def test_an_empty_file_is_a_fresh_store(path: Path) -> None:
    """A file of no bytes holds nothing that could be lost: it is used without a warning."""
    path.parent.mkdir()
    path.touch()
    store = AnswerStore(path)
    put_all(store, 1)
    assert store.warnings == []


def test_a_damaged_answer_is_asked_again(path: Path) -> None:
    """One row that cannot be read costs one answer, with a warning, and is mended by the next reply."""
    store = AnswerStore(path)
    keys = put_all(store, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET value = ? WHERE key = ?", (b'{"continu', keys[1]))
        connection.execute("UPDATE answers SET kind = 'Essay' WHERE key = ?", (keys[2],))
    connection.close()
    assert list(store.get_many(keys)) == keys[:1]
    assert store.warnings == [f"{path}: 2 kept answers are damaged and are asked for again"]
    put_all(store, 3)
    assert len(store.get_many(keys)) == 3


def test_damaged_facts_are_told(path: Path) -> None:
    """Facts that cannot be read are none, with a warning."""
    store = AnswerStore(path)
    store.put_facts(ME, FACTS)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET facts = x'00'")
    connection.close()
    assert store.facts(ME) is None
    assert len(store.warnings) == 1


@pytest.mark.parametrize("place", ["file", "file/deeper", "folder"])
def test_a_place_that_cannot_hold_the_store_is_told(tmp_path: Path, place: str) -> None:
    """Where no file can be made the error names the place and both ways out."""
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "answers.sqlite3").mkdir(parents=True)
    with pytest.raises(StoreError) as refused:
        AnswerStore(tmp_path / place / "answers.sqlite3")
    assert str(tmp_path / place / "answers.sqlite3") in str(refused.value)
    assert "--truthguard-cache DIR" in str(refused.value)
    assert "--truthguard-cache off" in str(refused.value)


def test_a_statement_that_fails_is_told(path: Path) -> None:
    """A failure that is no damage (a full disk, say) is an error and loses no file."""
    store = AnswerStore(path)
    store.close()
    with pytest.raises(StoreError, match="Cannot operate on a closed database"):
        store.get_many([b"k"])
    assert [each.name for each in path.parent.glob("*aside*")] == []


# Several at once


def test_threads_share_a_store(path: Path) -> None:
    """Threads that write through one store lose nothing and meet no error."""
    store = AnswerStore(path)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for index in range(20):
                store.put(bytes([number, index]), reply_to(requests(1)[0]))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.get_many(bytes([number, index]) for number in range(4) for index in range(20))) == 80


def run_processes(target: Callable[..., None], arguments: list[tuple[object, ...]]) -> list[int | None]:
    context = get_context("spawn")
    processes = [context.Process(target=target, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    return [process.exitcode for process in processes]


@pytest.mark.slow
def test_processes_write_at_once(path: Path) -> None:
    """Four processes that write and read one file at once meet no lock error and lose no reply."""
    codes = run_processes(fakes.write_answers, [(path, writer, 50) for writer in range(4)])
    assert codes == [0, 0, 0, 0]
    identities = [fingerprint(replace(IDENTITY, name=f"writer {writer}")) for writer in range(4)]
    keys = [request_key(identity, request) for identity in identities for request in requests(50)]
    assert len(AnswerStore(path).get_many(keys)) == 200


@pytest.mark.slow
def test_of_processes_that_meet_damage_one_sets_it_aside(path: Path, tmp_path: Path) -> None:
    """Four processes that open a damaged file at once set it aside once and share the fresh one."""
    path.parent.mkdir()
    put_garbage(path)
    told = [tmp_path / f"told-{number}" for number in range(4)]
    assert run_processes(fakes.open_store, [(path, each) for each in told]) == [0, 0, 0, 0]
    assert sum(bool(each.read_text()) for each in told) == 1
    assert len(list(path.parent.glob("*aside*"))) == 1


@pytest.mark.slow
def test_a_killed_process_loses_nothing_without_waiting_for_the_disk(path: Path) -> None:
    """A session's own store does not wait for the disk, and still every committed reply outlives kill -9."""
    assert run_processes(fakes.die_after_writing, [(path, 20)]) == [-9]
    store = AnswerStore(path)
    assert len(store.get_many(request_key(ME, request) for request in requests(20))) == 20
    assert store.warnings == []


@pytest.mark.slow
def test_a_writer_killed_in_the_middle_loses_one_reply(tmp_path: Path) -> None:
    """C26: committed replies stay, the lost one alone is asked again, the end equals an undisturbed store."""
    disturbed, undisturbed = tmp_path / "disturbed", tmp_path / "undisturbed"
    assert run_processes(fakes.die_while_writing, [(disturbed,)]) == [-9]
    assert disturbed.with_name("disturbed-journal").exists(), "the write was not under way"
    inner = fakes.FakeBackend()
    store = AnswerStore(disturbed)
    replies = list(CachedBackend(IDENTITY, lambda: inner, store).answer(requests(3)))
    assert inner.asked == requests(3)[2:]
    assert store.warnings == []
    other = fakes.FakeBackend()
    expected = list(CachedBackend(IDENTITY, lambda: other, AnswerStore(undisturbed)).answer(requests(3)))
    assert [replace(reply, cached=False) for reply in replies] == expected
    assert fakes.contents(disturbed) == fakes.contents(undisturbed)
