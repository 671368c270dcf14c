"""Log-likelihoods by token ids: where the server shows its tokenizer, and that fits what it makes of texts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.openai_clients import HASTY, asking, kinds
from tests.backends.scripted_server import Answer, Asked, ScriptedServer, refusal, serving
from tests.backends.scripted_words import (
    VOCABULARY,
    complete,
    log_likelihood,
    recorded,
    tokenize,
    with_tokenizer,
)
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.openai_failures import Unanswered
from truthguard.backends.openai_tokenizer import ServerTokenizer
from truthguard.backends.protocol import ContinuationScore, Reply, Score, Scores, Turn
from truthguard.backends.tokens import Encoder
from truthguard.records import ModelSettings

MODELS = {"data": [{"id": "m", "owned_by": "vllm"}]}
SCORE = Score("Q: what\nA:", (" this one", " that"))


def by_text(server: ScriptedServer) -> closing[OpenAIBackend]:
    settings = ModelSettings(f"{server.url}#m")
    return closing(OpenAIBackend(settings, api_identity(settings), patience=HASTY, by_ids=False))


def scores(reply: Reply) -> tuple[ContinuationScore, ...]:
    assert isinstance(reply.value, Scores), reply.missing
    return reply.value.continuations


def prompts(server: ScriptedServer) -> list[str]:
    """What was sent to be completed since the probe; ids as words, each prompt of a call by itself."""
    found = [
        each for post in server.posts if post.path == "/v1/completions" for each in each_prompt(post.body["prompt"])
    ]
    probe = max(index for index, prompt in enumerate(found) if " w0" in as_text(prompt))
    return [as_text(prompt) for prompt in found[probe + 1 :]]


def each_prompt(prompt: Any) -> list[Any]:
    return prompt if isinstance(prompt, list) and isinstance(prompt[0], list) else [prompt]


def as_text(prompt: str | list[int]) -> str:
    return prompt if isinstance(prompt, str) else "".join(VOCABULARY.words[token] for token in prompt)


def forms(server: ScriptedServer) -> set[type]:
    """In which forms prompts of the request, not of the probe, were sent."""
    return {
        type(prompt)
        for post in server.posts
        if post.path == "/v1/completions"
        for prompt in each_prompt(post.body["prompt"])
        if "Q:" in as_text(prompt)
    }


def test_a_server_that_shows_its_tokenizer_is_sent_token_ids() -> None:
    """/tokenize stands beside /v1; the context alone costs no completion; the facts tell the way."""
    with serving(with_tokenizer, MODELS) as server, asking(server) as backend:
        (reply,) = backend.answer([SCORE])
        facts = backend.facts()
        assert forms(server) == {list}
        assert sorted(prompts(server)) == ["Q: what\nA: that", "Q: what\nA: this one"]
    context = tokenize(str(SCORE.context))
    for score, continuation in zip(scores(reply), SCORE.continuations, strict=True):
        assert score.log_likelihood == pytest.approx(log_likelihood(context, tokenize(continuation)))
        assert (score.tokens, score.merged, score.truncated) == (len(tokenize(continuation)), False, False)
    assert facts is not None
    assert (facts.scorer, facts.reason) == ("echo", "log-likelihoods by token ids")


def test_prompt_logprobs_take_token_ids_too() -> None:
    """Whichever way the probe proved."""

    def script(asked: Asked) -> Answer:
        if asked.path == "/tokenize":
            return with_tokenizer(asked)
        return complete(asked, echo=None, prompt_logprobs=True)

    with serving(script, MODELS) as server, asking(server) as backend:
        (reply,) = backend.answer([SCORE])
        facts = backend.facts()
        assert forms(server) == {list}
    assert None not in [score.log_likelihood for score in scores(reply)]
    assert facts is not None
    assert (facts.scorer, facts.reason) == ("prompt_logprobs", "log-likelihoods by token ids")


def test_text_can_be_insisted_on() -> None:
    """Then the tokenizer is not asked for at all."""
    with serving(with_tokenizer, MODELS) as server:
        with by_text(server) as backend:
            (one,) = backend.answer([SCORE])
            facts = backend.facts()
        assert forms(server) == {str}
        assert not [post for post in server.posts if post.path == "/tokenize"]
        with asking(server) as backend:
            (other,) = backend.answer([SCORE])
    assert one.value == other.value
    assert facts is not None
    assert facts.reason == "log-likelihoods by text"


def tokenizing(reply: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    return lambda asked: reply(asked) if asked.path == "/tokenize" else with_tokenizer(asked, bos=True)


def ids_of(asked: Asked) -> list[Any]:
    begun = ["<s>"] if asked.body["add_special_tokens"] else []
    return VOCABULARY.ids([*begun, *tokenize(asked.body["prompt"])])


def refusing_ids(asked: Asked) -> Answer:
    if isinstance(asked.body["prompt"], list):
        return refusal("prompt must be a string", param="prompt")
    return with_tokenizer(asked)


def shifting_ids(asked: Asked) -> Answer:
    if isinstance(asked.body["prompt"], list):
        return complete(asked, echo=lambda tokens, values: (tokens, [*values[1:], None]))
    return with_tokenizer(asked)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (complete, "status 404: Not Found"),
        (tokenizing(lambda _: refusal("Forbidden", status=403)), "status 403: Forbidden"),
        (tokenizing(lambda _: Answer("busy", 503)), r"status 503: busy \(6 attempts\)"),
        (tokenizing(lambda _: Answer("<html>")), "the reply is no JSON object"),
        (tokenizing(lambda asked: recorded(ids_of(asked), count=3)), "1 token ids and count = 3"),
        (tokenizing(lambda _: Answer({"tokens": []})), "0 token ids and count = None"),
        (tokenizing(lambda _: Answer({"tokens": "1 2", "count": 3})), "no list of token ids"),
        (tokenizing(lambda asked: recorded([f"{token}" for token in ids_of(asked)])), "no list of token ids"),
        (tokenizing(lambda asked: recorded([-token - 1 for token in ids_of(asked)])), "no list of token ids"),
        (tokenizing(lambda asked: recorded([*ids_of(asked), *ids_of(asked)])), r"are \d+ for a text of \d+ tokens"),
        (tokenizing(lambda asked: recorded(VOCABULARY.ids(tokenize(asked.body["prompt"])))), r"are \d+ for a text"),
        (tokenizing(lambda asked: recorded([token and 1 for token in ids_of(asked)])), "could not be checked"),
        (refusing_ids, "refused .*prompt must be a string"),
        (shifting_ids, "wrong by .* nats"),
    ],
    ids=["404", "403", "503", "html", "count", "no count", "text", "strings", "negative", "twice", "no BOS", "others"]
    + ["refused", "shifted"],
)
def test_what_does_not_fit_is_left_and_text_serves(script: Callable[[Asked], Answer], told: str) -> None:
    """The facts tell why; nothing is refused, and the numbers are those of the text."""
    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([SCORE])
        facts = backend.facts()
        assert forms(server) == {str}
    assert None not in [score.log_likelihood for score in scores(reply)]
    assert facts is not None
    assert re.search(rf"^log-likelihoods by text: token ids .*{told}", facts.reason), facts.reason
    assert "/v1http" not in facts.reason


def test_a_reply_that_does_not_fit_later_is_a_reason_and_no_number() -> None:
    """A count that is wrong, or numbers for other than the ids: the request is missing, and asked again next time."""
    broken: set[str] = set()

    def script(asked: Asked) -> Answer:
        answer = with_tokenizer(asked)
        if asked.path == "/tokenize" and "count" in broken:
            return recorded(ids_of(asked), count=1)
        if asked.path == "/v1/completions" and "numbers" in broken:
            return complete(asked, echo=lambda tokens, values: (tokens[1:], values[1:]))
        return answer

    with serving(script) as server, asking(server) as backend:
        assert backend.refuses(Score) is None
        broken.add("count")
        (reply,) = backend.answer([SCORE])
        assert reply.missing is not None
        assert reply.missing.kind == "bad_tokens"
        assert f"POST {server.url.removesuffix('/v1')}/tokenize" in reply.missing.detail
        broken.clear()
        broken.add("numbers")
        assert kinds(list(backend.answer([SCORE]))) == ["bad_logprobs"]
        broken.clear()
        (reply,) = backend.answer([SCORE])
        assert len(scores(reply)) == 2


def test_the_beginning_of_a_sequence_stands_once() -> None:
    """As the tokenizer puts it there; a context that writes it itself gets no second one, an empty one follows it."""

    def split(text: str) -> list[str]:
        rest = text.removeprefix("<s>")
        return ["<s>"] * (rest != text) + tokenize(rest)

    script = lambda asked: with_tokenizer(asked, bos=True, split=split)  # noqa: E731
    asked = [Score("Q: a", (" b",)), Score("<s>Q: a", (" b",)), Score("", ("Q: b",))]
    with serving(script) as server, asking(server, concurrency=1) as backend:
        replies = list(backend.answer(asked))
        assert prompts(server) == ["<s>Q: a b", "<s>Q: a b", "<s>Q: b"]
    assert replies[0].value == replies[1].value
    (empty,) = scores(replies[2])
    assert empty.log_likelihood == pytest.approx(log_likelihood(["<s>"], ["Q:", " b"]))


def test_an_empty_context_after_nothing_is_missing() -> None:
    """The server's tokenizer begins texts with no token, so the first one would have no log-probability."""
    with serving(with_tokenizer) as server, asking(server) as backend:
        replies = {reply.request: reply for reply in backend.answer([Score("", ("one two",)), SCORE])}
    empty = replies[Score("", ("one two",))]
    assert empty.missing is not None
    assert empty.missing.kind == "no_context"
    assert "put some text before the choices" in empty.missing.detail
    assert len(scores(replies[SCORE])) == 2


