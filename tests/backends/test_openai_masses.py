"""Next-token probabilities out of the lists that servers give, in every shape they come in."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.backends.openai_clients import asking, kinds
from tests.backends.scripted_server import Answer, Asked, refusal, serving
from truthguard.backends.openai_masses import list_first
from truthguard.backends.protocol import Masses, NextToken, Reply, Turn
from truthguard.metrics.choice import NO_FORMS, YES_FORMS, Bounds, yes_probability

LISTED = {"Yes": -0.35, " yes": -2.10, "YES": -3.00, "No": -2.40, " no": -3.90, "The": -5.00}
YES_NO = (YES_FORMS, NO_FORMS)


def text(number: int = 0) -> NextToken:
    return NextToken(f"Q: {number}\nA:", YES_NO)


TURNS = NextToken((Turn("user", "Is it?"),), YES_NO)


def entries(listed: dict[str, float], drawn: str = "Yes") -> dict[str, Any]:
    """Chat's shape, which llama.cpp sends from the completions endpoint too."""
    top = [{"token": token, "logprob": number, "bytes": None} for token, number in listed.items()]
    return {"content": [{"token": drawn, "logprob": listed.get(drawn, -9.0), "bytes": None, "top_logprobs": top}]}


def legacy(listed: dict[str, float], drawn: str = "Yes") -> dict[str, Any]:
    """The legacy shape: vLLM, llama-cpp-python."""
    number = listed.get(drawn, -9.0)
    return {"tokens": [drawn], "token_logprobs": [number], "top_logprobs": [listed], "text_offset": [0]}


def replied(logprobs: object) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "text": "Yes", "finish_reason": "length"}
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    return Answer({"choices": [choice | {"logprobs": logprobs}], "usage": usage})


def bounds(reply: Reply) -> Bounds:
    assert isinstance(reply.value, Masses), reply.missing
    yes, no = reply.value.log_masses
    found = yes_probability(yes, no, reply.value.unlisted)
    assert isinstance(found, Bounds)
    return found


@pytest.mark.parametrize("shape", [entries, legacy])
def test_c01_the_spellings_of_a_side_are_added_up(shape: Any) -> None:
    """C01 (a), (b): P(yes) out of a list in both shapes, and a bound where no spelling of no is listed."""
    with serving(lambda asked: replied(shape(LISTED))) as server, asking(server) as backend:
        (reply,) = backend.answer([text()])
        assert bounds(reply).low == pytest.approx(0.88768010, abs=1e-8)
        assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (9, 1)
    listed = {"Yes": -0.08, " yes": -3.20, "YES": -4.60, "The": -5.10, "It": -5.60}
    with serving(lambda asked: replied(shape(listed))) as server, asking(server) as backend:
        (reply,) = backend.answer([TURNS])
        assert bounds(reply).low == pytest.approx(0.98356401, abs=1e-8)
        assert bounds(reply).high == 1.0


def test_c01_logprobs_of_null_are_missing_with_endpoint_and_parameter() -> None:
    """C01 (c): never an exception, never 0; and after three such replies, and none other, no more is sent."""
    with serving(lambda asked: replied(None)) as server, asking(server, concurrency=1) as backend:
        replies = list(backend.answer([TURNS] * 10))
        facts = backend.facts()
        assert len(server.posts) == 3
    assert kinds(replies) == ["no_logprobs"] * 10
    for reply in replies:
        assert f"POST {server.url}/chat/completions: logprobs ignored" in str(reply.missing)
        assert "top_logprobs=" in str(reply.missing)
    assert facts is not None
    assert "logprobs ignored at /chat/completions" in facts.reason


def test_a_single_reply_without_logprobs_is_its_own_matter() -> None:
    """llama.cpp sends null where a text ends within a character: the others are asked on."""
    script = lambda asked: replied(None if asked.number % 2 else entries(LISTED))  # noqa: E731
    with serving(script) as server, asking(server, concurrency=1) as backend:
        assert len(kinds(list(backend.answer([TURNS] * 12)))) == 6
        assert len(server.posts) == 12


