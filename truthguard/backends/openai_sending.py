"""One request to a server until it is answered: bounded, paced, sent again where that can help, learnt from.

The official client sends; its own retries are off, so that every attempt is counted once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from truthguard.backends.openai_failures import Failure, Unanswered, as_it_is, from_reply, from_status, shorten
from truthguard.backends.openai_features import Body, Features
from truthguard.backends.openai_keys import Endpoint, Secret
from truthguard.backends.openai_retry import Patience, retry_after
from truthguard.backends.openai_traffic import Slots, Traffic
from truthguard.backends.protocol import Usage
from truthguard.errors import ModelError
from truthguard.records import Missing

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MODELS = "/models"
# What any HTTP request says; everything else that the environment may add stays away from foreign servers.
_PLAIN_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length"}
)
# LiteLLM renames the header of the server behind it.
_WAITS = ("retry-after", "llm_provider-retry-after")
_SECONDS_BETWEEN_TRIES = 0.005
_LONGEST_CONNECT = 10.0  # seconds: a machine that is there answers a knock much sooner


class Sender:
    """Sends requests for one model. Lives in one event loop.

    The first request with a certain set of parameters goes alone, so that what the server refuses is learnt
    once and not by every request under way. A Retry-After holds back all requests, not only the one it answers.
    """

    def __init__(
        self,
        client: AsyncOpenAI,
        endpoint: Endpoint,
        features: Features,
        traffic: Traffic,
        *,
        key: Secret | None,
        concurrency: int,
        timeout_seconds: float,
        patience: Patience,
        shared: Slots | None = None,
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._features = features
        self._traffic = traffic
        self._key = key
        self._scrub = key.scrub if key is not None else as_it_is
        self._slots = asyncio.Semaphore(concurrency)
        self._shared = shared
        self._trying = asyncio.Lock()
        self._timeout = timeout_seconds
        self._patience = patience
        self._resume_at = 0.0
        self._first = _FirstAlone()
        self._dead: ModelError | None = None

    def errand(self) -> AbstractContextManager[Callable[[], Usage]]:
        """What is sent within the block is counted together; the callable is what a reply took (Ledger.errand)."""
        return self._traffic.ledger.errand()

    async def post(self, path: str, body: Body, *, teaches: bool = True) -> dict[str, Any]:
        """Send until there is a reply. `path` is below the base URL, or an absolute URL at the same server.

        `teaches`: what is refused is so for every request like it; otherwise nothing is learnt from this one.
        Raises Unanswered where there is none, Refused where the server cannot answer such requests, ModelError
        where it can answer none at all.
        """
        async with self._first.of((path, frozenset(body))):
            return await self._persist(path, body, teaches=teaches)

    def shown(self, text: str) -> str:
        """A server's words as they may be shown: shortened, and before that without the key."""
        return shorten(self._scrub(text))

    async def list_models(self) -> Any:
        """The server's list of models; one attempt, which does not count against max_requests. Raises Unanswered."""
        result = await self._once("GET", _MODELS, None)
        if isinstance(result, Failure):
            self._traffic.list_refusal = result
            raise Unanswered(result.missing(f"GET {self._features.place(_MODELS)}", 1))
        return result

    async def _persist(self, path: str, body: Body, *, teaches: bool) -> dict[str, Any]:
        failures = 0
        again = False
        while True:
            fitted = self._features.fit(path, body)
            result = await self._once("POST", path, fitted, again=again)
            again = True
            if isinstance(result, dict):
                self._traffic.answered = True
                self._traffic.ledger.billed(result)
                return result
            failure = result if isinstance(result, Failure) else self._no_object(result)
            if not (teaches and self._features.learn(path, fitted, failure)):
                failures += 1
                await asyncio.sleep(self._wait(path, failure, failures))

    async def _once(self, method: str, path: str, body: Body | None, *, again: bool = False) -> Any:
        """The reply's JSON, or what went wrong."""
        async with self._turn():
            await self._hold_back()
            if self._dead is not None:
                raise self._dead
            if self._traffic.stopped is not None:
                raise Unanswered(self._traffic.stopped)
            if method == "POST":
                self._spend()
                self._traffic.ledger.sent(again=again)
            return await self._call(method, path, body)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One of the requests under way: of this process, and of all that share the slots."""
        async with self._slots:
            if self._shared is None:
                yield
                return
            slot = await self._free_slot(self._shared)
            try:
                yield
            finally:
                self._shared.give_back(slot)

    async def _free_slot(self, shared: Slots) -> Any:
        """Other processes tell nobody when they free one: tried again and again, for a tenth of the time at most."""
        clock = asyncio.get_running_loop().time
        async with self._trying:
            while True:
                begun = clock()
                if (slot := shared.take()) is not None:
                    return slot
                await asyncio.sleep(max(_SECONDS_BETWEEN_TRIES, 9 * (clock() - begun)))

    def _spend(self) -> None:
        """Take one request of the budget, just before it is sent."""
        budget = self._traffic.budget
        if not budget.take():
            self._stop("max_requests", f"max_requests = {budget.most} requests were sent")

    async def _call(self, method: str, path: str, body: Body | None) -> Any:
        import openai

        # Failures leave as values: the client's exceptions hold the request with its key and must not travel.
        try:
            async with asyncio.timeout(self._timeout):
                if method == "GET":
                    reply = await self._client.get(path, cast_to=object)
                else:
                    reply = await self._client.post(path, cast_to=object, body=body)
        except openai.APIStatusError as error:
            headers = error.response.headers
            wait = next((headers[name] for name in _WAITS if name in headers), None)
            return from_status(error.status_code, error.body or error.message, wait, self._scrub)
        except openai.APITimeoutError as error:
            if "Connect" in type(error.__cause__).__name__:
                return Failure("unreachable", "no connection within the time limit")
            return self._late()
        except TimeoutError:
            return self._late()
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__
            if cause == "ConnectError":
                return Failure("unreachable", self._scrub(f"no connection: {error.__cause__}"))
            told = self._scrub(str(error.__cause__ or cause))
            return Failure("broken", f"the connection ended within the reply ({told})")
        except (ValueError, openai.APIResponseValidationError):
            return Failure("not_json", "the reply is no JSON")
        if isinstance(reply, dict) and method == "POST":
            return from_reply(reply, self._scrub) or reply
        return reply if isinstance(reply, dict | list) else self._no_object(reply)

    def _wait(self, path: str, failure: Failure, failures: int) -> float:
        """Seconds until the next attempt; raises where there is none."""
        asked = retry_after(failure.retry_after, datetime.now(UTC))
        if failure.out_of_quota:
            self._stop("quota", f"the server says that nothing is left to be spent ({failure})")
        attempts = failure.attempts(self._patience)
        if attempts > 1 and asked is not None and asked > self._patience.longest:
            moment = datetime.now(UTC) + timedelta(seconds=min(asked, 1e9))
            self._stop(
                "rate_limited",
                f"the server asks to wait {asked:.0f} s (Retry-After): come back after {moment:%Y-%m-%d %H:%M:%S} UTC",
            )
        if failures >= attempts:
            self._give_up(path, failure, failures)
        wait = self._patience.backoff(failures, random.random())
        if asked is None:
            return wait
        # What one request is told holds for all.
        self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + asked)
        return asked + wait

    def _give_up(self, path: str, failure: Failure, attempts: int) -> None:
        """Raise: ModelError where the server can answer nothing, else that this request has no reply."""
        where = f"POST {self._features.place(path)}"
        # What stands beside the API may be closed to all: that tells nothing of the key.
        if failure.status in (401, 403) and "://" not in path:
            self._die(f"{where} refuses the key (status {failure.status}: {failure.message}){self._key_hint()}")
        if not self._traffic.answered:
            self._give_up_all(where, failure)
        missing = failure.missing(where, attempts)
        if failure.reason == "unreachable":
            self._stop(missing.kind, f"{missing.detail}; the server is gone: start it and run again")
        raise Unanswered(missing)

    def _give_up_all(self, where: str, failure: Failure) -> None:
        """Raise ModelError where a server that has answered nothing yet shows that it never will."""
        if failure.reason == "unreachable":
            self._die(f"no server answers at {self._endpoint.base_url} ({failure.message}): is it running?")
        if self._features.unknown_model(failure):
            self._die(f"{where}: {failure}; is the model's name right?{self._models_hint()}")
        if failure.status == 404 or failure.reason == "not_json":
            self._die(
                f"{where}: {failure}; is the model's name right, and does the address end as the server's API does"
                f" (mostly in /v1)?{self._models_hint()}"
            )
        # LiteLLM without a database calls a wrong key a bad request, whatever is asked.
        listing = self._traffic.list_refusal
        if listing is not None and failure.status == 400 and str(listing) == str(failure):
            self._die(f"{where} and GET {_MODELS} are refused alike ({failure}), as for a wrong key{self._key_hint()}")

    def _die(self, why: str) -> None:
        """Send nothing more: whoever waits for a turn would fail in the same way."""
        self._dead = ModelError(self._scrub(why))
        raise self._dead

    def _stop(self, kind: str, why: str) -> None:
        """Send nothing more: what is answered is kept, what is not has this reason."""
        if self._traffic.stopped is None:
            self._traffic.stopped = Missing(kind, f"{why}; what was answered is kept")
        raise Unanswered(self._traffic.stopped)

    async def _hold_back(self) -> None:
        clock = asyncio.get_running_loop().time
        while (wait := self._resume_at - clock()) > 0 and self._traffic.stopped is None:
            await asyncio.sleep(wait)

    def _late(self) -> Failure:
        return Failure("timeout", f"no reply within timeout_seconds = {self._timeout:g}")

    def _no_object(self, reply: Any) -> Failure:
        text = reply if isinstance(reply, str) else repr(reply)
        return Failure("not_json", f"the reply is no JSON object: {self.shown(text)!r}")

    def _key_hint(self) -> str:
        if self._key is not None:
            return ""
        host = self._endpoint.host
        return f"; none was sent: name the variable in api_key_env and pass --truthguard-allow-host {host}"

    def _models_hint(self) -> str:
        return "".join(f" ({note})" for note in self._features.notes() if "models list has no" in note)


@dataclass(slots=True)
class _FirstAlone:
    """Lets the first of each kind pass alone and the others after it, side by side, however it ended."""

    _locks: dict[object, asyncio.Lock] = field(default_factory=dict)
    _passed: set[object] = field(default_factory=set)

    @asynccontextmanager
    async def of(self, kind: object) -> AsyncIterator[None]:
        if kind in self._passed:
            yield
            return
        lock = self._locks.setdefault(kind, asyncio.Lock())
        async with lock:
            if kind not in self._passed:
                try:
                    yield
                finally:
                    self._passed.add(kind)
                return
        yield


def make_client(endpoint: Endpoint, key: Secret | None, timeout_seconds: float, concurrency: int) -> AsyncOpenAI:
    """The official client for one endpoint: no retries of its own, and a guard on what leaves."""
    import openai

    http = openai.DefaultAsyncHttpxClient(
        timeout=openai.Timeout(timeout_seconds, connect=min(timeout_seconds, _LONGEST_CONNECT)),
        # One connection for each request under way.
        limits=_limits(concurrency),
        event_hooks={"request": [_guard(endpoint, keyed=key is not None)]},
        # A proxy cannot reach this machine's own servers.
        trust_env=not endpoint.loopback,
    )
    return openai.AsyncOpenAI(
        api_key=key.reveal() if key else "none",  # the client wants one; the guard takes it out again
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=timeout_seconds,
        http_client=http,
    )


def _limits(concurrency: int) -> Any:
    from openai import DEFAULT_CONNECTION_LIMITS

    return type(DEFAULT_CONNECTION_LIMITS)(max_connections=concurrency + 1, max_keepalive_connections=concurrency + 1)


def _guard(endpoint: Endpoint, *, keyed: bool) -> Callable[[Any], Any]:
    """Runs before each request, redirected ones included, and takes out what that address must not get."""
    from urllib.parse import urlsplit

    def origin(url: str) -> tuple[str, str | None, int | None]:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)

    home = origin(endpoint.base_url)

    async def guard(request: Any) -> None:
        at_home = origin(str(request.url)) == home
        for name in list(request.headers):
            lower = name.lower()
            if lower == "authorization":
                if not (keyed and at_home):
                    request.headers.pop(name)
            elif lower not in _PLAIN_HEADERS and not (endpoint.own and at_home):
                request.headers.pop(name)

    return guard