def test_spaces_at_the_end_of_a_context_move_to_the_continuation() -> None:
    """As in the local backend, and in text."""
    with serving(with_tokenizer) as server, asking(server) as backend:
        one, other = backend.answer([Score("Q: what\nA: ", ("this",)), Score("Q: what\nA:", (" this",))])
    assert scores(one) == scores(other)


def test_merged_tokens_are_split_by_the_local_backends_rule() -> None:
    """The joint tokens past the context's own number; a continuation that leaves none stands by itself."""

    def split(text: str) -> list[str]:
        return re.findall(r" ab| ac| a| ?[^ ]+", text)

    script = lambda asked: with_tokenizer(asked, split=split)  # noqa: E731
    with serving(script) as server, asking(server, concurrency=1) as backend:
        (reply,) = backend.answer([Score("x a", ("b y", " y", "c"))])
        assert sorted(prompts(server)) == ["x a y", "x ac"], "what is the same to the model is sent once"
    merged, apart, melted = scores(reply)
    assert (merged.tokens, merged.merged) == (1, True)
    assert (apart.tokens, apart.merged) == (1, False)
    assert merged.log_likelihood == apart.log_likelihood
    assert (melted.tokens, melted.merged) == (1, True)
    assert melted.log_likelihood == pytest.approx(log_likelihood(["x", " a"], ["c"]))


