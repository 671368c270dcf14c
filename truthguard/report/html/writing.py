"""How texts and numbers of a record are shown on the page: nothing in them may act on it or hide."""

from __future__ import annotations

import sys

from truthguard.text import visible


def block(text: str) -> str:
    """A text of several lines in full; what is not printable, line ends apart, as `text.visible` shows it.

    >>> block("two\\r\\nlines"), block("a\\x1b[31m \\u202eb")
    ('two\\nlines', 'a\\\\x1b[31m \\\\u202eb')
    """
    if text.isprintable():
        return text
    return "\n".join(visible(line, sys.maxsize) for line in text.replace("\r\n", "\n").split("\n"))


def line(text: str) -> str:
    """A text in full on one line."""
    return text if text.isprintable() else visible(text, sys.maxsize)


def number(value: float | None, decimals: int = 4) -> str:
    """A score as the summary prints it, with the minus sign of print.

    >>> number(0.375), number(-0.5), number(None)
    ('0.3750', '−0.5000', '–')
    """
    return "–" if value is None else f"{value:.{decimals}f}".replace("-", "−")


def signed(value: float | None, decimals: int = 4) -> str:
    """A difference with its sign; no difference has none.

    >>> signed(0.0123), signed(-0.06), signed(0.0), signed(None)
    ('+0.0123', '−0.0600', '0.0000', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.{decimals}f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """An interval in brackets.

    >>> interval(0.2422, 0.5297), interval(None, None)
    ('[0.2422, 0.5297]', '–')
    """
    return "–" if low is None or high is None else f"[{number(low)}, {number(high)}]"
