"""The backend against a server that can be made to do anything: traffic, failures, keys, event loops."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.backends.openai_clients import HASTY, asking, greedy, kinds, texts
from tests.backends.scripted_server import Answer, Asked, ScriptedServer, chat_reply, refusal, serving
from truthguard.backends.loading import identify, missing_extra, open_backend
from truthguard.backends.openai import OpenAIBackend, api_identity
from truthguard.backends.openai_retry import Patience
from truthguard.errors import ModelError, UsageError
from truthguard.records import ModelSettings

KEY = "sk-very-secret-0123456789"


def failing(times: int, answer: Answer) -> Callable[[Asked], Answer]:
    """Fails the first posts, then replies."""
    return lambda asked: answer if asked.number < times else chat_reply("at last")


# Traffic


def test_no_more_requests_are_under_way_than_allowed() -> None:
    """`concurrency` at a time, and really side by side."""
    lock, running, most = threading.Lock(), [0], [0]

    def script(asked: Asked) -> Answer:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.03)
        with lock:
            running[0] -= 1
        return chat_reply("a")

    with serving(script) as server, asking(server, concurrency=3) as backend:
        assert len(list(backend.answer([greedy(number) for number in range(15)]))) == 15
    assert most[0] == 3


def test_replies_come_as_they_are_ready() -> None:
    """The first is given while another is still waited for."""
    gate = threading.Event()

    def script(asked: Asked) -> Answer:
        if asked.body["messages"][0]["content"] == "question 1":
            gate.wait(10)
        return chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        replies = backend.answer([greedy(0), greedy(1), greedy(2)])
        early = [next(replies), next(replies)]
        assert {reply.request for reply in early} == {greedy(0), greedy(2)}
        gate.set()
        assert [reply.request for reply in replies] == [greedy(1)]


def test_max_requests_stops_before_it_is_passed() -> None:
    """What is answered is kept, the others say why; the count goes on over several calls."""
    with serving(lambda _: chat_reply("a")) as server, asking(server, max_requests=5) as backend:
        replies = list(backend.answer([greedy(number) for number in range(10)]))
        assert len(server.posts) == 5  # the list of models does not count
        assert kinds(replies) == ["max_requests"] * 5
        assert kinds(list(backend.answer([greedy(11)]))) == ["max_requests"]
        assert len(server.posts) == 5
    assert "max_requests = 5" in str(next(reply.missing for reply in replies if reply.missing))


def test_retries_count_against_max_requests() -> None:
    """A server that fails does not cost more than was allowed."""
    with serving(lambda _: Answer("busy", 503)) as server, asking(server, max_requests=3) as backend:
        assert kinds(list(backend.answer([greedy()]))) == ["max_requests"]
        assert len(server.posts) == 3


def test_making_a_backend_sends_nothing() -> None:
    """Nor does asking for its identity or its facts."""
    with serving(lambda _: chat_reply("a")) as server, asking(server) as backend:
        assert backend.identity().name == f"{server.url}#m"
        assert backend.facts() is None
        assert list(backend.answer([])) == []
        assert server.asked == []


def test_a_closed_backend_can_be_asked_again() -> None:
    """And what it learnt is not learnt anew."""
    refused = refusal("no seed", param="seed")
    with serving(lambda asked: refused if "seed" in asked.body else chat_reply("a")) as server:
        with asking(server) as backend:
            list(backend.answer([greedy()]))
            backend.close()
            backend.close()
            assert texts(list(backend.answer([greedy()]))) == ["a"]
        assert sum("seed" in post.body for post in server.posts) == 1
        assert len(server.asked) - len(server.posts) == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "truthguard-requests"]


# Failures


@pytest.mark.parametrize(
    "answer",
    [
        Answer("busy", 429),
        Answer("busy", 503),
        Answer("gateway", 502),
        refusal("overloaded", status=500),
        Answer({"choices": []}, 200, cut=5),
        Answer('{"choices": [{"mess', 200, {"Content-Type": "application/json"}),
    ],
    ids=["429", "503", "502", "500", "half a body", "half a JSON"],
)
def test_what_passes_is_tried_again_and_counted_once(answer: Answer) -> None:
    """Two failures, then a reply: three requests, two retries, no more by the client itself."""
    with serving(failing(2, answer)) as server, asking(server) as backend:
        (reply,) = backend.answer([greedy()])
        assert texts([reply]) == ["at last"]
        assert reply.usage.retries == 2
        assert len(server.posts) == 3


@pytest.mark.parametrize(
    ("answer", "attempts", "kind"),
    [
        (Answer("busy", 429), 6, "rate_limited"),
        (Answer("busy", 503), 6, "server_error"),
        (refusal("own fault", status=500), 3, "server_error"),
        (refusal("wrong", status=400), 1, "bad_request"),
        (Answer({"choices": []}, cut=5), 6, "connection"),
    ],
)
def test_what_does_not_pass_is_given_up(answer: Answer, attempts: int, kind: str) -> None:
    """After a number of attempts that fits the failure, with the endpoint in the reason; the others are answered."""
    script = lambda asked: answer if "question 1" in str(asked.body) else chat_reply("a")  # noqa: E731
    with serving(script) as server, asking(server) as backend:
        replies = list(backend.answer([greedy(0), greedy(1), greedy(2)]))
        assert kinds(replies) == [kind]
        assert len(server.posts) == 2 + attempts
    missing = next(reply.missing for reply in replies if reply.missing)
    assert f"{server.url}/chat/completions" in missing.detail


def test_a_server_that_never_replies_costs_one_timeout() -> None:
    """The late request is not sent again: the server may still be at work on it."""
    script = lambda asked: Answer(delay=30) if "question 1" in str(asked.body) else chat_reply("a")  # noqa: E731
    with serving(script) as server, asking(server, timeout_seconds=0.3) as backend:
        replies = list(backend.answer([greedy(number) for number in range(4)]))
        assert kinds(replies) == ["timeout"]
        assert len(server.posts) == 4
    assert "timeout_seconds = 0.3" in str(next(reply.missing for reply in replies if reply.missing))


def test_a_wait_of_seconds_holds_back_every_request() -> None:
    """Retry-After: 1, and nobody knocks before the second is over."""
    arrived: list[datetime] = []

    def script(asked: Asked) -> Answer:
        arrived.append(datetime.now(UTC))
        return Answer("busy", 429, {"Retry-After": "1"}) if asked.number == 0 else chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        assert len(texts(list(backend.answer([greedy(number) for number in range(5)])))) == 5
    assert min(arrived[1:]) - arrived[0] >= timedelta(seconds=0.99)


def test_a_wait_until_a_date_is_kept() -> None:
    """Retry-After as an HTTP date, whole seconds."""
    until = (datetime.now(UTC) + timedelta(seconds=2)).replace(microsecond=0)
    arrived: list[datetime] = []

    def script(asked: Asked) -> Answer:
        arrived.append(datetime.now(UTC))
        header = {"Retry-After": format_datetime(until, usegmt=True)}
        return Answer("busy", 503, header) if asked.number == 0 else chat_reply("a")

    with serving(script) as server, asking(server) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["a"]
    assert arrived[1] >= until - timedelta(milliseconds=20)


@pytest.mark.parametrize("header", ["soon", "-1", "1 hour", "Mon, 99 Nov 2026"])
def test_any_other_wait_is_our_own_backoff(header: str) -> None:
    """The request is sent again, as without the header."""
    with serving(failing(1, Answer("busy", 429, {"Retry-After": header}))) as server, asking(server) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["at last"]


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_wait_above_two_minutes_stops_and_says_when_to_come_back(form: str) -> None:
    """What is done is kept, nothing more is sent, and each missing reply tells the time."""
    then = datetime.now(UTC) + timedelta(hours=1)
    header = "3600" if form == "seconds" else format_datetime(then, usegmt=True)

    def script(asked: Asked) -> Answer:
        return chat_reply("a") if asked.number < 3 else Answer("busy", 429, {"Retry-After": header})

    with serving(script) as server, asking(server, concurrency=1) as backend:
        replies = list(backend.answer([greedy(number) for number in range(10)]))
        assert kinds(replies) == ["rate_limited"] * 7
        assert len(server.posts) == 4
    detail = next(reply.missing.detail for reply in replies if reply.missing)
    assert "come back after" in detail
    assert f"{then:%Y-%m-%d %H:}" in detail or f"{then + timedelta(seconds=5):%Y-%m-%d %H:}" in detail


def test_an_empty_purse_stops_at_once() -> None:
    """status 429 with insufficient_quota: no wait fills it."""
    answer = refusal("You exceeded your current quota", status=429, code="insufficient_quota")
    with serving(lambda _: answer) as server, asking(server, concurrency=1) as backend:
        assert kinds(list(backend.answer([greedy(number) for number in range(5)]))) == ["quota"] * 5
        assert len(server.posts) == 1


def test_a_refused_key_is_an_error_with_the_way_out() -> None:
    """Every request would fail: nothing is scored, and the message says that no key was sent."""
    with serving(lambda _: refusal("Missing bearer", status=401)) as server, asking(server) as backend:
        with pytest.raises(ModelError, match=r"refuses the key .*pass --truthguard-allow-host 127.0.0.1"):
            list(backend.answer([greedy(number) for number in range(5)]))
        assert len(server.posts) == 1


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    """404 to the first request."""
    models = {"data": [{"id": "small"}, {"id": "large"}]}
    with (
        serving(lambda _: refusal("no such model", status=404), models) as server,
        asking(server) as backend,
        pytest.raises(ModelError, match=r"no such model.*has no 'm' \(it has small, large\)"),
    ):
        list(backend.answer([greedy()]))


def test_a_server_that_answers_for_a_model_that_it_does_not_list_is_told() -> None:
    """llama.cpp answers to any name: the facts warn that another model may have replied."""
    with serving(lambda _: chat_reply("a"), {"data": [{"id": "other"}]}) as server, asking(server) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["a"]
        facts = backend.facts()
    assert facts is not None
    assert "warning: the models list has no 'm' (it has other); another may answer" in facts.reason


def test_a_page_of_html_is_an_error_that_names_the_address() -> None:
    """A base URL without its /v1 often leads to a web page."""
    with (
        serving(lambda _: Answer("<html><body>Welcome</body></html>")) as server,
        asking(server) as backend,
        pytest.raises(ModelError, match=r"no JSON object: '<html>.*mostly in /v1"),
    ):
        list(backend.answer([greedy()]))


def test_a_server_that_is_not_there_is_an_error() -> None:
    """With the address, before a person waits for 400 requests to fail one by one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        asking(ScriptedServer(f"http://127.0.0.1:{port}/v1")) as backend,
        pytest.raises(ModelError, match=rf"no server answers at http://127.0.0.1:{port}/v1.*is it running"),
    ):
        list(backend.answer([greedy(number) for number in range(50)]))


