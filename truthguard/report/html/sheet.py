"""A small matplotlib figure as inline SVG whose colours and fonts are the page's own.

matplotlib lays out and writes; its SVG is then parsed and rewritten: colours become classes that the page's style
sheet fills in for light and dark, style attributes become presentation attributes (the page allows no inline styles),
and words that come from a record take the place of plain marks, so that no letter in them is read as mathematics, is
missing from a font, or is markup.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Role = Literal["ink", "muted", "rule", "good", "bad", "before", "paper"]
# matplotlib needs colours to write: each stands for a role and never reaches the page.
_COLOURS: dict[Role, str] = {
    "ink": "#010101",
    "muted": "#020202",
    "rule": "#030303",
    "good": "#040404",
    "bad": "#050505",
    "before": "#060606",
    "paper": "#070707",
}
_ROLES = {colour: role for role, colour in _COLOURS.items()}
# What a style may become; everything else that matplotlib writes is the browser's default, or the page's.
_KEPT = frozenset(
    ["stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "opacity", "fill-opacity"]
    + ["stroke-opacity", "text-anchor", "font-size"]
)
_HREF = "{http://www.w3.org/1999/xlink}href"
WIDTH = 344
TEXT = 11.0
# Points and pixels are the same in matplotlib's SVG.
_PER_INCH = 72


@contextmanager
def house_style() -> Iterator[None]:
    """matplotlib as it comes, whatever a user's own settings are, writing the same bytes every time."""
    import matplotlib.style

    ours: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "truthguard", "font.size": TEXT}
    ours |= {"axes.unicode_minus": True, "text.usetex": False, "path.simplify": False}
    # The marks are laid out for nothing, in whatever font there is.
    with warnings.catch_warnings(), matplotlib.style.context(["default", ours]):
        warnings.simplefilter("ignore")
        yield


class Sheet:
    """One chart, in pixels from the upper left corner; `name` sets its ids apart from those of the page's others."""

    def __init__(self, name: str, height: float, width: float = WIDTH) -> None:
        from matplotlib.figure import Figure

        self._name = name
        self._size = width, height
        self._figure = Figure(figsize=(width / _PER_INCH, height / _PER_INCH), frameon=False)
        self._words: list[str] = []

    def axes(self, box: tuple[float, float, float, float], x: tuple[float, float], y: tuple[float, float]) -> Axes:
        """Axes without a frame in a box (left, top, width, height), from x[0] to x[1] and from y[0] to y[1]."""
        left, top, width, height = box
        across, down = self._size
        made = self._figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
        made.set_xlim(*x)
        made.set_ylim(*y)
        made.set_axis_off()
        return made

    def words(
        self,
        axes: Axes,
        at: tuple[float, float],
        text: str,
        role: Role = "ink",
        *,
        size: float = TEXT,
        align: Literal["left", "center", "right"] = "left",
        offset: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Text at a point of the axes, moved by an offset in pixels."""
        mark = f"w{len(self._words)}"
        self._words.append(text)
        axes.annotate(
            mark,
            at,
            offset,
            textcoords="offset points",
            ha=align,
            va="center_baseline",
            color=_COLOURS[role],
            fontsize=size,
            annotation_clip=False,
        )

    def svg(self, label: str) -> str:
        """The chart as markup; `label` says in words what it shows."""
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        written = io.BytesIO()
        canvas: Any = FigureCanvasSVG(self._figure)
        canvas.print_svg(written, metadata={"Date": None, "Creator": None})
        root = ElementTree.fromstring(written.getvalue())
        marks = {f"w{number}": words for number, words in enumerate(self._words)}
        return _inline(root, self._name, label, marks)


def dots(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    fill: Role,
    *,
    size: float,
    edge: Role = "paper",
    edge_width: float = 0.0,
    shape: str = "o",
    alpha: float = 1.0,
) -> None:
    """A mark of a size in pixels at each point."""
    across, up = zip(*points, strict=True)
    axes.plot(
        across,
        up,
        marker=shape,
        markersize=size,
        markerfacecolor=colour(fill),
        markeredgecolor=colour(edge),
        markeredgewidth=edge_width,
        alpha=alpha,
        linestyle="none",
        clip_on=False,
    )


def colour(role: Role) -> str:
    """The colour by which matplotlib is told a role."""
    return _COLOURS[role]


def _inline(root: ElementTree.Element, name: str, label: str, words: dict[str, str]) -> str:
    _without(root, ("metadata", "style"))
    targets = _targets(root, name)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = dict(element.attrib)
        element.attrib.clear()
        for key, value in attributes.items():
            if key == "style":
                _restyle(element, value)
            elif key == "id":
                if value in targets:
                    element.set("id", targets[value])
            elif key == _HREF:
                element.set("href", f"#{targets[value[1:]]}")
            elif key == "clip-path":
                element.set(key, f"url(#{targets[_local(value)]})")
            elif key == "d":
                element.set(key, " ".join(value.split()))
            elif key != "transform" or not value.startswith("rotate(-0 "):
                element.set(key, value)
        if element.tag == "text" and element.text in words:
            element.text = words[element.text]
        elif element.text is not None and not element.text.strip():
            element.text = None
        element.tail = None
    _unwrap(root)
    view = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "class": "chart", "role": "img", "aria-label": label})
    return ElementTree.tostring(root, encoding="unicode")


def _without(root: ElementTree.Element, tags: Sequence[str]) -> None:
    """Who made the picture, and styles that a strict page refuses."""
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag.rpartition("}")[2] in tags]:
            parent.remove(child)


def _targets(root: ElementTree.Element, name: str) -> dict[str, str]:
    """A new id for each that is referred to: the page holds many charts."""
    used = [value[1:] for element in root.iter() if (value := element.get(_HREF))]
    used += [_local(value) for element in root.iter() if (value := element.get("clip-path"))]
    return {each: f"{name}-{place}" for place, each in enumerate(dict.fromkeys(used))}


def _local(reference: str) -> str:
    """The id in url(#id)."""
    return reference.removeprefix("url(#").removesuffix(")")


def _restyle(element: ElementTree.Element, style: str) -> None:
    classes = []
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key in ("fill", "stroke"):
            if value in _ROLES:
                classes.append(f"{key}-{_ROLES[value]}")
            elif value == "none":
                element.set(key, value)
        elif key == "font":
            element.set("font-size", next(word for word in value.split() if word.endswith("px")))
        elif key in _KEPT:
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))


def _unwrap(root: ElementTree.Element) -> None:
    """Groups that say nothing are left out: a page of 40 charts has thousands."""
    for parent in list(root.iter()):
        kept: list[ElementTree.Element] = []
        pending = list(parent)
        while pending:
            child = pending.pop(0)
            if child.tag in ("g", "defs") and not child.attrib and (child.tag == "g" or not len(child)):
                pending[:0] = list(child)
            else:
                kept.append(child)
        parent[:] = kept
