"""Kept answers are not asked again, new ones are kept as they arrive."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.backends.openai_clients import asking
from tests.backends.scripted_server import serving
from tests.backends.scripted_words import complete
from tests.store.fakes import FACTS, IDENTITY, FakeBackend, reply_to, requests
from truthguard.backends.cached import MAX_AGE, CachedBackend
from truthguard.backends.protocol import (
    NO_USAGE,
    Backend,
    Generate,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Text,
    Usage,
)
from truthguard.errors import ModelError
from truthguard.records import Identity, Missing
from truthguard.store.answers import AnswerStore


@pytest.fixture
def store(tmp_path: Path) -> AnswerStore:
    return AnswerStore(tmp_path / "answers.sqlite3")


def cached(store: AnswerStore, inner: FakeBackend, identity: Identity = IDENTITY) -> Backend:
    return CachedBackend(identity, lambda: inner, store)


def no_model() -> Backend:
    raise AssertionError("a model was opened")


def test_a_second_run_opens_no_model(store: AnswerStore) -> None:
    """What was answered once is answered again without a model, marked as cached, otherwise the same."""
    first = list(cached(store, FakeBackend()).answer(requests(3)))
    second = list(CachedBackend(IDENTITY, no_model, store).answer(requests(3)))
    assert [reply.cached for reply in first] == [False] * 3
    assert second == [replace(reply, cached=True) for reply in first]


def test_only_what_is_missing_is_asked_all_at_once(store: AnswerStore) -> None:
    """The inner backend sees the requests without an answer in one call, in their order."""
    list(cached(store, FakeBackend()).answer(requests(5)[1:3]))
    inner = FakeBackend()
    replies = list(cached(store, inner).answer(requests(5)))
    assert inner.calls == 1
    assert inner.asked == [requests(5)[index] for index in (0, 3, 4)]
    assert {reply.request for reply in replies if reply.cached} == set(requests(5)[1:3])


def test_no_requests_open_no_model(store: AnswerStore) -> None:
    """Nothing asked is nothing opened."""
    assert list(CachedBackend(IDENTITY, no_model, store).answer([])) == []


def test_each_reply_is_kept_before_it_is_passed_on(store: AnswerStore) -> None:
    """Whoever stops in the middle has kept every reply that was seen."""
    replies = cached(store, FakeBackend()).answer(requests(5))
    next(replies)
    next(replies)
    inner = FakeBackend()
    list(cached(store, inner).answer(requests(5)))
    assert inner.asked == requests(5)[2:]


def test_a_failure_in_the_middle_keeps_what_was_answered(store: AnswerStore) -> None:
    """After a crash of the inner backend the answers before it are not asked again."""

    def crash(request: Request) -> Reply:
        if request == requests(5)[3]:
            raise ModelError("out of memory")
        return reply_to(request)

    with pytest.raises(ModelError, match="out of memory"):
        list(cached(store, FakeBackend(crash)).answer(requests(5)))
    inner = FakeBackend()
    list(cached(store, inner).answer(requests(5)))
    assert inner.asked == requests(5)[3:]


def test_any_order_of_completion_will_do(store: AnswerStore) -> None:
    """Replies that come in another order are kept under their own requests."""
    list(cached(store, FakeBackend(backwards=True)).answer(requests(4)))
    second = list(CachedBackend(IDENTITY, no_model, store).answer(requests(4)))
    assert [replace(reply, cached=False) for reply in second] == [reply_to(request) for request in requests(4)]


def test_equal_requests_are_asked_once(store: AnswerStore) -> None:
    """Equal requests of one call cost one question, now and when it is answered from the store.

    Each gets a reply that carries its own request; the first has what the answer took, the others nothing.
    """
    one, two, other = Score("q", (" a",)), Score("q", (" a",)), Score("r", ())
    inner = FakeBackend()
    for marked in (2, 4):
        replies = list(cached(store, inner).answer([one, other, two, one]))
        assert inner.asked == [one, other]
        assert len(replies) == 4
        assert sum(reply.request is one for reply in replies) == 2
        assert sum(reply.request is two for reply in replies) == 1
        assert sum(reply.cached for reply in replies) == marked
        assert sum((reply.usage for reply in replies), NO_USAGE) == Usage(20, 2, requests=2)


def test_a_reason_is_passed_on_and_asked_again(store: AnswerStore) -> None:
    """A reply without a value is nobody's answer: the next run asks again."""

    def refuse(request: Request) -> Reply:
        return Reply(request, datetime.now(UTC), missing=Missing("failed", "no"))

    (reply,) = cached(store, FakeBackend(refuse)).answer(requests(1))
    assert reply.missing == Missing("failed", "no")
    inner = FakeBackend()
    (reply,) = cached(store, inner).answer(requests(1))
    assert (reply.missing, reply.cached, len(inner.asked)) == (None, False, 1)


