"""Filling a prompt's template verbatim, and delimiters that the text between them cannot contain.

A template is plain text with placeholders: `{name}`, a lower-case identifier in braces. Every other brace is the
template's own, and what is inserted is never looked at again, so braces, backslashes and percent signs survive
on both sides without escapes.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

from truthguard.errors import nearest

_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}", re.ASCII)
# Long enough that nobody meets the number by chance: a text that holds its own takes some 10**12 tries to find.
_SHORTEST = 12


def check_placeholders(template: str, expected: Iterable[str]) -> None:
    """ValueError unless the placeholders of the template are exactly the expected names, each at least once."""
    found, wanted = set(_PLACEHOLDER.findall(template)), set(expected)
    mistakes = [f"unknown placeholder {{{name}}}{nearest(name, wanted)}" for name in sorted(found - wanted)]
    mistakes += [f"placeholder {{{name}}} is missing" for name in sorted(wanted - found)]
    if mistakes:
        raise ValueError(f"template {template[:40]!r}: {', '.join(mistakes)}")


def fill(template: str, /, **values: str) -> str:
    """The template with each placeholder replaced by its value, in one pass; nothing is replaced in the values.

    >>> fill('{question} Reply as {"verdict": "yes"}', question="What is {answer}?")
    'What is {answer}? Reply as {"verdict": "yes"}'

    Raises ValueError for a placeholder without a value and a value without a placeholder.
    """
    check_placeholders(template, values)
    return _PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], template)


def fence(*texts: str, tag: str = "text") -> tuple[str, str]:
    """An opening and a closing delimiter that occur in none of the texts: a tag with a number.

    The number is a function of the texts alone, so that equal prompts stay equal. Whoever writes a text cannot
    plant the delimiter in it: the number changes with every character, and is lengthened until it occurs in no
    text, not even written with zero-width characters or full-width digits.

    >>> fence("Lima is in Peru.")
    ('<text-408241330793>', '</text-408241330793>')
    """
    number = _unused_number(_digits(texts), texts)
    return f"<{tag}-{number}>", f"</{tag}-{number}>"


def fenced(**texts: str) -> dict[str, str]:
    """Each text on lines of its own between delimiters that carry its name, and one number for all of them.

    >>> print(fenced(answer="Lima.")["answer"])
    <answer-660050445084>
    Lima.
    </answer-660050445084>
    """
    blocks = {}
    for name, text in texts.items():
        opening, closing = fence(*texts.values(), tag=name)
        blocks[name] = f"{opening}\n{text}\n{closing}"
    return blocks


def _digits(texts: tuple[str, ...]) -> Iterator[str]:
    """Endless digits that depend on all the texts."""
    # JSON in ASCII tells ("ab", "c") from ("a", "bc") and takes lone surrogates.
    digest = hashlib.sha256(json.dumps(texts).encode("ascii"))
    while True:
        yield from str(int(digest.hexdigest(), 16))
        digest.update(b"\n")


def _unused_number(digits: Iterator[str], texts: Iterable[str]) -> str:
    """The shortest beginning of the digits, of at least 12, that occurs in none of the texts."""
    forms = [form for text in texts for form in (text, _as_read(text))]
    number = "".join(islice(digits, _SHORTEST))
    while any(number in form for form in forms):
        number += next(digits)
    return number


def _as_read(text: str) -> str:
    """The text without format characters and with compatibility forms made plain, as a reader may take it."""
    if text.isascii():
        return text
    kept = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", kept)
