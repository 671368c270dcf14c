"""A budget of requests is one count for everybody who spends it."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from truthguard.errors import StoreError
from truthguard.store.budget import RequestBudget
from truthguard.store.session import SessionStore

CONTEXT = get_context("spawn")


def spend(folder: Path, rounds: int, together: Barrier) -> None:
    """What another process does: try each budget when all others do, and tell how many requests it got."""
    budgets = [RequestBudget(folder / f"requests-{number}", 2) for number in range(rounds)]
    got = 0
    for budget in budgets:
        together.wait(60)
        got += budget.take()
    (folder / f"got-{os.getpid()}").write_text(str(got))


def spend_and_die(path: Path) -> None:
    if RequestBudget(path, 3).take():
        os.kill(os.getpid(), signal.SIGKILL)


@given(most=st.integers(0, 9), spenders=st.lists(st.integers(0, 2), max_size=20))
def test_the_budget_is_spent_once_whoever_spends_it(
    tmp_path_factory: pytest.TempPathFactory, most: int, spenders: list[int]
) -> None:
    """Of requests by several holders of the same file the first so many are granted, and no other."""
    path = tmp_path_factory.mktemp("session") / "requests"
    budgets = [RequestBudget(path, most) for _ in range(3)]
    granted = [budgets[spender].take() for spender in spenders]
    assert granted == [number < most for number in range(len(spenders))]


def test_processes_spend_it_together(tmp_path: Path) -> None:
    """Four processes that try at the same moment, 200 times: of each budget of two they get two between them."""
    together = CONTEXT.Barrier(4)
    processes = [CONTEXT.Process(target=spend, args=(tmp_path, 200, together)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    assert sum(int(file.read_text()) for file in tmp_path.glob("got-*")) == 2 * 200


def test_nobody_counts_while_another_does(tmp_path: Path) -> None:
    """Whoever holds the count holds up the others, who then see what was spent."""
    path = tmp_path / "requests"
    with ThreadPoolExecutor(1) as pool, FileLock(f"{path}.lock"):
        granted = pool.submit(RequestBudget(path, 1).take)
        with pytest.raises(TimeoutError):
            granted.result(0.2)
        path.write_bytes(b".")
    assert granted.result() is False


def test_threads_spend_it_together(tmp_path: Path) -> None:
    """One object in the hands of several threads grants no more either."""
    budget = RequestBudget(tmp_path / "requests", 50)
    with ThreadPoolExecutor(4) as pool:
        granted = list(pool.map(lambda _: budget.take(), range(80)))
    assert sum(granted) == 50


def test_what_a_killed_process_took_stays_taken(tmp_path: Path) -> None:
    """It may have been sent; and the lock of the dead is nobody's."""
    path = tmp_path / "requests"
    process = CONTEXT.Process(target=spend_and_die, args=(path,))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert [RequestBudget(path, 3).take() for _ in range(3)] == [True, True, False]


def test_each_name_of_a_session_has_its_own(tmp_path: Path) -> None:
    """A judge does not spend what the model may; another session begins anew."""
    session = SessionStore(tmp_path / "one")
    assert [session.budget(name, 1).take() for name in ("model", "judge", "model")] == [True, True, False]
    assert SessionStore(tmp_path / "two").budget("model", 1).take()


def test_where_nothing_can_be_counted_nothing_is_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is a file, a disk without locks: an error that says what the count is for."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/requests: requests cannot be counted here .* max_requests"):
        RequestBudget(tmp_path / "file" / "requests", 1).take()

    def no_flock(self: FileLock, **options: object) -> None:
        raise NotImplementedError("no flock")

    monkeypatch.setattr(FileLock, "acquire", no_flock)
    with pytest.raises(StoreError, match="no flock"):
        RequestBudget(tmp_path / "requests", 1).take()
