"""README.md as its readers see it: the blocks of code below each heading, and those of each recipe by its name."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

PATH = Path(__file__).parent.parent / "README.md"


class Block(NamedTuple):
    """A fenced block: the heading above it, the bold name that begins the last paragraph with one, what it holds.

    `line` is the line of the README on which the block's own first line stands.
    """

    heading: str
    recipe: str | None
    language: str
    text: str
    line: int


def text() -> str:
    return PATH.read_text(encoding="utf-8")


def blocks(language: str | None = None) -> list[Block]:
    """All blocks of the README, or those in one language, in order."""
    found: list[Block] = []
    heading, recipe = "", None
    tokens = MarkdownIt("commonmark").parse(text())
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open":
            heading, recipe = token.content, None
        elif before is not None and before.type == "paragraph_open":
            recipe = _bold(token) or recipe
        elif token.type == "fence" and token.map is not None:
            found.append(Block(heading, recipe, token.info, token.content, token.map[0] + 2))
    return [block for block in found if language in (None, block.language)]


def recipe(name: str, language: str) -> list[Block]:
    """The blocks of one recipe in one language; a README without any has lost the recipe."""
    found = [block for block in blocks(language) if block.heading == "Recipes" and block.recipe == name]
    assert found, f"README.md has no recipe {name!r} with a block of {language}"
    return found


def commands(block: Block) -> list[str]:
    """The lines of a shell's block without their comments."""
    lines = (line.partition("  #")[0].strip() for line in block.text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _bold(token: Token) -> str | None:
    """The name with which a paragraph begins in bold type."""
    children = token.children or []
    # An empty text stands before what begins with a mark.
    children = [child for child in children if child.type != "text" or child.content]
    return children[1].content if children and children[0].type == "strong_open" else None
