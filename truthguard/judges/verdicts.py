"""The one reader of judges' replies: yes / no / unsure, the same in JSON, grades 1 to 5, and A / B / tie.

Nothing is yes by default, and nothing unread is the lowest grade: a reply that does not end in a verdict of the
agreed form says which kind of reply it is instead. No reader raises, whatever the text, and all take time linear
in it. What they share:

- `finish_reason` is the server's word, brought to the names "length", "content_filter" and "refusal" by the
  caller, who passes "refusal" for a reply with a `refusal` field too. These three hold no verdict, whatever the
  text. Refusals are not guessed from prose: without a verdict such a reply is unparsed. A text of None is
  no_content; one in which nothing is left to read is empty. No reader returns failed: that is a caller's word
  for a request without a reply.
- Reasoning, `<think>...</think>`, is removed first; the first closing tag ends it. Text before a closing tag that
  was never opened is reasoning as well: chat templates may write the opening tag into the prompt. A block left
  open means that there is no verdict.
- Format characters (Unicode Cf: zero-width, bidirectional) are dropped, and for the search so is Markdown
  (``* _ ` ~ # >``), while the explanation keeps it. A full-width colon is a colon, a Unicode line separator ends
  a line, letters of A to Z are compared without case.
- The last marker decides. If nothing readable follows it there is no verdict: no earlier one is taken instead.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import deque
from dataclasses import dataclass
from typing import Literal

from truthguard.judges.json_object import Members, candidates, parse
from truthguard.records import VerdictKind

Unread = Literal["unparsed", "refusal", "length", "content_filter", "no_content", "empty", "failed"]
GradeKind = Literal["grade"] | Unread
PreferenceKind = Literal["a", "b", "tie"] | Unread

_FINISHED_WITHOUT: dict[str, Unread] = {"refusal": "refusal", "content_filter": "content_filter", "length": "length"}

_MARKUP = "*_`~#>"
_PLAIN = str.maketrans(
    string.ascii_uppercase + "：" + "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029",
    string.ascii_lowercase + ":" + "\n" * 9,
    _MARKUP,
)
# With ASCII, no dotless i or Kelvin sign passes for a letter of the tag.
_TAG = re.compile(r"<(/?)think>", re.IGNORECASE | re.ASCII)
# Possessive throughout: hostile text must not make a search go back over what it has passed.
_VERDICT = re.compile(
    r"""
    (?: ^ [^\S\n]*+ (?: (?: [-+•]++ | [0-9]{1,9}[.)] ) [^\S\n]++ )*+        # a line, perhaps an entry of a list
      | (?P<sentence> [.!?…] ["'”’)\]]*+ ) [^\S\n]++
      | (?P<unspaced> [。！？] ["'”’」』）)\]]*+ ) [^\S\n]*+ )
    verdict [^\S\n]*+ :
    """,
    re.VERBOSE | re.MULTILINE,
)
# A hyphen or an apostrophe goes on with the word: "no-one" is no verdict.
_FIRST_WORD = re.compile(r"[^\S\n]*+(yes|no|unsure)(?!\w|['’\-‐‑]\w)")
_ANY_WORD = re.compile(r"(?<!\w)(?:yes|no|unsure)(?!\w)")
_WORD_KINDS: dict[str, VerdictKind] = {"yes": "yes", "no": "no", "unsure": "unsure"}
_JSON_KINDS: dict[str, VerdictKind] = {**_WORD_KINDS, "true": "yes", "false": "no"}

_RESULT = "[result]"
# A full stop before the value stands apart from it: ".4" is a fraction.
_BEFORE = r"(?:[\s:()\[\]{}]|\.(?=\s))*+"
_AFTER = r"[\s:.()\[\]{}]*+"
_GRADE = re.compile(rf"{_BEFORE}([1-5])(?:\s*/\s*5)?{_AFTER}")
_PREFERENCE = re.compile(rf"{_BEFORE}(a|b|tie){_AFTER}")
_PREFERENCE_KINDS: dict[str, PreferenceKind] = {"a": "a", "b": "b", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one reply says of a statement, and why.

    `explanation` is the reply's text before the verdict, all of it where there is none; never any reasoning.
    """

    kind: VerdictKind
    explanation: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade that one reply gives, 1 to 5, and the feedback before it. None, with the kind, when unread."""

    kind: GradeKind
    grade: int | None
    explanation: str


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two responses one reply prefers, and the feedback before it."""

    kind: PreferenceKind
    explanation: str


def read_verdict(text: str | None, finish_reason: str) -> Verdict:
    """The verdict after the last `Verdict:` that begins a line or a sentence.

    What follows on that line must start with the whole word yes, no or unsure and hold no other of them.

    >>> read_verdict("Lima is its **capital**.\\n\\n**Verdict: Yes.**", "stop")
    Verdict(kind='yes', explanation='Lima is its **capital**.')
    >>> read_verdict("Verdict: yes\\nVerdict: yes or no", "stop").kind
    'unparsed'
    >>> read_verdict("Verdict: yes", "length").kind
    'length'
    """
    visible, unread = _visible(text, finish_reason)
    if unread:
        return Verdict(unread, visible.strip())
    plain = visible.translate(_PLAIN)
    last = deque(_VERDICT.finditer(plain), maxlen=1)
    if not last:
        return Verdict("unparsed", visible.strip())
    marker = last[0]
    line = plain[marker.end() :].partition("\n")[0]
    word = _FIRST_WORD.match(line)
    if word is None or any(other != word[1] for other in _ANY_WORD.findall(line)):
        return Verdict("unparsed", visible.strip())
    before = max(marker.start(), marker.end("sentence"), marker.end("unspaced"))
    return Verdict(_WORD_KINDS[word[1]], _explanation(visible, plain[:before]))


def read_json_verdict(text: str | None, finish_reason: str) -> Verdict:
    """The value of "verdict" in the JSON object that the reply is, or that is the last complete one in it.

    Parsed strictly: the whole reply, else its last complete top-level object (which leaves a code fence
    outside), only then that object with trailing commas removed; strings are never touched. Keys and values are
    trimmed and lower-cased: yes, no, unsure, true, false, and the two booleans. Anything else, a repeated key
    with different values included, is unparsed. The explanation is the value of "explanation", or else the text
    before the object.

    >>> read_json_verdict('Here it is: {"explanation": "It is.", "Verdict": " YES ",}', "stop")
    Verdict(kind='yes', explanation='It is.')
    >>> read_json_verdict('{"verdict": null}', "stop").kind
    'unparsed'
    """
    visible, unread = _visible(text, finish_reason)
    # A reply that is JSON as it stands has its tags, if any, inside strings.
    whole = [(text, "")] if text and finish_reason not in _FINISHED_WITHOUT else []
    for candidate, before in [*whole, *([] if unread else candidates(visible))]:
        try:
            found = parse(candidate)
        except ValueError:
            continue
        kind = _json_kind(found)
        if kind == "unparsed":
            break
        return Verdict(kind, _json_explanation(found) or before.strip())
    return Verdict(unread or "unparsed", visible.strip())


def read_grade(text: str | None, finish_reason: str) -> Grade:
    """The grade, 1 to 5, after the last `[RESULT]`.

    `4` and `4/5`, with bold, brackets, colon or full stop around it, alone on its line; prose may follow on later
    lines. Another number, scale or word is unparsed, and so is a grade without the marker ("Score: 4").

    >>> read_grade("Clear and complete.\\n**[RESULT] 4/5**", "stop")
    Grade(kind='grade', grade=4, explanation='Clear and complete.')
    >>> [read_grade(f"[RESULT] {grade}", "stop").grade for grade in ("0", "6", "-3", "10", "4.5", "4/10", "3 or 4")]
    [None, None, None, None, None, None, None]
    """
    visible, unread = _visible(text, finish_reason)
    value, explanation = ("", visible.strip()) if unread else _result(visible, _GRADE)
    if not value:
        return Grade(unread or "unparsed", None, explanation)
    return Grade("grade", int(value), explanation)


def read_choice(text: str | None, finish_reason: str, allow_tie: bool = True) -> Preference:
    """The response preferred, A, B or tie, after the last `[RESULT]`.

    Any case; around it may stand what may stand around a grade. With `allow_tie` false, for prompts that offer A
    and B only, a tie is unparsed.

    >>> read_choice("Both are right, B says why. [RESULT] B", "stop")
    Preference(kind='b', explanation='Both are right, B says why.')
    >>> read_choice("[RESULT] A and B", "stop").kind, read_choice("[RESULT] tie", "stop", allow_tie=False).kind
    ('unparsed', 'unparsed')
    """
    visible, unread = _visible(text, finish_reason)
    value, explanation = ("", visible.strip()) if unread else _result(visible, _PREFERENCE)
    if not value:
        return Preference(unread or "unparsed", explanation)
    if value == "tie" and not allow_tie:
        return Preference("unparsed", visible.strip())
    return Preference(_PREFERENCE_KINDS[value], explanation)


def _visible(text: str | None, finish_reason: str) -> tuple[str, Unread | None]:
    """The reply without reasoning and format characters, and why it holds no verdict; None when it may."""
    visible, complete = _without_reasoning(_without_format(text or ""))
    if finish_reason in _FINISHED_WITHOUT:
        return visible, _FINISHED_WITHOUT[finish_reason]
    if text is None:
        return visible, "no_content"
    if not complete:
        return visible, "unparsed"
    return visible, None if visible.strip() else "empty"


def _without_format(text: str) -> str:
    if text.isascii():
        return text
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


def _without_reasoning(text: str) -> tuple[str, bool]:
    """The text outside of reasoning blocks, and whether every block was closed."""
    kept: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(text):
        closing = bool(tag[1])
        if closing:
            if not inside:
                kept.clear()
            start = tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
        inside = not closing
    if not inside:
        kept.append(text[start:])
    return "".join(kept), not inside


def _result(visible: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """What the first line after the last marker gives as a whole, and the explanation; "" when unread."""
    plain = visible.translate(_PLAIN)
    at = plain.rfind(_RESULT)
    if at >= 0:
        line = plain[at + len(_RESULT) :].lstrip().partition("\n")[0]
        if value := pattern.fullmatch(line):
            return value[1], _explanation(visible, plain[:at])
    return "", visible.strip()


def _explanation(visible: str, plain: str) -> str:
    """The part of the reply, Markdown included, that without Markdown begins with the words of `plain`."""
    left = len(plain.rstrip())
    if not left:
        return ""
    end = 0
    for index, char in enumerate(visible):
        # Marks right after the last word close it; those before the marker stand apart and belong to it.
        if char not in _MARKUP:
            if not left:
                break
            left -= 1
        end = index + 1
    return visible[:end].strip()


def _json_kind(found: object) -> VerdictKind:
    """The kind that all values of "verdict" in an object agree on; unparsed where there is none."""
    if not isinstance(found, Members):
        return "unparsed"
    kinds = {_value_kind(value) for key, value in found if _bare(key) == "verdict"}
    return kinds.pop() if len(kinds) == 1 else "unparsed"


def _value_kind(value: object) -> VerdictKind:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _JSON_KINDS.get(_bare(value), "unparsed") if isinstance(value, str) else "unparsed"


def _json_explanation(found: object) -> str:
    members = found if isinstance(found, Members) else ()
    texts = [value for key, value in members if _bare(key) == "explanation" and isinstance(value, str)]
    return _without_format(texts[-1]).strip() if texts else ""


def _bare(text: str) -> str:
    return _without_format(text).strip().lower()
