"""The differences between servers, each by a reply that the real one gave: transformers serve 5.24.0, LiteLLM's proxy
1.108.7, llama-cpp-python 0.3.36, vLLM 0.32.0 and llama.cpp's server, all with SmolLM2-135M-Instruct in float32.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.backends.openai_clients import HASTY, asking, greedy, kinds, texts
from tests.backends.recorded_servers import recording, replaying
from tests.backends.scripted_server import Answer, Asked, chat_reply, refusal, serving
from truthguard.backends.openai import OpenAIBackend
from truthguard.backends.openai_failures import from_status
from truthguard.backends.openai_features import COMPLETIONS, Features
from truthguard.backends.openai_retry import Patience
from truthguard.backends.protocol import Generate, Masses, NextToken, Score, Text, Turn
from truthguard.errors import ModelError
from truthguard.metrics.choice import NO_FORMS, YES_FORMS

CAPITAL = Generate("What is the capital of France?", 12)
YES_NO = (YES_FORMS, NO_FORMS)
QUESTION = "Is Paris in France? Reply Yes or No."
AS_TEXT = NextToken(f"{QUESTION}\nA:", YES_NO)
AS_TURNS = NextToken((Turn("user", QUESTION),), YES_NO)
SCORE = Score("Q: What is the capital of France?\nA:", (" Paris", " Lyon"))
GENERATING = ["transformers_serve", "litellm", "llama_cpp_python", "vllm"]


def rivers(count: int) -> list[Generate]:
    return [Generate("Tell me of a river.", 24, temperature=1.0, seed=index, sample=index) for index in range(count)]


def told(backend: OpenAIBackend) -> str:
    facts = backend.facts()
    assert facts is not None
    return facts.reason


# Written answers


@pytest.mark.parametrize("name", GENERATING)
def test_a_greedy_answer_is_read_whatever_stands_beside_it(name: str) -> None:
    """The same weights, the same text from each; fields of their own (provider_specific_fields, refusal) are let be."""
    with replaying(name) as (server, backend):
        (reply,) = backend.answer([CAPITAL])
        assert told(backend) == "the server took every parameter"
        assert len(server.posts) == 1
    assert reply.value == Text("The capital of France is Paris.", "stop")
    assert reply.usage.prompt_tokens == 37
    assert reply.usage.completion_tokens in (7, 8)  # llama-cpp-python leaves out the token that ends the text


def test_transformers_serve_leaves_the_stop_string_in() -> None:
    """It answers "One,": cut here, as a text that ended at its stop string."""
    with replaying("transformers_serve") as (_, backend):
        (reply,) = backend.answer([Generate("Count: one, two, three, four, five. Repeat that.", 40, stop=(",",))])
    assert reply.value == Text("One", "stop")


def test_transformers_serve_ignores_n_and_samples_greedily() -> None:
    """One choice for n = 3, and the same text for every seed at temperature 1: three requests, and a warning."""
    with replaying("transformers_serve") as (server, backend):
        assert len(set(texts(list(backend.answer(rivers(3)))))) == 1
        assert [post.body.get("n") for post in server.posts] == [3, None, None]
        assert "n ignored: each sample is asked for singly" in told(backend)
        assert "temperature or seed (transformers serve samples only where its" in told(backend)


def test_llama_cpp_python_ignores_n_and_keeps_seeds() -> None:
    """One choice for n = 3, and another text for each seed: no warning."""
    with replaying("llama_cpp_python") as (server, backend):
        assert len(set(texts(list(backend.answer(rivers(3)))))) == 3
        assert len(server.posts) == 3
        assert told(backend) == "n ignored: each sample is asked for singly"


@pytest.mark.parametrize(("name", "billed"), [("litellm", 24), ("vllm", 72)])
def test_n_choices_come_in_one_request_however_they_are_billed(name: str, billed: int) -> None:
    """llama.cpp behind LiteLLM counts one choice, vLLM all three: neither is a reply longer than max_tokens."""
    with replaying(name) as (server, backend):
        replies = list(backend.answer(rivers(3)))
        assert len(server.posts) == 1
        assert told(backend) == "the server took every parameter"
    assert len(set(texts(replies))) == 3
    assert sum(reply.usage.completion_tokens for reply in replies) == billed


def test_litellm_wraps_a_refusal_of_n() -> None:
    """llama.cpp's words inside LiteLLM's, no `param`: learnt, and the six are asked singly."""
    with replaying("litellm") as (server, backend):
        assert len(set(texts(list(backend.answer(rivers(6)))))) == 6
        assert [post.body.get("n") for post in server.posts] == [6] + [None] * 6
        assert told(backend) == "n refused: each sample is asked for singly"


def test_litellm_refuses_what_a_model_lacks_one_complaint_at_a_time() -> None:
    """A reasoning model: `does not support parameters: ['top_p']`, then "don't support temperature=0.0"."""
    with replaying("litellm", "reasoning") as (server, backend):
        assert len(texts(list(backend.answer([CAPITAL])))) == 1
        assert [sorted({"top_p", "temperature"} & post.body.keys()) for post in server.posts] == [
            ["temperature", "top_p"],
            ["temperature"],
            [],
        ]
        assert "temperature refused: the server's own is used; top_p refused" in told(backend)


def test_litellm_refuses_several_parameters_in_one_complaint() -> None:
    """Before Anthropic's: `parameters: ['n', 'seed']`, then `['seed']` again; neither is sent a third time."""
    with replaying("litellm", "claude", otherwise=lambda _: chat_reply("a river")) as (server, backend):
        assert len(texts(list(backend.answer(rivers(3))))) == 3
        assert sum("n" in post.body for post in server.posts) == 1
        assert sum("seed" in post.body for post in server.posts) == 2
        assert "n refused" in told(backend)
        assert "seed refused: samples are drawn without one" in told(backend)


