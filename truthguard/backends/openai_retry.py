"""How long to wait before a request is sent again. Pure: time and chance are handed in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is sent, and how long is waited in between.

    `attempts` counts the first; `attempts_at_fault` is for replies that look like the server's own fault in
    answering this very request (500, no JSON). A wait doubles from `first` up to `most` seconds. A server that
    asks for more than `longest` is not waited for.
    """

    attempts: int = 6
    attempts_at_fault: int = 3
    first: float = 0.5
    most: float = 8.0
    longest: float = 120.0

    def backoff(self, failures: int, chance: float) -> float:
        """Seconds after the given number of failures: half of the doubling wait is fixed, half drawn.

        `chance` is uniform in 0 to 1, so that many clients do not return at the same moment.

        >>> [Patience().backoff(failures, 1.0) for failures in (1, 2, 3, 6)]
        [0.5, 1.0, 2.0, 8.0]
        """
        whole = min(self.most, self.first * 2.0 ** (failures - 1))
        return whole * (0.5 + 0.5 * chance)


def retry_after(header: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, given in seconds or as an HTTP date; None for anything else.

    A date that has passed is 0.

    >>> retry_after("2.5", datetime(2026, 1, 1, tzinfo=UTC)), retry_after("soon", datetime(2026, 1, 1, tzinfo=UTC))
    (2.5, None)
    >>> retry_after("Thu, 01 Jan 2026 00:01:30 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    90.0
    """
    if header is None:
        return None
    text = header.strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
        return seconds if math.isfinite(seconds) else None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for a day or a year of many digits
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
