"""A small HTTP server on a free loopback port that answers as a callable says, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request that arrived: its place in the order of arrival, and what it said."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What is sent back. `body` that is no str goes as JSON; `cut` bytes are left out of what was announced.

    `hang_up`: the connection ends after it, though no header says so.
    """

    body: object = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int = 0
    hang_up: bool = False


Script = Callable[[Asked], Answer]


@dataclass
class ScriptedServer:
    """`posts` are the requests but for those for the list of models, in order of arrival; `stop` ends the server."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    stop: Callable[[], None] = lambda: None

    @property
    def posts(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == "POST"]


@contextmanager
def serving(script: Script, models: object = None) -> Iterator[ScriptedServer]:
    """Serve until the block ends. GET /v1/models gives `models` (an Answer as it is) or 404, all else the script's."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are sent apart: without this the body would wait 40 ms for the headers' acknowledgement.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            self._handle(json.loads(self.rfile.read(length) or b"{}"))

        def do_GET(self) -> None:
            self._handle({})

        def _handle(self, body: dict[str, Any]) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                posted = len(server.posts)
                asked = Asked(posted, self.command, self.path, headers, body)
                server.asked.append(asked)
            if asked.method == "GET" and asked.path == "/v1/models":
                listed = Answer({"error": {"message": "no"}}, 404) if models is None else models
                answer = listed if isinstance(listed, Answer) else Answer(listed)
            else:
                answer = script(asked)
            self._send(answer)
            if server.closing.is_set():
                self.close_connection = True

        def _send(self, answer: Answer) -> None:
            if answer.delay:
                # A hanging server is let go when the test is over.
                server.closing.wait(answer.delay)
            plain = isinstance(answer.body, str)
            data = str(answer.body).encode() if plain else json.dumps(answer.body).encode()
            try:
                self.send_response(answer.status)
                headers = {"Content-Type": "text/html" if plain else "application/json"} | answer.headers
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: len(data) - answer.cut])
                if answer.cut or answer.hang_up:
                    self.close_connection = True
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing to standard error."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no news."""

    with Quiet(("127.0.0.1", 0), Handler) as http:
        server = ScriptedServer(f"http://127.0.0.1:{http.server_port}/v1")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()

        def stop() -> None:
            server.closing.set()
            http.shutdown()
            http.server_close()
            thread.join()

        server.stop = stop
        try:
            yield server
        finally:
            stop()


def chat_reply(*texts: str | None, reason: str = "stop", **choice: Any) -> Answer:
    """A whole reply of a chat endpoint, with one choice for each text."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": reason} | choice
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return Answer({"id": "1", "object": "chat.completion", "model": "m", "choices": choices, "usage": usage})


def refusal(message: str, *, status: int = 400, **error: Any) -> Answer:
    """An error in OpenAI's form."""
    return Answer({"error": {"message": message, "type": "invalid_request_error", "param": None} | error}, status)


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Poll until a condition holds; fail when it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the awaited condition never came about"
        time.sleep(0.01)