def test_a_text_is_asked_at_the_completions_endpoint_and_turns_in_chat() -> None:
    """The prompt is the text itself there; the distribution is asked for undistorted."""
    with serving(lambda asked: replied(legacy(LISTED))) as server, asking(server, concurrency=1) as backend:
        list(backend.answer([text(), TURNS]))
        one, other = server.posts
    assert (one.path, one.body["prompt"]) == ("/v1/completions", "Q: 0\nA:")
    assert {"max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "logprobs": 1000}.items() <= one.body.items()
    assert (other.path, other.body["messages"]) == ("/v1/chat/completions", [{"role": "user", "content": "Is it?"}])
    assert (other.body["logprobs"], other.body["top_logprobs"]) == (True, 1000)


@pytest.mark.parametrize(
    "completions",
    [
        refusal("Not Found", status=404),
        refusal("Method not allowed", status=405),
        refusal("This is a chat model and not supported in the v1/completions endpoint", status=404, param="model"),
        refusal("logprobs is not supported", param="logprobs"),
        refusal("cannot do this"),
        replied(None),
    ],
    ids=["404", "405", "chat model", "refused", "some 400", "null"],
)
def test_without_logprobs_for_completions_texts_are_asked_in_chat(completions: Answer) -> None:
    """Decided by the first reply, for all texts alike, and told: it is another prompt."""
    script = lambda asked: completions if asked.path == "/v1/completions" else replied(entries(LISTED))  # noqa: E731
    with serving(script) as server, asking(server) as backend:
        replies = list(backend.answer([text(number) for number in range(10)]))
        facts = backend.facts()
        chat = [post for post in server.posts if post.path == "/v1/chat/completions"]
        assert len(server.posts) - len(chat) <= 3  # 1000, 20 and 5 are tried before logprobs count as refused
        assert len(chat) == 10
        assert chat[0].body["messages"] == [{"role": "user", "content": "Q: 0\nA:"}]
    assert {bounds(reply).exact for reply in replies} == {True}
    assert facts is not None
    assert f"text prompts are asked in chat, as one user message (POST {server.url}/completions:" in facts.reason


def test_texts_never_mix_two_prompts() -> None:
    """Once completions gave log-probabilities, a null there is a missing reply and no chat request."""
    script = lambda asked: replied(legacy(LISTED) if asked.number == 0 else None)  # noqa: E731
    with serving(script) as server, asking(server, concurrency=1) as backend:
        assert kinds(list(backend.answer([text(number) for number in range(4)]))) == ["no_logprobs"] * 3
        assert {post.path for post in server.posts} == {"/v1/completions"}


@pytest.mark.parametrize("most", [20, 5])
@pytest.mark.parametrize("param", ["top_logprobs", "logprobs", None])
def test_the_longest_list_that_the_server_takes_is_asked_for(most: int, param: str | None) -> None:
    """1000, else 20, else 5: learnt once, and told."""

    def script(asked: Asked) -> Answer:
        if asked.body["top_logprobs"] > most:
            words = f"Requested sample logprobs of {asked.body['top_logprobs']}, which is greater than max allowed"
            return refusal(words, param=param)
        return replied(entries(LISTED))

    with serving(script) as server, asking(server) as backend:
        assert len([bounds(reply) for reply in backend.answer([TURNS] * 6)]) == 6
        facts = backend.facts()
        sent = [post.body["top_logprobs"] for post in server.posts]
    assert sent == [length for length in (1000, 20, 5) if length > most] + [most] * 6
    assert facts is not None
    assert f"top_logprobs at most {most}" in facts.reason


def test_refused_logprobs_are_missing_and_not_sent_again() -> None:
    """The reason names the endpoint and the parameter, and repeats the server's words."""
    answer = refusal("logprobs are not available for this model", param="logprobs")
    with serving(lambda asked: answer) as server, asking(server) as backend:
        replies = list(backend.answer([TURNS] * 8))
        assert len(server.posts) == 3
    assert kinds(replies) == ["no_logprobs"] * 8
    assert "/chat/completions: logprobs refused (status 400: logprobs are not available" in str(replies[-1].missing)


@pytest.mark.parametrize(
    ("listed", "kind"),
    [
        ({"Yes": 0.5, "No": -1.0}, "bad_logprobs"),
        ({"Yes": -0.1, "No": -0.1}, "bad_logprobs"),
        ({"Yes": math.nan, "No": -1.0}, "nan"),
    ],
)
def test_a_list_that_is_no_distribution_is_missing(listed: dict[str, float], kind: str) -> None:
    """Never a number computed from nonsense."""
    with serving(lambda asked: replied(entries(listed))) as server, asking(server) as backend:
        assert kinds(list(backend.answer([TURNS]))) == [kind]


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        "none",
        {},
        {"content": []},
        {"content": None},
        {"content": [{"token": "Yes", "logprob": -1.0}]},
        {"content": [{"top_logprobs": [None, "x", {"token": 1}]}]},
        {"top_logprobs": []},
        {"top_logprobs": [None], "tokens": ["Yes"], "token_logprobs": [-1.0]},
    ],
)
def test_a_list_of_any_shape_is_read_or_empty(logprobs: object) -> None:
    """No shape raises."""
    assert list_first({"choices": [{"logprobs": logprobs}]}) == []
    assert list_first({"choices": []}) == list_first({}) == list_first({"choices": [None]}) == []


