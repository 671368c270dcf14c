"""Text from data files and models made safe to show: nothing in it may act on the terminal or hide."""

from __future__ import annotations

import unicodedata


def visible(text: str, width: int = 100) -> str:
    """The text on one line: what is not printable as a Python escape, cut at `width` characters with an ellipsis.

    Escaped are control characters (newlines and the escape character among them), bidirectional and zero-width
    format characters, lone surrogates, line and paragraph separators, and code points without a character; and the
    first sign of what a CI server would take for a command to it (`::error` at the beginning, `##[error]` anywhere).
    Spaces of any width and backslashes stay as they are. The cut never splits an escape.

    >>> visible("two\\nlines"), visible("red \\x1b[31m"), visible("\\u202eabc"), visible("A long text", 7)
    ('two\\\\nlines', 'red \\\\x1b[31m', '\\\\u202eabc', 'A long…')
    """
    pieces: list[str] = []
    length = 0
    for index, character in enumerate(text):
        piece = character if _safe(character) else repr(character)[1:-1]
        if character in ":#" and _begins_command(text, index):
            piece = f"\\x{ord(character):02x}"
        pieces.append(piece)
        length += len(piece)
        if length > width:
            break
    else:
        return "".join(pieces)
    while length > width - 1 and pieces:
        length -= len(pieces.pop())
    return "".join(pieces).rstrip() + "…"


def named(name: str, *how: str) -> str:
    """A name with what is known of it in brackets; an API, say, has no dtype to tell.

    >>> named("some/model", "float32", "cpu"), named("openai:m", "", "api")
    ('some/model (float32, cpu)', 'openai:m (api)')
    """
    return f"{visible(name, 200)} ({', '.join(filter(None, how))})"


def size_text(size: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(0), size_text(1023), size_text(1024), size_text(538_089_408), size_text(8 * 2**30)
    ('0 B', '1,023 B', '1.0 KiB', '513.2 MiB', '8.0 GiB')
    """
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size:,} B"


def _begins_command(text: str, index: int) -> bool:
    """Whether a runner of GitHub would read a command here, in either of its forms; it trims the line first."""
    return text.startswith("##[", index) or (text.startswith("::", index) and not text[:index].strip())


def _safe(character: str) -> bool:
    """Printable, or a space of another width (no-break, ideographic), which Python calls not printable."""
    return character.isprintable() or unicodedata.category(character) == "Zs"
