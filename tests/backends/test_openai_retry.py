"""When a request is sent again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truthguard.backends.openai_failures import Failure
from truthguard.backends.openai_retry import Patience, retry_after

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("17", 17.0),
        (" 2.5 ", 2.5),
        ("86400", 86400.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", 90.0),
        ("Monday, 30-Nov-26 12:01:30 GMT", 90.0),
        ("Mon, 30 Nov 2026 13:01:30 +0100", 90.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_seconds_and_dates_are_understood(header: str, seconds: float) -> None:
    """Both forms of the standard; a date that has passed asks for no wait."""
    assert retry_after(header, NOW) == seconds


@pytest.mark.parametrize(
    "header", [None, "", "soon", "-5", "nan", "inf", "1e3", "5 minutes", "٥", "Mon, 99 Nov 2026 12:00:00 GMT", "1m30s"]
)
def test_anything_else_is_left_to_our_own_backoff(header: str | None) -> None:
    """A server's typing mistake never becomes a wait of years or of nothing."""
    assert retry_after(header, NOW) is None


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading(header: str) -> None:
    """Whatever a server writes, the answer is a number of seconds or None."""
    seconds = retry_after(header, NOW)
    assert seconds is None or seconds >= 0.0


@given(st.integers(1, 60), st.floats(0, 1))
def test_a_backoff_is_bounded_and_never_nothing(failures: int, chance: float) -> None:
    """Between half of the doubling wait and the whole, and never more than the most."""
    patience = Patience()
    wait = patience.backoff(failures, chance)
    whole = min(8.0, 0.5 * 2.0 ** (failures - 1))
    assert whole / 2 <= wait <= whole


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (Failure("status", "busy", 429), 6),
        (Failure("status", "busy", 503), 6),
        (Failure("status", "bad gateway", 502), 6),
        (Failure("status", "overloaded", 529), 6),
        (Failure("unreachable", "refused"), 6),
        (Failure("broken", "reset"), 6),
        (Failure("status", "own fault", 500), 3),
        (Failure("not_json", "<html>"), 3),
        (Failure("timeout", "late"), 1),
        (Failure("status", "no such method", 501), 1),
        (Failure("status", "bad", 400), 1),
        (Failure("status", "no key", 401), 1),
        (Failure("status", "no money", 429, code="insufficient_quota"), 1),
        (Failure("status", "maximum context length is 2048 tokens", 500), 1),
    ],
)
def test_what_can_pass_is_tried_again(failure: Failure, attempts: int) -> None:
    """A busy server often, a failing one a few times, a wrong request never; a late one may still be at work."""
    assert failure.attempts(Patience()) == attempts