def test_llama_cpp_python_is_sent_the_limit_that_it_knows() -> None:
    """It ignores max_completion_tokens (24 tokens for 5) and keeps to max_tokens, which is what is sent."""
    ignored = recording("llama_cpp_python").first("/v1/chat/completions", max_completion_tokens=5)
    assert "'completion_tokens': 24" in str(ignored.body)
    with replaying("llama_cpp_python") as (server, backend):
        (reply,) = backend.answer([Generate("Count to fifty.", 5)])
        assert [(post.body["max_tokens"], "max_completion_tokens" in post.body) for post in server.posts] == [
            (5, False)
        ]
        assert told(backend) == "the server took every parameter"
    assert reply.usage.completion_tokens == 5


# Probabilities


@pytest.mark.parametrize(
    ("name", "list_lengths"),
    [("litellm", [1000]), ("llama_cpp_python", [1000]), ("vllm", [1000, 20])],
)
@pytest.mark.parametrize(
    ("request_", "yes", "no"),
    [(AS_TEXT, -2.124, -1.96), (AS_TURNS, -2.180, -1.529)],
    ids=["completions", "chat"],
)
def test_every_shape_of_logprobs_gives_the_same_masses(
    name: str, list_lengths: list[int], request_: NextToken, yes: float, no: float
) -> None:
    """LiteLLM's null lists beside chat entries, llama-cpp-python's null bytes, vLLM's list of 20 with the drawn one."""
    with replaying(name, models=None) as (server, backend):
        (reply,) = backend.answer([request_])
        name_of_list = "logprobs" if request_ is AS_TEXT else "top_logprobs"
        assert [post.body[name_of_list] for post in server.posts] == list_lengths
        assert (f"{name_of_list} at most 20" in told(backend)) == (name == "vllm")
    assert isinstance(reply.value, Masses), reply.missing
    # A list of 20 lacks a rare spelling or two of the list of 1000, of which 24 are kept.
    assert list(reply.value.log_masses) == pytest.approx([yes, no], abs=0.05)
    assert 0.1 < reply.value.unlisted < 0.4


@pytest.mark.parametrize(("request_", "posts"), [(AS_TEXT, 2), (AS_TURNS, 1)], ids=["completions", "chat"])
def test_transformers_serve_ignores_logprobs(request_: NextToken, posts: int) -> None:
    """No field at all in either endpoint: missing, with the endpoint and the parameter, after both were asked."""
    with replaying("transformers_serve") as (server, backend):
        (reply,) = backend.answer([request_])
        assert len(server.posts) == posts
    assert reply.missing is not None
    assert reply.missing.kind == "no_logprobs"
    assert "/v1/chat/completions: logprobs ignored" in reply.missing.detail