def test_another_identity_shares_nothing(store: AnswerStore) -> None:
    """Another model, dtype or library version is asked itself."""
    list(cached(store, FakeBackend()).answer(requests(2)))
    for other in (replace(IDENTITY, dtype="bfloat16"), replace(IDENTITY, libraries={"fake": "2"})):
        inner = FakeBackend()
        list(cached(store, inner, other).answer(requests(2)))
        assert len(inner.asked) == 2


@pytest.mark.parametrize(
    ("digest", "age", "asked"),
    [
        (None, MAX_AGE - timedelta(minutes=5), 0),
        (None, MAX_AGE + timedelta(minutes=5), 1),
        ("0" * 64, timedelta(days=4000), 0),
    ],
)
def test_answers_that_may_change_grow_old(store: AnswerStore, digest: str | None, age: timedelta, asked: int) -> None:
    """A model without a digest is asked again after 12 hours; one with a digest never."""
    identity = replace(IDENTITY, digest=digest)

    def long_ago(request: Request) -> Reply:
        return Reply(request, datetime.now(UTC) - age, value=Masses((-1.0,)))

    list(cached(store, FakeBackend(long_ago), identity).answer(requests(1)))
    inner = FakeBackend()
    list(cached(store, inner, identity).answer(requests(1)))
    assert len(inner.asked) == asked


@pytest.mark.parametrize(("hours", "asked"), [(0.0, 1), (1.0, 1), (3.0, 0)])
def test_the_age_is_the_models_own(store: AnswerStore, hours: float, asked: int) -> None:
    """`max_age` is what the settings say; 0 asks anew each time."""
    identity = replace(IDENTITY, digest=None)

    def two_hours_ago(request: Request) -> Reply:
        return Reply(request, datetime.now(UTC) - timedelta(hours=2), value=Masses((-1.0,)))

    list(cached(store, FakeBackend(two_hours_ago), identity).answer(requests(1)))
    inner = FakeBackend()
    list(CachedBackend(identity, lambda: inner, store, max_age=timedelta(hours=hours)).answer(requests(1)))
    assert len(inner.asked) == asked


def test_a_resumed_run_goes_by_its_beginning(store: AnswerStore) -> None:
    """What was young enough when the run was begun serves when it goes on a week later; what was too old does not."""
    identity = replace(IDENTITY, digest=None)
    begun = datetime.now(UTC) - timedelta(days=7)
    ages = {requests(3)[0]: timedelta(hours=-3), requests(3)[1]: timedelta(hours=11), requests(3)[2]: timedelta(13)}

    def about_then(request: Request) -> Reply:
        return Reply(request, begun - ages[request], value=Masses((-1.0,)))

    list(cached(store, FakeBackend(about_then), identity).answer(requests(3)))
    inner = FakeBackend()
    resumed = CachedBackend(identity, lambda: inner, store)
    resumed.begin(begun)
    list(resumed.answer(requests(3)))
    assert inner.asked == requests(3)[2:]
    resumed.begin(datetime.now(UTC))
    list(resumed.answer(requests(3)[:1]))
    assert inner.asked == [requests(3)[2], requests(3)[0]]


def test_texts_are_kept_by_sample_attempt_and_seed(store: AnswerStore) -> None:
    """Each sample of a prompt is an answer of its own; asked for more, only the new ones are asked."""

    def write(request: Request) -> Reply:
        assert isinstance(request, Generate)
        return Reply(request, datetime.now(UTC), value=Text(f"sample {request.sample}\ud800", "stop"))

    samples = [Generate("judge this", 64, temperature=0.7, seed=7 + index, sample=index) for index in range(8)]
    first = list(cached(store, FakeBackend(write)).answer(samples[:5]))
    inner = FakeBackend(write)
    replies = list(cached(store, inner).answer(samples))
    assert inner.asked == samples[5:]
    assert [reply.value for reply in replies if reply.cached] == [reply.value for reply in first]
    again = [replace(samples[0], attempt=1), replace(samples[0], seed=8), replace(samples[0], max_tokens=128)]
    list(cached(store, inner).answer(again))
    assert inner.asked[3:] == again


