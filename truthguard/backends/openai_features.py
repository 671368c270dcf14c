"""What a server can do, learnt from what it refuses, once per model and endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from truthguard.backends.openai_failures import Failure, Refused
from truthguard.records import Missing

CHAT = "/chat/completions"
COMPLETIONS = "/completions"

Body = Mapping[str, Any]

# What a request can do without, and what it then means.
_DROPPED = {
    "seed": "samples are drawn without one",
    "temperature": "the server's own is used",
    "top_p": "the server's own is used",
    "stop": "texts are cut here",
    "n": "each sample is asked for singly",
    "stream": "it is left out",
}
# Without these there is no request, and what is wrong with one prompt tells nothing of the next.
_NEEDED = ("model", "prompt", "messages")
# How servers say that a parameter is refused, and not only that one of its values or a text is bad.
_REFUSAL = re.compile(
    r"unsupported|unknown|unrecogni[sz]ed|invalid (parameter|argument|field)|extra inputs?"
    r"|unexpected (keyword )?(field|parameter|argument|input|key)s?\b"
    r"|(not|n't) (yet |currently )?(support(ed)?|allowed|permitted|available|implemented)"
    r"|\bonly\b.* (supported|allowed)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;]\s+|\n")
_RENAMED = {"max_tokens": "max_completion_tokens"}
# How many tokens' log-probabilities are asked for: as many as the server gives. llama.cpp has no limit, OpenAI and
# vLLM give 20, the old completions endpoint 5.
_LADDER = (1000, 20, 5)
_LISTS = {CHAT: "top_logprobs", COMPLETIONS: "logprobs"}
_LIST_NAMES = ("top_logprobs", "logprobs")
# A server that gives no log-probabilities gives none the first time; a single reply without them is that reply's own.
_ENOUGH = 3
_ENDING = re.compile(r"deprecat|shut_?down|sunset|retire|expir|end_of_life", re.IGNORECASE)


class Features:
    """What was learnt of one model at one server. `fit` shapes a request by it, `learn` adds to it."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._refused: dict[tuple[str, str], str] = {}
        self._step: dict[str, int] = {}
        self._shown: set[str] = set()
        self._nulls: dict[str, int] = {}
        self._notes: dict[str, str] = {}
        # The model, where the models list lacks it.
        self._unlisted: str | None = None
        # Whose software serves, by the models list, and which endpoint takes text prompts for next-token probabilities.
        self.owner = ""
        self.text_path: str | None = None
        # How log-likelihoods are asked for, once proven, or why they cannot be.
        self.scoring: str | None = None
        self.scoring_refusal: str | None = None
        # Whether their prompts go as token ids, and several of them in one call.
        self.by_ids = False
        self.together = False

    def fit(self, path: str, body: Body) -> dict[str, Any]:
        """The body as this server takes it. Raises Refused where what it refuses is what the request is about."""
        if (why := self._refused.get((path, ""))) is not None:
            raise Refused(Missing("no_endpoint", f"POST {self.place(path)}: {why}"))
        fitted = {}
        for name, value in body.items():
            refusal = self._refused.get((path, name))
            if refusal is None:
                fitted[name] = min(value, self._longest(path)) if self._is_list(path, name) else value
            elif name in _RENAMED and (path, _RENAMED[name]) not in self._refused:
                fitted[_RENAMED[name]] = value
            elif name not in _DROPPED:
                raise Refused(self.no_parameter(path, name, refusal))
        return fitted

    def learn(self, path: str, body: Body, failure: Failure) -> bool:
        """Whether a failure tells of something that this server refuses and that was not known before."""
        if failure.reason != "status" or failure.too_long or failure.filtered:
            return False
        if path != CHAT and failure.status in (404, 405, 501):
            return self.refuse(path, "", f"the server has no such endpoint for this model ({failure})")
        if failure.status not in (400, 422):
            return False
        by_param = _by_param(failure, body)
        mentioned = by_param or _first_mentioned(failure.message, body)
        if mentioned in _LIST_NAMES and _LISTS.get(path) in body and self._step_down(path, body):
            return True
        name = by_param or _refused_in_words(failure.message, body)
        if name is None and mentioned == "n":
            name = mentioned  # too many at once for this server: any number of them can be asked for singly
        if name is None or name in _NEEDED or not self.refuse(path, name, f"refused ({failure})"):
            return False
        self._tell_refusal(path, name)
        return True

    def refuse(self, path: str, name: str, why: str) -> bool:
        """Keep that the endpoint (name "") or a parameter is not to be had; whether that is new."""
        if (path, name) in self._refused:
            return False
        self._refused[path, name] = why
        return True

    def refuses(self, path: str, name: str) -> bool:
        return (path, name) in self._refused

    def place(self, path: str) -> str:
        """The address of a path, which may be an absolute URL."""
        return path if "://" in path else self._base_url + path

    def no_parameter(self, path: str, name: str, why: str) -> Missing:
        """The reason of a request that is about a parameter which the server does not honour."""
        kind = "no_logprobs" if name in _LIST_NAMES else "refused_parameter"
        return Missing(kind, f"POST {self.place(path)}: {name} {why}")

    def ignores_n(self) -> None:
        if self.refuse(CHAT, "n", "ignored"):
            self.note("n", f"n ignored: {_DROPPED['n']}")

    def sees_logprobs(self, path: str) -> None:
        self._shown.add(path)

    def lacks_logprobs(self, path: str, asked: str) -> Missing:
        """The reason of a reply whose log-probabilities are null. After a few, and none with any, no more is sent."""
        why = f"ignored: the reply's logprobs are null although {asked} was sent"
        self._nulls[path] = self._nulls.get(path, 0) + 1
        if path not in self._shown and self._nulls[path] >= _ENOUGH:
            self.refuse(path, "logprobs", f"{why} ({_ENOUGH} times; not sent again)")
            self.note("logprobs" + path, f"logprobs ignored at {path}")
        return self.no_parameter(path, "logprobs", why)

    def list_length(self) -> int:
        """How many tokens' log-probabilities to ask for at first."""
        return _LADDER[0]

    def read_models(self, listing: Any, model: str) -> None:
        """Learn from the server's list of models: whose server it is, whether it has the model, and for how long."""
        entries = [entry for entry in _entries(listing) if isinstance(entry, dict)]
        names = [str(entry.get("id")) for entry in entries]
        ours = next((entry for entry in entries if entry.get("id") == model), None)
        if ours is None:
            if names:
                self._unlisted = model
                shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
                self.note("models", f"warning: the models list has no {model!r} (it has {shown}); another may answer")
            return
        self.owner = str(ours.get("owned_by") or "")
        for key, value in _flat(ours):
            if _ENDING.search(key) and value not in (None, False, "", 0):
                self.note(f"models {key}", f"warning: the models list gives {model!r} {key} = {_moment(value)}")

    def unknown_model(self, failure: Failure) -> bool:
        """Whether a refusal is about the model: its words name it, and the models list lacks it."""
        if self._unlisted is None or failure.status not in (400, 404) or failure.too_long or failure.filtered:
            return False
        # LiteLLM ends every error with the model's group, whatever the error is about.
        named = rf"(?<!model group ')(?<![\w./-]){re.escape(self._unlisted)}(?![\w/-])"
        return re.search(named, failure.message) is not None

    def note(self, key: str, text: str) -> None:
        self._notes.setdefault(key, text)

    def notes(self) -> tuple[str, ...]:
        """What is to be known about this server, each in one phrase."""
        return tuple(text for _, text in sorted(self._notes.items()))

    def _tell_refusal(self, path: str, name: str) -> None:
        if name in _RENAMED:
            self.note(name, f"{name} refused: {_RENAMED[name]} is sent")
        elif name in _DROPPED:
            self.note(name, f"{name} refused: {_DROPPED[name]}")
        else:
            if name in _LIST_NAMES:
                # No length was the reason.
                self._notes.pop("list" + path, None)
            self.note(name + path, f"{name} refused at {path}")

    def _is_list(self, path: str, name: str) -> bool:
        return _LISTS.get(path) == name

    def _longest(self, path: str) -> int:
        return _LADDER[self._step.get(path, 0)]

    def _step_down(self, path: str, body: Body) -> bool:
        """Ask for fewer tokens. A request that asked for no more than the fewest is refused for another reason."""
        step = self._step.get(path, 0) + 1
        while step < len(_LADDER) and _LADDER[step] >= body[_LISTS[path]]:
            step += 1
        if step >= len(_LADDER):
            return False
        self._step[path] = step
        self._notes["list" + path] = f"{_LISTS[path]} at most {_LADDER[step]} at {path}"
        return True