def test_a_server_that_goes_away_for_good_stops_the_run() -> None:
    """What was answered before is kept; the rest says that the server is gone."""
    with serving(lambda _: chat_reply("a")) as server, asking(server, concurrency=1) as backend:
        replies = backend.answer([greedy(number) for number in range(20)])
        kept = [next(replies) for _ in range(3)]
        server.stop()
        rest = list(replies)
    assert len(texts(kept)) == 3
    assert set(kinds(rest)) == {"unreachable"}
    assert "the server is gone" in str(rest[-1].missing)


# Keys


def redirecting(target: str) -> Callable[[Asked], Answer]:
    return lambda asked: Answer("", 307, {"Location": f"{target}/chat/completions"})


def test_a_key_goes_to_the_allowed_host_and_a_redirect_elsewhere_drops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other server gets the request, and neither the key nor what the environment adds to requests."""
    monkeypatch.setenv("TEAM_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Extra: {KEY}")
    options = {"api_key_env": "TEAM_KEY", "allowed_hosts": ("127.0.0.1",)}
    with serving(lambda _: chat_reply("a")) as other, serving(redirecting(other.url)) as server:
        with asking(server, **options) as backend:  # type: ignore[arg-type]
            assert texts(list(backend.answer([greedy()]))) == ["a"]
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
        assert len(other.posts) == 1
        assert "authorization" not in other.posts[0].headers
        every = [asked.headers for asked in other.asked + server.asked]
    assert not [headers for headers in every if "org-secret" in str(headers) or "x-extra" in headers]


def test_a_server_without_a_key_gets_none_whatever_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_API_KEY is set, and stays here."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    with serving(lambda _: chat_reply("a")) as server, asking(server) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["a"]
    assert server.asked
    assert not [asked for asked in server.asked if KEY in str(asked.headers) or "authorization" in asked.headers]


def test_the_key_is_in_no_error_reason_text_or_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server repeats it wherever it can: in an error, in a text, in the models list, in a parameter's name."""
    monkeypatch.setenv("TEAM_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    models = {"data": [{"id": "m", "shutdown_note": f"for {KEY}"}]}

    def script(asked: Asked) -> Answer:
        content = asked.body["messages"][0]["content"]
        if content == "question 0":
            return chat_reply(f"your key is {KEY}", reason=KEY)
        if content == "question 1":
            return refusal(f"wrong: {asked.headers['authorization']}", param=KEY, code=KEY)
        return refusal(f"Incorrect API key provided: {KEY}", status=401)

    shown = []
    with serving(script, models) as server:
        with asking(server, api_key_env="TEAM_KEY", allowed_hosts=("127.0.0.1",)) as backend:
            shown += [str(reply) for reply in backend.answer([greedy(0), greedy(1)])]
            shown.append(str(backend.facts()))
            with pytest.raises(ModelError) as caught:
                list(backend.answer([greedy(2)]))
            shown.append(str(caught.value))
            shown += [repr(entry.locals) for entry in caught.traceback if "backends/openai" in str(entry.path)]
            shown.append(repr(vars(backend)))
        assert KEY in server.asked[0].headers["authorization"]
    shown += [caplog.text, *capsys.readouterr()]
    assert "[key]" in shown[0]
    assert not [text[max(0, text.find(KEY) - 200) : text.find(KEY) + 40] for text in shown if KEY in text]


def test_a_lacking_key_is_a_usage_error_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variable's name; making the backend is no error, for everything may be in the cache."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    settings = ModelSettings("openai:m")
    backend = OpenAIBackend(settings, api_identity(settings))
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        list(backend.answer([greedy()]))


# What the models list tells


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"deprecation_date": "2027-01-31"}, "deprecation_date = 2027-01-31"),
        ({"shutdown_date": 1798761600}, "shutdown_date = 2027-01-01"),
        ({"deprecation": {"inference": 1798761600}}, "deprecation.inference = 2027-01-01"),
        ({"deprecated": True}, "deprecated = True"),
    ],
)
def test_an_end_that_the_server_announces_becomes_a_warning(entry: dict[str, object], told: str) -> None:
    """In whatever field it stands, and only for the model that is asked."""
    models = {"data": [{"id": "other", "deprecated": True, "shutdown_date": "2020-01-01"}, {"id": "m"} | entry]}
    with serving(lambda _: chat_reply("a"), models) as server, asking(server) as backend:
        list(backend.answer([greedy()]))
        facts = backend.facts()
    assert facts is not None
    assert f"warning: the models list gives 'm' {told}" in facts.reason
    assert "2020" not in facts.reason