def test_litellm_refuses_logprobs_that_a_model_lacks() -> None:
    """`does not support parameters: ['logprobs', 'top_logprobs']`: missing, in these words, and not sent again."""
    with replaying("litellm", "claude") as (server, backend):
        assert kinds(list(backend.answer([AS_TURNS] * 4))) == ["no_logprobs"] * 4
        assert len(server.posts) == 3
        assert "logprobs refused at /chat/completions" in told(backend)
        assert "at most" not in told(backend)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("transformers_serve", "logprobs ignored: the reply has none"),
        ("litellm", "log-likelihoods are not to be had: echo ignored, prompt_logprobs ignored"),
        ("llama_cpp_python", "log-likelihoods are not to be had: echo wrong"),
    ],
)
def test_log_likelihoods_are_refused_up_front(name: str, why: str) -> None:
    """Ignored, passed on and ignored behind a gateway, or (llama-cpp-python) each number one token late."""
    with replaying(name) as (_, backend):
        refusal = backend.refuses(Score)
        assert refusal is not None
        assert f"/v1/completions: {why}" in refusal
        assert "written answers (truthful, correctness) still work" in refusal
        assert kinds(list(backend.answer([SCORE]))) == ["no_log_likelihoods"]


def test_transformers_serve_names_a_field_that_it_does_not_know() -> None:
    """Status 422, `Unexpected fields in the request: {'prompt_logprobs'}`: learnt as refused."""
    body = {"model": "smol", "prompt": "The sky is", "max_tokens": 1, "prompt_logprobs": 0}
    reply = recording("transformers_serve").first("/v1/completions", **body)
    features = Features("http://127.0.0.1/v1")
    assert features.learn(COMPLETIONS, body, from_status(reply.status, reply.body, None))
    assert features.refuses(COMPLETIONS, "prompt_logprobs")


@pytest.mark.parametrize("name", GENERATING)
@pytest.mark.parametrize("request_", [CAPITAL, AS_TEXT, AS_TURNS, SCORE], ids=["text", "list", "turns", "score"])
def test_nothing_is_streamed(name: str, request_: Generate | NextToken | Score) -> None:
    """transformers serve streams what does not say otherwise: every request does, and only two endpoints are used."""
    with replaying(name, models=None, otherwise=lambda _: Answer("", 404)) as (server, backend):
        list(backend.answer([request_]))
        posts = [post for post in server.posts if post.path != "/tokenize"]
    assert posts
    assert {post.body["stream"] for post in posts} == {False}
    assert {post.path for post in posts} <= {"/v1/chat/completions", "/v1/completions"}


# Failures


@pytest.mark.parametrize(
    ("name", "path", "asked", "kind", "attempts", "words"),
    [
        (
            "transformers_serve",
            "completions",
            {"prompt": [504, 6376, 314]},
            "bad_request",
            1,
            "prompt must be a string",
        ),
        ("litellm", "chat/completions", {"model": "down", "seed": 0}, "server_error", 3, "Connection error"),
        ("litellm", "chat/completions", {"model": "smol", "max_tokens": 5}, "does_not_fit", 1, "(3031 tokens) exceeds"),
        ("litellm", "chat/completions", {"model": "azure"}, "content_filter", 1, "content management policy"),
        ("llama_cpp_python", "completions", {"prompt": [504, 6376, 314]}, "server_error", 3, "be a valid string"),
        ("llama_cpp_python", "chat/completions", {"temperature": "hot"}, "server_error", 3, "float_parsing"),
        ("llama_cpp_python", "chat/completions", {"max_tokens": 5, "seed": 0}, "does_not_fit", 1, "maximum context"),
        ("vllm", "chat/completions", {"temperature": "hot"}, "bad_request", 1, "unable to parse string"),
        ("vllm", "chat/completions", {"max_tokens": 5, "seed": 0}, "does_not_fit", 1, "at least 2049 input tokens"),
    ],
    ids=["detail", "no upstream", "window", "filter", "ids", "validation", "window 2", "validation 2", "window 3"],
)
def test_an_error_has_its_kind(
    name: str, path: str, asked: dict[str, object], kind: str, attempts: int, words: str
) -> None:
    """A bare detail, a gateway's wrapping without the code, validation with status 500: each in the server's words."""
    reply = recording(name).first(f"/v1/{path}", **asked)
    failure = from_status(reply.status, reply.body, None)
    missing = failure.missing("POST", 1)
    assert (missing.kind, failure.attempts(Patience())) == (kind, attempts)
    assert words in missing.detail


@pytest.mark.parametrize("name", ["transformers_serve", "litellm", "vllm"])
def test_an_unknown_model_is_an_error_that_names_the_known_ones(name: str) -> None:
    """Status 400 and a detail, status 400, status 404: told once, before every request is refused in turn."""
    with replaying(name, "nosuch") as (server, backend):
        with pytest.raises(ModelError, match=r"nosuch.*has no 'nosuch' \(it has smol"):
            list(backend.answer([CAPITAL] * 5))
        assert len(server.posts) == 1


