"""Side by side in a thread of its own, whatever the caller runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from truthguard.backends.openai_loop import BackgroundLoop, Job

Emit = Callable[[int], None]


@pytest.fixture
def loop() -> BackgroundLoop:
    return BackgroundLoop()


def job(number: int, started: list[int], gate: threading.Event | None = None) -> Job[int]:
    async def work(emit: Emit) -> None:
        started.append(number)
        while gate is not None and not gate.is_set():
            await asyncio.sleep(0.001)
        emit(number)

    return work


def test_every_job_is_done_and_what_it_finds_is_given(loop: BackgroundLoop) -> None:
    """More jobs than places: each is done once."""
    assert sorted(loop.stream([job(number, []) for number in range(20)], 3)) == list(range(20))
    assert list(loop.stream([], 3)) == []
    loop.close()


def test_no_more_than_the_given_number_run_at_once(loop: BackgroundLoop) -> None:
    """The fourth waits until one of the first three is done."""
    started: list[int] = []
    gate = threading.Event()
    found = loop.stream([job(number, started, gate if number < 3 else None) for number in range(4)], 3)
    threading.Timer(0.05, gate.set).start()
    first = next(found)
    assert first < 3
    assert started[:3] == [0, 1, 2]
    assert sorted([*found, first]) == sorted(started) == [0, 1, 2, 3]
    loop.close()


def test_a_failing_job_ends_the_others_after_what_was_found(loop: BackgroundLoop) -> None:
    """What was found before is given first, then the exception itself; the hanging job is cancelled."""
    cancelled: list[bool] = []

    async def hang(_: Emit) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fail(_: Emit) -> None:
        raise ValueError("broken")

    found = loop.stream([job(1, []), hang, fail], 2)
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken"):
        next(found)
    assert cancelled == [True]
    loop.close()


def test_closing_the_stream_cancels_the_jobs(loop: BackgroundLoop) -> None:
    """Whoever stops listening leaves nothing running."""
    ended: list[bool] = []

    async def hang(emit: Emit) -> None:
        emit(1)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    found = loop.stream([hang], 1)
    assert next(found) == 1
    found.close()  # type: ignore[attr-defined]
    assert ended == [True]
    loop.close()


def test_a_loop_that_runs_already_is_no_obstacle(loop: BackgroundLoop) -> None:
    """C27: called from within a coroutine, where asyncio.run would raise; the caller's loop goes on afterwards."""
    policy = asyncio.get_event_loop_policy()

    async def main() -> list[int]:
        found = list(loop.stream([job(number, []) for number in range(3)], 2))
        await asyncio.sleep(0)
        return found

    assert sorted(asyncio.run(main())) == [0, 1, 2]
    assert asyncio.get_event_loop_policy() is policy
    loop.close()
    assert "truthguard-requests" not in {thread.name for thread in threading.enumerate()}
