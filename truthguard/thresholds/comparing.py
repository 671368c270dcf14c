"""A score against a bar: inclusive, on unrounded values, with a tolerance; and how the two are printed."""

from __future__ import annotations

TOLERANCE = 1e-9


def at_least(value: float, limit: float) -> bool:
    """value >= limit, where a difference that arithmetic alone can make does not count."""
    return value >= limit - TOLERANCE


def at_most(value: float, limit: float) -> bool:
    """value <= limit, with the same tolerance.

    >>> 0.80 - 0.75 <= 0.05, at_most(0.80 - 0.75, 0.05)
    (False, True)
    """
    return value <= limit + TOLERANCE


def digits_that_differ(a: float, b: float) -> tuple[str, str]:
    """Both numbers with at least four decimals, more until what is printed differs, at most 17 digits.

    Differs as a number does: -0.0000 is 0.0000.

    >>> digits_that_differ(1265 / 1816, 0.70), digits_that_differ(0.69999, 0.7), digits_that_differ(0.5, 0.5)
    (('0.6966', '0.7000'), ('0.69999', '0.70000'), ('0.5000', '0.5000'))
    """
    for decimals in range(4, 18) if a != b else (4,):
        texts = f"{a:.{decimals}f}", f"{b:.{decimals}f}"
        if float(texts[0]) != float(texts[1]):
            return texts
    return (f"{a:.17g}", f"{b:.17g}") if a != b else texts
