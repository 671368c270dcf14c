"""One bound on the requests under way, for all processes of a session."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

from tests.backends.openai_clients import HASTY, asking, greedy
from tests.backends.scripted_server import Answer, Asked, chat_reply, serving, wait_until
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.records import ModelSettings
from truthguard.store.slots import RequestSlots

CONTEXT = get_context("spawn")
MOST = 3


def ask(url: str, folder: Path, count: int) -> None:
    """What another process does: as many requests at once as it may."""
    settings = ModelSettings(f"{url}#m", concurrency=MOST)
    slots = RequestSlots(folder, MOST)
    backend = OpenAIBackend(settings, api_identity(settings), patience=HASTY, slots=slots)
    with closing(backend):
        replies = list(backend.answer([greedy(number) for number in range(count)]))
    assert all(reply.value is not None for reply in replies)


def start(url: str, folder: Path, count: int) -> CONTEXT.Process:  # type: ignore[name-defined]
    process = CONTEXT.Process(target=ask, args=(url, folder, count))
    process.start()
    return process


def test_processes_keep_to_one_bound(tmp_path: Path) -> None:
    """Two processes and this one, nine requests each: never more than three at once, and three at some time."""
    under_way, most, lock = 0, 0, threading.Lock()

    def script(asked: Asked) -> Answer:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        server.closing.wait(0.03)
        with lock:
            under_way -= 1
        return chat_reply("yes")

    with serving(script, {"data": [{"id": "m"}]}) as server:
        processes = [start(server.url, tmp_path, 9) for _ in range(2)]
        ask(server.url, tmp_path, 9)
        for process in processes:
            process.join(120)
        assert [process.exitcode for process in processes] == [0, 0]
        assert len(server.posts) == 27
    assert most == MOST


def test_a_killed_process_frees_its_slots(tmp_path: Path) -> None:
    """It dies with every slot taken by requests that hang; another one goes on at once."""
    dead = threading.Event()

    def script(asked: Asked) -> Answer:
        # The first request goes alone.
        return chat_reply("yes") if asked.number == 0 or dead.is_set() else Answer(delay=60.0)

    with serving(script, {"data": [{"id": "m"}]}) as server:
        process = start(server.url, tmp_path, 9)
        wait_until(lambda: len(server.posts) == 1 + MOST, 60)
        assert RequestSlots(tmp_path, MOST).take() is None
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        dead.set()
        with asking(server, concurrency=MOST) as backend:
            assert all(reply.value for reply in backend.answer([greedy()]))
        ask(server.url, tmp_path, 4)