@pytest.mark.parametrize("models", [None, "<html>", {"data": "none"}, [], {"data": [{"id": "m", "deprecated": False}]}])
def test_a_models_list_of_any_shape_is_no_obstacle(models: object) -> None:
    """Servers without one answer all the same, and nothing is warned of."""
    with serving(lambda _: chat_reply("a"), models) as server, asking(server) as backend:
        assert texts(list(backend.answer([greedy()]))) == ["a"]
        facts = backend.facts()
    assert facts is not None
    assert "warning" not in facts.reason


# Event loops


def test_c27_it_works_inside_a_running_loop() -> None:
    """C27: 20 calls from a coroutine and from plain code: the same texts, and one hanging call ends as one timeout."""

    def script(asked: Asked) -> Answer:
        return Answer(delay=30) if "question 7" in str(asked.body) else chat_reply("a", index=0)

    def ask(server: ScriptedServer) -> list[str]:
        with asking(server, timeout_seconds=1.0) as backend:
            replies = list(backend.answer([greedy(number) for number in range(20)]))
        return sorted(kinds(replies) + texts([reply for reply in replies if reply.value is not None]))

    async def within(server: ScriptedServer) -> list[str]:
        found = ask(server)
        await asyncio.sleep(0)
        return found

    policy = asyncio.get_event_loop_policy()
    with serving(script) as server:
        plain = ask(server)
        assert asyncio.run(within(server)) == plain
    assert plain == ["a"] * 19 + ["timeout"]
    assert asyncio.get_event_loop_policy() is policy
    assert not [thread for thread in threading.enumerate() if thread.name == "truthguard-requests"]


