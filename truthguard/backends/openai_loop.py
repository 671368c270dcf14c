"""An event loop in a thread of its own: requests run side by side whether or not the caller has a loop running."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# A job hands over what it finds, as it finds it.
Job = Callable[[Callable[[T], None]], Awaitable[None]]

_PATIENCE = 10.0  # seconds for cancelled jobs to end


class _End:
    """Stands in the queue behind the last thing found."""


class BackgroundLoop:
    """Runs coroutines for callers that are none. The process's loop policy and its other loops stay untouched."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="truthguard-requests", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for one coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stream(self, jobs: Sequence[Job[T]], at_once: int) -> Iterator[T]:
        """What the jobs find, as they find it, with at most `at_once` of them under way.

        The first job that raises ends all of them: what was found before comes first, then the exception.
        Closing the iterator cancels the jobs.
        """
        stream = _Stream(jobs, at_once)
        future = asyncio.run_coroutine_threadsafe(stream.work(), self._loop)
        try:
            while not isinstance(found := stream.found.get(), _End):
                yield found
            future.result()
        finally:
            future.cancel()
            stream.ended.wait(_PATIENCE)

    def close(self) -> None:
        """Stop the thread and close its loop. To be called once, when nothing runs."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


class _Stream(Generic[T]):
    def __init__(self, jobs: Sequence[Job[T]], at_once: int) -> None:
        self._waiting = iter(jobs)
        self._workers = min(at_once, len(jobs))
        self.found: SimpleQueue[T | _End] = SimpleQueue()
        self.ended = threading.Event()

    async def work(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._worker())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            self.ended.set()
            self.found.put(_End())

    async def _worker(self) -> None:
        for job in self._waiting:
            await job(self.found.put)