def test_a_long_context_is_cut_from_the_left_and_a_long_choice_is_missing() -> None:
    """<s> stays; the prompt leaves room for the one token that the server writes; text would not fit at all."""
    script = lambda asked: with_tokenizer(asked, bos=True, window=30)  # noqa: E731
    long = Score("Q:" + " word" * 40, (" yes", " no" * 40))
    with serving(script) as server:
        with asking(server) as backend:
            (reply,) = backend.answer([long])
            assert prompts(server) == ["<s>" + " word" * 27 + " yes"]
        with by_text(server) as backend:
            assert kinds(list(backend.answer([long]))) == ["does_not_fit"]
    cut, missing = scores(reply)
    assert (cut.truncated, cut.tokens) == (True, 1)
    assert cut.log_likelihood == pytest.approx(log_likelihood([" word"], [" yes"]))
    assert missing.missing is not None
    assert missing.missing.kind == "does_not_fit"


def test_a_server_that_tells_no_window_refuses_what_is_too_long() -> None:
    """Nothing is cut by guess."""

    def script(asked: Asked) -> Answer:
        if asked.path == "/tokenize":
            return with_tokenizer(asked, window=None)
        return with_tokenizer(asked, window=30)

    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("Q:", (" yes", " no" * 40))])
    short, long = scores(reply)
    assert short.log_likelihood is not None
    assert long.missing is not None
    assert long.missing.kind == "does_not_fit"


