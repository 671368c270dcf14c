"""Text from data files and models made inert in Markdown: it is read as it stands and acts on nothing."""

from __future__ import annotations

import re

from truthguard.text import visible


def code(text: str, width: int = 100) -> str:
    """The text as a code span, in which nothing is markup, HTML, a link, a mention or a reference.

    What is not printable is escaped and the whole is cut at `width`, as `text.visible` does it. A pipe would end the
    cell of a table even here and is shown as a broken bar; no text is a dash. Never at the start of a line: there a
    long fence would open a block of code.

    >>> code("a <b> @c #1"), code("a|b`c"), code("`"), code("")
    ('`a <b> @c #1`', '``a¦b`c``', '`` ` ``', '–')
    """
    shown = visible(text, width).replace("|", "¦")
    if not shown:
        return "–"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    # CommonMark takes one space from either end, unless the span is nothing but spaces.
    stripped = shown[0] == shown[-1] == " " and shown.strip(" ") != ""
    pad = " " if stripped or shown[0] == "`" or shown[-1] == "`" else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