def test_the_token_that_was_drawn_is_known_too() -> None:
    """A sampled token outside the list is one more that the server showed."""
    assert ("Yes", -9.0) in list_first({"choices": [{"logprobs": entries({"No": -0.5})}]})
    assert ("Yes", -9.0) in list_first({"choices": [{"logprobs": legacy({"No": -0.5})}]})


# vLLM

IDS = {"yes": [1], "Yes": [2], "YES": [3, 4], " yes": [5], " Yes": [6], " YES": [7, 8]}
IDS |= {"no": [11], "No": [12], "NO": [13], " no": [14], " No": [15], " NO": [16]}
VLLM = {"data": [{"id": "m", "owned_by": "vllm"}]}


def vllm(asked: Asked, *, takes_ids: bool = True) -> Answer:
    """vLLM as it answers: ids at /tokenize, and chosen tokens by `logprob_token_ids`, named by their ids."""
    if asked.path == "/tokenize":
        ids = IDS[asked.body["prompt"]]
        return Answer({"tokens": ids, "count": len(ids)})
    if "logprob_token_ids" in asked.body and takes_ids:
        listed = {f"token_id:{token}": -float(token) for token in [*asked.body["logprob_token_ids"], 99]}
        return replied((entries if "messages" in asked.body else legacy)(listed, "token_id:99"))
    return replied((entries if "messages" in asked.body else legacy)(LISTED))


@pytest.mark.parametrize("request_", [text(), TURNS])
def test_vllm_tells_the_forms_exactly(request_: NextToken) -> None:
    """Each single-token form by its id, nothing unlisted; the ids are asked for once."""
    with serving(vllm, VLLM) as server, asking(server) as backend:
        first, second = backend.answer([request_, request_])
        facts = backend.facts()
        assert sum(post.path == "/tokenize" for post in server.posts) == 12
        assert len(server.posts) == 14
    yes = math.log(sum(math.exp(-token) for token in (1, 2, 5, 6)))
    no = math.log(sum(math.exp(-token) for token in (11, 12, 13, 14, 15, 16)))
    for reply in (first, second):
        assert isinstance(reply.value, Masses)
        assert list(reply.value.log_masses) == pytest.approx([yes, no])
        assert reply.value.unlisted == 0.0
    assert facts is not None
    assert "exact (logprob_token_ids)" in facts.reason


@pytest.mark.parametrize("way", ["ignored", "refused", "no tokenizer"])
def test_an_older_vllm_gives_its_list(way: str) -> None:
    """Ids that are ignored, refused or not to be had are not asked for again."""

    def script(asked: Asked) -> Answer:
        if way == "no tokenizer" and asked.path == "/tokenize":
            return refusal("Not Found", status=404)
        if way == "refused" and "logprob_token_ids" in asked.body:
            return refusal("extra", param="logprob_token_ids")
        return vllm(asked, takes_ids=False)

    with serving(script, VLLM) as server, asking(server) as backend:
        replies = list(backend.answer([TURNS] * 5))
        assert sum("logprob_token_ids" in post.body for post in server.posts) == (way != "no tokenizer")
    assert {round(bounds(reply).low, 8) for reply in replies} == {0.88768010}


def test_other_servers_are_asked_for_no_ids() -> None:
    """Nothing of vLLM's is sent to a server that is not one."""
    models = {"data": [{"id": "m", "owned_by": "llamacpp"}]}
    with serving(vllm, models) as server, asking(server) as backend:
        list(backend.answer([text(), TURNS]))
        assert not [post for post in server.posts if post.path == "/tokenize" or "logprob_token_ids" in post.body]