def _by_param(failure: Failure, body: Body) -> str | None:
    """The parameter of the request that the error's own field names."""
    if failure.param is None:
        return None
    name = re.split(r"[.\[]", failure.param.removeprefix("body."))[0]
    return name if name in body else None


def _refused_in_words(message: str, body: Body) -> str | None:
    """The parameter that a sentence of the message calls refused; advice in another sentence is not about that."""
    refusals = (sentence for sentence in _SENTENCE_END.split(message) if _REFUSAL.search(sentence))
    return next((name for sentence in refusals if (name := _first_mentioned(sentence, body))), None)


def _first_mentioned(text: str, body: Body) -> str | None:
    """The first parameter in a text of those that can be refused: nearly every message has the word model."""
    names = [name for name in body if name not in _NEEDED]
    places = [(match.start(), name) for name in names if (match := _mention(name).search(text))]
    return min(places)[1] if places else None


def _mention(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    if len(name) > 1:
        return re.compile(rf"(?<![\w-]){word}(?![\w-])")
    # A single letter is a parameter only where it is quoted or compared.
    return re.compile(rf"['\"`]{word}['\"`]|\b{word}\s*(?:[<>=]|must|should|cannot|is )|(?:parameter|field):? {word}\b")


def _entries(listing: Any) -> list[Any]:
    data = listing.get("data") if isinstance(listing, dict) else listing
    return data if isinstance(data, list) else []


def _flat(entry: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in entry.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def _moment(value: Any) -> str:
    """A date in the model list: as text, or as seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 1e9 < value < 1e11:
        return date.isoformat(datetime.fromtimestamp(value, UTC).date())
    return str(value)
