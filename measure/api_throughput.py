"""How close the openai backend comes to what a server's latency allows: `python -m measure.api_throughput`.

A server on this machine answers each request after 200 ms; 400 requests go out, 16 at a time. Without any cost of
our own that takes 400 x 0.2 / 16 = 5 s; the goal is 1.15 times that, start-up (loop, client, models list) apart.
"""

from __future__ import annotations

import argparse
import time

from tests.backends.scripted_server import Answer, chat_reply, serving
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.protocol import Generate
from truthguard.records import ModelSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    options = parser.parse_args()
    reply = Answer(chat_reply("Verdict: yes").body, delay=options.latency)
    with serving(lambda _: reply, {"data": [{"id": "m"}]}) as server:
        settings = ModelSettings(f"{server.url}#m", concurrency=options.concurrency)
        backend = OpenAIBackend(settings, api_identity(settings))
        start = time.perf_counter()
        list(backend.answer([Generate("warm up", max_tokens=8)]))
        ready = time.perf_counter()
        replies = list(backend.answer([Generate(f"{each}", max_tokens=8) for each in range(options.requests)]))
        wall = time.perf_counter() - ready
        backend.close()
    least = options.requests * options.latency / options.concurrency
    answered = sum(each.value is not None for each in replies)
    print(f"{answered} of {options.requests} answered, {options.concurrency} at a time, {options.latency} s each")
    print(
        f"start-up with the first request {ready - start:.2f} s; wall {wall:.2f} s = {wall / least:.3f} x {least:.2f} s"
    )


if __name__ == "__main__":
    main()
