"""Workers that ask servers: none waits while there is something to ask, and together they keep to one bound."""

from __future__ import annotations

import threading

import pytest

from tests.backends.scripted_server import Answer, Asked, serving
from tests.plugin.projects import run
from tests.plugin.test_api_traffic import answer, write_gate

pytestmark = pytest.mark.slow

TEXT = '[model]\nname = "{url}#m"\nconcurrency = 2\n[faq.truthful]\nmin = 0\nby = "category"\n'


@pytest.mark.parametrize("extra", [(), ("-x",)], ids=["to the end", "to the first failure"])
def test_a_worker_that_would_wait_begins_with_another_benchmark(
    project: pytest.Pytester, extra: tuple[str, ...]
) -> None:
    """Both workers get rows of the first file: one of them asks what the second wants, at once with the other.

    Not with -x, where a failure of the first would leave the second unasked. Never more than `concurrency` requests
    are under way.
    """
    together = not extra
    meeting = threading.Barrier(2)
    lock = threading.Lock()
    under_way, most = 0, 0
    firsts: list[str] = []

    def script(asked: Asked) -> Answer:
        nonlocal under_way, most
        prompt = asked.body["messages"][0]["content"]
        with lock:
            under_way += 1
            most = max(most, under_way)
            firsts.append("one" if "one: " in prompt else "two")
        if asked.number < 2 and together:
            # Each process's first request goes alone: nobody goes on before both are here.
            meeting.wait(60)
        server.closing.wait(0.02)
        with lock:
            under_way -= 1
        return answer(asked)

    with serving(script) as server:
        for name in ("one", "two"):
            write_gate(project.path, TEXT.format(url=server.url), name)
        result = run(project, "one.toml", "two.toml", "-n", "2", *extra, model=None, in_process=False)
        result.assert_outcomes(passed=6)
        assert len(server.posts) == 8, "each question is asked once"
    assert set(firsts[:2]) == ({"one", "two"} if together else {"one"})
    assert most == 2
