"""What has gone out to a server and come back: what may still be sent, and for which reply each request was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from truthguard.backends.openai_failures import Failure
from truthguard.backends.protocol import NO_USAGE, Usage
from truthguard.records import Missing


class Budget(Protocol):
    """How many requests may be sent; `most` is None where nothing bounds them."""

    @property
    def most(self) -> int | None: ...

    def take(self) -> bool:
        """Spend one request that is about to be sent; False where none is left."""
        ...


class Slots(Protocol):
    """How many requests may be under way at once; others may share them."""

    def take(self) -> Any | None:
        """One that is free now; None where there is none."""
        ...

    def give_back(self, slot: Any) -> None:
        """Free one that `take` gave."""
        ...


class OwnBudget:
    """A budget that nobody else spends."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._spent = 0

    def take(self) -> bool:
        if self.most is not None and self._spent >= self.most:
            return False
        self._spent += 1
        return True


@dataclass(slots=True)
class _Account:
    """What was counted and is in no reply yet; `over` once no reply of this errand is to come."""

    usage: Usage = NO_USAGE
    over: bool = False

    def add(self, usage: Usage) -> None:
        self.usage += usage

    def take(self) -> Usage:
        usage, self.usage = self.usage, NO_USAGE
        return usage


# Tasks inherit it from the task that begins them: what they send is counted on its errand.
_ERRAND: ContextVar[_Account] = ContextVar("errand")


class Ledger:
    """Counts what is sent to the reply that it is sent for.

    What was sent for none (a probe before the first request, samples that a server left out of its reply) goes
    with the next reply of any errand. So the usages of all replies add up to what the server got.
    """

    def __init__(self) -> None:
        self._left = _Account()

    @contextmanager
    def errand(self) -> Iterator[Callable[[], Usage]]:
        """Within the block, what is sent is counted together.

        The callable takes what was counted since it was called last: what the first reply took, and nothing for
        further replies to the same request.
        """
        account = _Account()
        token = _ERRAND.set(account)
        try:
            yield lambda: account.take() + self._left.take()
        finally:
            _ERRAND.reset(token)
            account.over = True
            self._left.add(account.take())

    def sent(self, *, again: bool) -> None:
        """A request has left, for the first time or again."""
        self._count(Usage(retries=int(again), requests=int(not again)))

    def billed(self, reply: dict[str, Any]) -> None:
        """A reply has come, with the tokens that the server counted for it."""
        prompt, completion = billed_tokens(reply)
        self._count(Usage(prompt, completion, requests=0))

    def _count(self, usage: Usage) -> None:
        account = _ERRAND.get(self._left)
        # A request may outlive its errand, when another for the same reply has failed.
        (self._left if account.over else account).add(usage)


@dataclass(slots=True)
class Traffic:
    """What belongs to a backend and outlives its connections.

    Every attempt to get an answer or to probe spends the budget, repeated ones too; a redirect that is followed is
    part of its attempt. The list of models, which costs nothing and is asked for once (`listed`), does not;
    `list_refusal` is what came in its place. `stopped` is why nothing more is sent.
    """

    budget: Budget
    ledger: Ledger = field(default_factory=Ledger)
    listed: bool = False
    list_refusal: Failure | None = None
    answered: bool = False
    stopped: Missing | None = None


def billed_tokens(reply: dict[str, Any]) -> tuple[int, int]:
    """Prompt and completion tokens as the server counts them; 0 where it does not.

    >>> billed_tokens({"usage": {"prompt_tokens": 10, "completion_tokens": None}})
    (10, 0)
    """
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    prompt, completion = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    return prompt if isinstance(prompt, int) else 0, completion if isinstance(completion, int) else 0