@pytest.mark.parametrize(
    "words",
    [
        "messages: roles must alternate\n\nLiteLLM: model group 'm' failed with the error above.",
        "no part of m-large is org/m",
        "this model's maximum context length is 10 tokens\nmodel=m. context_window_fallbacks=None.",
        "litellm.ContentPolicyViolationError: filtered\nmodel=m. content_policy_fallback=None.",
    ],
    ids=["another", "longer", "window", "filter"],
)
def test_a_refusal_that_is_not_about_the_model_is_the_requests_own(words: str) -> None:
    """A gateway lists no wildcard's models and names the model in every error: only one request is refused."""

    def script(asked: Asked) -> Answer:
        return refusal(words) if "question 0" in str(asked.body) else chat_reply("a")

    with serving(script, {"data": [{"id": "near"}]}) as server, asking(server) as backend:
        replies = list(backend.answer([greedy(0), greedy(1)]))
    assert len(kinds(replies)) == 1
    assert len([reply for reply in replies if reply.value is not None]) == 1


@pytest.mark.parametrize(
    ("name", "known_by"),
    [("llama_cpp_python", ""), ("llamacpp", "replies come from the model 'smol'; ")],
)
def test_a_server_that_answers_for_any_model_is_told(name: str, known_by: str) -> None:
    """llama-cpp-python answers in the asked name, llama.cpp in its own: the list of models shows both."""
    with replaying(name, "nosuch") as (_, backend):
        assert texts(list(backend.answer([CAPITAL]))) == ["The capital of France is Paris."]
        warning = "warning: the models list has no 'nosuch' (it has smol); another may answer"
        assert told(backend) == known_by + warning


def test_transformers_serve_hangs_up_after_its_own_fault() -> None:
    """Status 500 as text, then a reset of the connection: tried thrice, and the others are answered meanwhile."""
    fault = recording("transformers_serve").first("/v1/chat/completions", max_tokens=0)
    assert (fault.status, fault.body) == (500, "Internal Server Error")

    def script(asked: Asked) -> Answer:
        return replace(fault, hang_up=True) if asked.body["max_tokens"] == 0 else chat_reply("a river")

    with serving(script) as server, asking(server, concurrency=2) as backend:
        replies = list(backend.answer([Generate("Name a river.", 0), *[greedy(number) for number in range(6)]]))
        assert sum(post.body["max_tokens"] == 0 for post in server.posts) == 3
    assert kinds(replies) == ["server_error"]
    assert len(texts([reply for reply in replies if reply.value is not None])) == 6


def test_litellm_passes_on_that_its_own_key_is_refused() -> None:
    """Status 401 of the server behind it: nothing can be answered."""
    with (
        replaying("litellm", "badkey") as (_, backend),
        pytest.raises(ModelError, match=r"refuses the key \(status 401: .*OpenAIException - Invalid API Key"),
    ):
        list(backend.answer([CAPITAL] * 3))


def test_litellm_without_a_database_calls_a_wrong_key_a_bad_request() -> None:
    """Status 400, `No connected db.`, for the list of models and for all else: an error, not as many as requests."""
    answer = Answer(
        {"error": {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}}, 400
    )
    with serving(lambda _: answer, answer) as server, asking(server) as backend:
        with pytest.raises(ModelError, match=r"refused alike .*No connected db.*--truthguard-allow-host"):
            list(backend.answer([greedy(number) for number in range(5)]))
        assert len(server.posts) == 1


@pytest.mark.parametrize(("model", "seconds"), [("slow", 60), ("down", 5)])
def test_litellm_names_the_wait_in_either_header(model: str, seconds: int) -> None:
    """Its own in Retry-After (a cooldown), that of the server behind it in llm_provider-retry-after: both are kept."""
    limited = recording("litellm").first("/v1/chat/completions", model=model, max_tokens=2)
    with (
        serving(lambda _: limited) as server,
        asking(server, patience=replace(HASTY, longest=seconds - 1)) as backend,
    ):
        (reply,) = backend.answer([greedy()])
        assert len(server.posts) == 1
    assert reply.missing is not None
    assert reply.missing.kind == "rate_limited"
    assert f"asks to wait {seconds} s (Retry-After): come back after" in reply.missing.detail
