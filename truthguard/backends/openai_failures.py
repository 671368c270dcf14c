"""What can go wrong with one request, in the terms of this project: nothing of the client's own types leaves here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from truthguard.backends.openai_retry import Patience
from truthguard.records import Missing

Scrub = Callable[[str], str]

# A server that is busy or behind a gateway that is: it may well answer in a moment.
_BUSY = frozenset({408, 409, 425, 429})
_TOO_LONG = re.compile(
    r"(context|window).{0,40}(length|size|window|exceed)|maximum context|exceed\w*.{0,40}context|too long"
    # vLLM's words for a prompt that leaves no room for one token: at least one is always asked for.
    r"|max_tokens must be at least 1, got (0|-\d+)",
    re.IGNORECASE,
)
_FILTERED = ("content_filter", "content_policy_violation")
_MOST_SHOWN = 400  # characters of a server's own words that a reason repeats


@dataclass(frozen=True, slots=True)
class Failure:
    """One request that brought no JSON object back.

    `timeout`: no whole reply in time; `unreachable`: no connection; `broken`: the connection ended within the
    reply; `not_json`: a reply of another form; `status`: an error in the server's words; `error`: such an error in
    place of a reply, with status 200. `message`, `param` and `code` are the server's, without the key.
    """

    reason: Literal["status", "timeout", "unreachable", "broken", "not_json", "error"]
    message: str
    status: int | None = None
    param: str | None = None
    code: str | None = None
    retry_after: str | None = None

    def __str__(self) -> str:
        return f"status {self.status}: {self.message}" if self.status else self.message

    @property
    def too_long(self) -> bool:
        """Whether prompt and reply do not fit the model's window."""
        codes = ("context_length_exceeded", "exceed_context_size_error")
        may_be = self.reason == "error" or self.status in (400, 413, 500)
        return self.code in codes or (may_be and bool(_TOO_LONG.search(self.message)))

    @property
    def out_of_quota(self) -> bool:
        """Whether there is nothing left to be spent: waiting changes nothing."""
        return self.status == 402 or self.code in ("insufficient_quota", "billing_hard_limit_reached")

    @property
    def filtered(self) -> bool:
        """Whether a content filter stopped the prompt: that tells nothing of the next one."""
        return self.code in _FILTERED

    def attempts(self, patience: Patience) -> int:
        """How often a request that fails like this is sent in all.

        One that got no reply in time is not sent again: the server may still work on it, and on a busy one
        every repetition makes the next reply later.
        """
        if self.reason in ("unreachable", "broken"):
            return patience.attempts
        if self.too_long or self.out_of_quota or self.filtered:
            return 1
        if self.reason == "error":
            return patience.attempts
        if self.reason == "not_json" or self.status == 500:
            return patience.attempts_at_fault
        if self.status is not None and (self.status in _BUSY or (self.status > 500 and self.status != 501)):
            return patience.attempts
        return 1

    def missing(self, where: str, attempts: int) -> Missing:
        """Why one request has no reply."""
        times = "" if attempts == 1 else f" ({attempts} attempts)"
        return Missing(self._kind(), f"{where}: {self}{times}")

    def _kind(self) -> str:
        if self.too_long:
            return "does_not_fit"
        if self.filtered:
            return "content_filter"
        if self.reason == "error":
            return "server_error"
        if self.reason != "status":
            return {"not_json": "bad_reply", "broken": "connection"}.get(self.reason, self.reason)
        if self.status == 429:
            return "rate_limited"
        return "server_error" if self.status is not None and self.status >= 500 else "bad_request"


class Unanswered(Exception):
    """A request that has no reply, and why."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(str(missing))
        self.missing = missing


class Refused(Unanswered):
    """A request that this server cannot answer at all: it lacks the endpoint, or refuses or ignores a parameter."""


def as_it_is(text: str) -> str:
    """The scrubbing where no key was sent."""
    return text


def from_status(status: int, body: Any, retry_after: str | None, scrub: Scrub = as_it_is) -> Failure:
    """Read an error reply. Servers wrap it as {"error": {...}}, {"error": "..."}, {"detail": ...} or plain text.

    `scrub` takes out the key, and does so before anything is cut: half a key would pass unseen.
    """
    message, param, code = _read_error(body)
    shown = shorten(scrub(message))
    return Failure("status", shown, status, param and scrub(param), code and scrub(code), retry_after)


def from_reply(reply: dict[str, Any], scrub: Scrub = as_it_is) -> Failure | None:
    """The error that gateways send in place of a reply with status 200; None for a reply.

    Where its code is an HTTP status, that is what the server behind the gateway said.
    """
    error = reply.get("error")
    if not isinstance(error, dict | str) or not error or reply.get("choices"):
        return None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code < 600:
        return from_status(code, reply, None, scrub)
    return replace(from_status(200, reply, None, scrub), reason="error", status=None)


def _read_error(body: Any) -> tuple[str, str | None, str | None]:
    """The message, the parameter and the code."""
    error = body.get("error", body) if isinstance(body, dict) else body
    param: str | None = None
    code: str | None = None
    message = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    if isinstance(error, dict):
        param = _text(error.get("param"))
        code = _text(error.get("code")) or _text(error.get("type"))
        if _text(error.get("type")) == "exceed_context_size_error":
            code = "exceed_context_size_error"
        detail = error.get("message") or error.get("detail")
        if isinstance(detail, str):
            message = detail
            code = "content_filter" if _is_wrapped_filter(error, detail) else code
        elif isinstance(detail, list):
            message, param = _validation(detail, message, param)
    return message, param, code


def _is_wrapped_filter(error: dict[str, Any], message: str) -> bool:
    """Whether LiteLLM passes on a content filter: its own code is the status, Azure's stands below its fields."""
    fields = error.get("provider_specific_fields")
    azure = fields.get("azure_error") if isinstance(fields, dict) else None
    code = azure.get("code") if isinstance(azure, dict) else None
    return code in _FILTERED or "ContentPolicyViolationError" in message


def _validation(detail: list[Any], message: str, param: str | None) -> tuple[str, str | None]:
    """FastAPI's form: each entry tells the place and what is wrong there; it repeats the input, which may be long."""
    entries = [entry for entry in detail if isinstance(entry, dict)]
    places = [[part for part in entry.get("loc") or () if isinstance(part, str)] for entry in entries]
    told = "; ".join(
        f"{'.'.join(place)}: {entry.get('msg')}" for place, entry in zip(places, entries, strict=True) if place
    )
    named = next((place[-1] for place in places if place), None)
    return told or message, param or named


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) and value else None


def shorten(text: str) -> str:
    """The text on one line, at most a few hundred characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else line[: _MOST_SHOWN - 1] + "…"