def test_a_request_sent_again_is_counted() -> None:
    """The tokenizer's retries stand in the usage beside the completions'."""
    busy: list[bool] = []

    def script(asked: Asked) -> Answer:
        if busy and asked.path == "/tokenize":
            busy.pop()
            return Answer("busy", 503)
        return with_tokenizer(asked)

    with serving(script) as server, asking(server) as backend:
        list(backend.answer([SCORE]))
        busy.append(True)
        (reply,) = backend.answer([SCORE])
    # Context and both texts at the tokenizer, then the texts themselves in one call.
    assert (reply.usage.requests, reply.usage.retries) == (3 + 1, 1)
    assert reply.usage.prompt_tokens == len(tokenize("Q: what\nA: this one") + tokenize("Q: what\nA: that"))


def test_a_prompt_that_fills_the_window_is_too_long_and_teaches_nothing() -> None:
    """vLLM 0.32, asked for 2,048 tokens of 2,048, complains of max_tokens: later requests still send it."""

    def script(asked: Asked) -> Answer:
        if "full" in str(asked.body["prompt"]):
            message = "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"
            return refusal(message, type="BadRequestError", param="max_tokens", code=400)
        return complete(asked)

    with serving(script) as server, asking(server) as backend:
        (reply,) = backend.answer([Score("Q:", (" full", " short"))])
        assert {post.body.get("max_tokens") for post in server.posts if post.path == "/v1/completions"} == {1, 8}
    full, short = scores(reply)
    assert full.missing is not None
    assert full.missing.kind == "does_not_fit"
    assert short.log_likelihood is not None


# The rules through a server and in this process


class Merging:
    """Letters in pairs where they meet; a beginning-of-sequence token or none. In this process, and as a server."""

    bos_token_id: int | None = None
    eos_token_id: int | None = None
    unk_token_id: int | None = None

    def __init__(self, bos: bool) -> None:
        self._bos = bos
        self.asked: list[str] = []

    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]:
        pieces = re.findall(r" ?ab| ?a| ?b|ba| ", text)
        return [1] * (self._bos and add_special_tokens) + [sum(map(ord, piece)) for piece in pieces]

    def render(self, turns: Sequence[Turn]) -> str:
        raise AssertionError("no turns are asked")

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "http://there/tokenize"
        self.asked.append(body["prompt"])
        ids = list(self.encode(body["prompt"], add_special_tokens=body["add_special_tokens"]))
        return {"tokens": ids, "count": len(ids), "max_model_len": 12}


texts = st.text("ab ", max_size=12)


@given(bos=st.booleans(), context=texts, continuations=st.lists(texts, max_size=4))
def test_the_split_is_the_local_backends(bos: bool, context: str, continuations: list[str]) -> None:
    """For any texts: what the server's encodings give is what the same tokenizer gives here, each text asked once."""
    tokenizer = Merging(bos)
    server = ServerTokenizer(tokenizer, "m", "http://there/v1")  # type: ignore[arg-type]
    if not bos and not context.strip(" "):
        with pytest.raises(Unanswered, match="the context is empty"):
            asyncio.run(server.split(context, continuations))
        return
    split = asyncio.run(server.split(context, continuations))
    assert split == Encoder(tokenizer, 10).pairs(context, continuations)
    asked = [text for text in tokenizer.asked if text != "a"]
    assert len(asked) == len(set(asked))
    assert "" not in asked
