"""The requests under way are one count for everybody who sends them."""

from __future__ import annotations

import os
import signal
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from truthguard.errors import StoreError
from truthguard.store.session import SessionStore
from truthguard.store.slots import RequestSlots

CONTEXT = get_context("spawn")


def hold_all(folder: Path, held: Event) -> None:
    """What another process does: take both slots, and be killed with them."""
    slots = RequestSlots(folder, 2)
    taken = [slots.take(), slots.take(), slots.take()]
    assert [each is None for each in taken] == [False, False, True]
    held.set()
    signal.pause()


@given(most=st.integers(1, 4), steps=st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30))
def test_never_more_than_the_bound_whoever_takes(
    tmp_path_factory: pytest.TempPathFactory, most: int, steps: list[tuple[int, bool]]
) -> None:
    """Holders of the same folder get a slot exactly when one is free; what is given back is free for all."""
    folder = tmp_path_factory.mktemp("session") / "slots"
    holders = [RequestSlots(folder, most) for _ in range(3)]
    held: list[list[FileLock]] = [[], [], []]
    for number, takes in steps:
        under_way = sum(map(len, held))
        if takes:
            slot = holders[number].take()
            assert (slot is not None) == (under_way < most)
            held[number] += [slot] if slot is not None else []
        elif held[number]:
            holders[number].give_back(held[number].pop(0))
    for holder, slots in zip(holders, held, strict=True):
        for slot in slots:
            holder.give_back(slot)


def test_a_killed_process_leaves_its_slots(tmp_path: Path) -> None:
    """As long as it lives they are taken; no file has to be removed."""
    held = CONTEXT.Event()
    process = CONTEXT.Process(target=hold_all, args=(tmp_path, held))
    process.start()
    assert held.wait(60)
    slots = RequestSlots(tmp_path, 2)
    assert slots.take() is None
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(60)
    assert [slots.take() is None for _ in range(3)] == [False, False, True]


def test_each_name_of_a_session_has_its_own(tmp_path: Path) -> None:
    """A judge does not wait for the model's requests."""
    session = SessionStore(tmp_path)
    model, again, judge = (session.slots(name, 1) for name in ("model", "model", "judge"))
    held = model.take()
    assert held is not None
    assert again.take() is None
    assert judge.take() is not None


def test_where_nothing_can_be_locked_nothing_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is a file, a disk without locks: an error that says what it is for."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/slots: requests under way cannot be counted here .* concurrency"):
        RequestSlots(tmp_path / "file" / "slots", 1).take()

    def no_flock(self: FileLock, **options: object) -> None:
        raise NotImplementedError("no flock")

    monkeypatch.setattr(FileLock, "acquire", no_flock)
    with pytest.raises(StoreError, match="no flock"):
        RequestSlots(tmp_path / "slots", 1).take()
