"""Texts that act on a page, hide in it or break it, where nobody is careful."""

from __future__ import annotations

HOSTILE = (
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    "</template></style><img src=x onerror='window.owned = 3'>",
    '" onmouseover="window.owned = 4" x=\'',
    "<svg onload=window.owned=5>]]>--><!--",
    "{{ 7 * 7 }} {% raw %} ${window.owned = 6}",
    "$\\frac{1}{2}$ &lt;b&gt; &#x3c;",
    "::error file=x::owned\n::set-output name=a::b",
    "a\x00b\x07c\x1b[31md\x7fe\r\nf\x85g\u2028h",
    "\u202e\u2066\u200b\u200f\ufeffsdrawkcab",
    "\ud800 lone \udfff",
    "w" * 400,
    "\u0627\u0644\u0633\u0645\u0627\u0621 zalgo\u0301\u0301\u0301\u0301 \U0001f600",
    "javascript:window.owned=7",
)
INVISIBLE = "\x00\x07\x1b\x7f\x85\u2028\u202e\u2066\u200b\u200f\ufeff\ud800\udfff"


def hostile(text: str) -> str:
    """The text with one of these behind it, the same one always; no text stays none."""
    return text and f"{text}; {HOSTILE[sum(map(ord, text)) % len(HOSTILE)]}"


def harmless(text: str) -> str:
    """The text with as much behind it that is nothing but words."""
    return text and f"{text}; and nothing else"
