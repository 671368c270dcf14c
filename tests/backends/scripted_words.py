"""A scripted server's language model: a token is a word with the space before it; what it writes is "w0 w1 w2 ..."."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.backends.scripted_server import Answer, Asked, Script, refusal

_WORD = re.compile(r" ?[^ ]+| +")

Change = Callable[[list[str], list[float | None]], tuple[list[str], list[float | None]]]
Split = Callable[[str], list[str]]


def tokenize(text: str) -> list[str]:
    return _WORD.findall(text)


def numbers(tokens: Sequence[str]) -> list[float | None]:
    """A log-probability for each token that depends on the token and on the one before it; None for the first."""
    return [
        None if index == 0 else -((sum(map(ord, tokens[index - 1] + token)) % 97) / 10 + 0.1)
        for index, token in enumerate(tokens)
    ]


def log_likelihood(context: Sequence[str], continuation: Sequence[str]) -> float:
    tokens = [*context, *continuation]
    return sum(value for value in numbers(tokens)[len(context) :] if value is not None)


def legacy(tokens: Sequence[str], values: Sequence[float | None]) -> dict[str, Any]:
    return {"tokens": list(tokens), "token_logprobs": list(values), "top_logprobs": None, "text_offset": []}


def completion(text: str, logprobs: object, prompt: int, written: int, **choice: object) -> Answer:
    body = {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "length"} | choice
    return Answer({"choices": [body], "usage": {"prompt_tokens": prompt, "completion_tokens": written}})


def complete(
    asked: Asked,
    *,
    echo: Change | Answer | None = lambda tokens, values: (tokens, values),
    prompt_logprobs: bool = False,
    split: Split = tokenize,
) -> Answer:
    """A server with a completions endpoint. `echo` None: ignored; an answer: refused; else how its numbers look."""
    if asked.path != "/v1/completions":
        return refusal("Not Found", status=404)
    prompt = asked.body["prompt"]
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], list):
        return together(asked, lambda one: complete(one, echo=echo, prompt_logprobs=prompt_logprobs, split=split))
    given = split(prompt) if isinstance(prompt, str) else [VOCABULARY.words[token] for token in prompt]
    written = [f" w{index}" for index in range(asked.body["max_tokens"])]
    tokens = given + written
    values = numbers(tokens)
    own = legacy(written, values[len(given) :])
    if asked.body.get("echo"):
        if isinstance(echo, Answer):
            return echo
        if echo is not None:
            return completion("".join(given), legacy(*echo(tokens, values)), len(given), len(written))
    if "prompt_logprobs" in asked.body and prompt_logprobs:
        told = [
            None if value is None else {str(index): {"logprob": value, "rank": 1, "decoded_token": token}}
            for index, (token, value) in enumerate(zip(given, values, strict=False))
        ]
        return completion("".join(written), None, len(given), len(written), prompt_logprobs=told)
    return completion("".join(written), own if "logprobs" in asked.body else None, len(given), len(written))


def together(asked: Asked, answer: Script) -> Answer:
    """One reply to several prompts, as vLLM sends it: a choice for each with its index, and one usage for all."""
    answers = [answer(replace(asked, body=asked.body | {"prompt": prompt})) for prompt in asked.body["prompt"]]
    if (failed := next((each for each in answers if each.status != 200), None)) is not None:
        return failed
    bodies: list[Any] = [each.body for each in answers]
    choices = [body["choices"][0] | {"index": index} for index, body in enumerate(bodies)]
    usage = {name: sum(body["usage"][name] for body in bodies) for name in ("prompt_tokens", "completion_tokens")}
    return Answer({"choices": choices, "usage": usage})


class Vocabulary:
    """Gives each word an id when it is first seen; 0 begins a sequence."""

    def __init__(self) -> None:
        self.words = ["<s>"]

    def ids(self, words: Sequence[str]) -> list[int]:
        self.words += [word for word in dict.fromkeys(words) if word not in self.words]
        return [self.words.index(word) for word in words]


VOCABULARY = Vocabulary()


def recorded(ids: Sequence[object], *, window: int | None = 2048, **other: object) -> Answer:
    """A reply of /tokenize as vLLM 0.32 sends it."""
    return Answer({"count": len(ids), "max_model_len": window, "tokens": list(ids), "token_strs": None} | other)


def with_tokenizer(asked: Asked, *, bos: bool = False, split: Split = tokenize, window: int | None = 2048) -> Answer:
    """A server as vLLM: it completes, and shows its tokenizer, which may begin texts with <s>."""

    def begun(text: str) -> list[str]:
        return ["<s>"] * bos + split(text)

    if asked.path == "/tokenize":
        text = asked.body["prompt"]
        return recorded(VOCABULARY.ids(begun(text) if asked.body["add_special_tokens"] else split(text)), window=window)
    prompt = asked.body["prompt"]
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], list):
        return together(asked, lambda one: with_tokenizer(one, bos=bos, split=split, window=window))
    if window is not None and len(split(prompt) if isinstance(prompt, str) else prompt) >= window:
        return refusal(f"This model's maximum context length is {window} tokens", param="prompt")
    return complete(asked, split=begun)