def test_facts_survive_the_model(store: AnswerStore) -> None:
    """What was learnt stands there in a run that asked nothing, which then spent no second on loading."""
    first = cached(store, FakeBackend())
    assert first.facts() is None
    list(first.answer(requests(1)))
    assert first.facts() == FACTS
    second = CachedBackend(IDENTITY, no_model, store)
    list(second.answer(requests(1)))
    assert second.facts() == replace(FACTS, seconds_load=0.0)
    assert CachedBackend(replace(IDENTITY, dtype="float16"), no_model, store).facts() is None


def test_facts_are_kept_with_the_first_reply(store: AnswerStore) -> None:
    """A run killed after its last reply leaves the facts, too: nobody will load the model to learn them."""
    replies = cached(store, FakeBackend()).answer(requests(1))
    next(replies)
    assert CachedBackend(IDENTITY, no_model, store).facts() == replace(FACTS, seconds_load=0.0)


def test_what_is_kept_needs_nobody_who_could_refuse(store: AnswerStore) -> None:
    """Nothing is opened to ask whether it refuses, so a run whose answers are all there sends no probe."""
    list(cached(store, FakeBackend()).answer(requests(3)))
    backend = CachedBackend(IDENTITY, no_model, store)
    assert backend.refuses(Score) is None
    assert all(reply.cached for reply in backend.answer(requests(3)))


def test_a_kept_run_through_a_server_sends_nothing(store: AnswerStore) -> None:
    """Neither a probe nor a look at the models list; what is refused is the reason of those who ask anew."""
    score = Score("Q: what\nA:", (" this", " that"))
    with serving(complete) as server, asking(server) as inner:
        first = list(CachedBackend(inner.identity(), lambda: inner, store).answer([score]))
        sent = len(server.asked)
        again = CachedBackend(inner.identity(), lambda: inner, store)
        assert again.refuses(Score) is None
        second = list(again.answer([score]))
        assert len(server.asked) == sent > 0
    assert [reply.value for reply in second] == [reply.value for reply in first]
    with serving(lambda asked: complete(asked, echo=None)) as server, asking(server) as inner:
        refusing = CachedBackend(inner.identity(), lambda: inner, store)
        with pytest.raises(ModelError, match=r"#m cannot be asked for this: POST .*/completions: log-likelihoods"):
            list(refusing.answer([score]))


def test_a_refusal_of_what_is_missing_comes_before_any_reply(store: AnswerStore) -> None:
    """In the inner backend's words and with the model's name; nothing is asked, nothing loaded."""
    list(cached(store, FakeBackend()).answer(requests(1)))
    inner = FakeBackend(refusal="no log-probabilities")
    replies = cached(store, inner).answer(requests(2))
    with pytest.raises(ModelError, match=r"^fake cannot be asked for this: no log-probabilities$"):
        next(replies)
    assert (inner.calls, inner.loaded) == (0, False)


def test_only_kinds_that_are_missing_can_be_refused(store: AnswerStore) -> None:
    """Kept log-likelihoods serve beside a new question of another kind, though they could not be had any more."""
    list(cached(store, FakeBackend()).answer(requests(2)))

    class NoScores(FakeBackend):
        def refuses(self, kind: type[Request]) -> str | None:
            return "no log-likelihoods" if kind is Score else None

    inner = NoScores()
    new = NextToken("q", (("yes",), ("no",)))
    replies = list(cached(store, inner).answer([*requests(2), new]))
    assert [reply.cached for reply in replies] == [True, True, False]
    assert inner.asked == [new]
    with pytest.raises(ModelError, match="no log-likelihoods"):
        list(cached(store, inner).answer([*requests(3), replace(new, context="r")]))
    assert inner.asked == [new]


def test_closing_frees_the_model_and_answering_opens_it_anew(store: AnswerStore) -> None:
    """After `close` the inner backend is closed; the next question opens a new one."""
    opened: list[FakeBackend] = []

    def open_inner() -> Backend:
        opened.append(FakeBackend())
        return opened[-1]

    backend = CachedBackend(IDENTITY, open_inner, store)
    backend.close()
    assert opened == []
    list(backend.answer(requests(1)))
    backend.close()
    assert [each.closed for each in opened] == [1]
    list(backend.answer(requests(2)))
    assert [each.asked for each in opened] == [requests(1), requests(2)[1:]]
    assert backend.identity() == IDENTITY