def test_whoever_stops_listening_can_close() -> None:
    """An interrupted run leaves no thread and no request behind."""
    with serving(lambda _: Answer(chat_reply("a").body, delay=0.01)) as server, asking(server) as backend:
        replies = backend.answer([greedy(number) for number in range(200)])
        next(replies)
        replies.close()  # type: ignore[attr-defined]
        sent = len(server.posts)
        assert sent < 200
        assert texts(list(backend.answer([greedy(500)]))) == ["a"]


# From a name to a backend


def test_a_name_leads_to_this_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """identify and open_backend, which sends nothing; without the client the extra is named."""
    settings = ModelSettings("http://127.0.0.1:9/v1#m")
    identity = identify(settings)
    assert (identity.kind, identity.digest, identity.device, identity.dtype) == ("openai", None, "api", "")
    assert isinstance(open_backend(settings, allowed_hosts=("127.0.0.1",)), OpenAIBackend)
    assert missing_extra(settings) is None
    monkeypatch.setattr("truthguard.backends.loading.find_spec", lambda _: None)
    assert missing_extra(settings) == f'model {settings.name!r} needs openai: run `pip install "truthguard[api]"`'
    with pytest.raises(UsageError, match=r"truthguard\[api\]"):
        open_backend(settings)


def test_patience_is_what_the_servers_need_by_default() -> None:
    """Six attempts, half a second to eight, two minutes at most: what the other tests hurry."""
    assert (HASTY.attempts, HASTY.longest) == (Patience().attempts, Patience().longest) == (6, 120.0)
