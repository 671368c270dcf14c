"""A run holds the dialogues of many items with one backend and says what became of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.store.fakes import FACTS, IDENTITY, MOMENT, FakeBackend, reply_to, requests
from truthguard.backends.cached import CachedBackend
from truthguard.backends.protocol import (
    ContinuationScore,
    Masses,
    NextToken,
    Reply,
    Request,
    Score,
    Scores,
    Usage,
)
from truthguard.benchmarks.base import Dialogue, QuestionSet, Role
from truthguard.errors import ModelError, StoreError, UsageError
from truthguard.metrics.summary import summarise
from truthguard.records import (
    BenchmarkSettings,
    Choice,
    Counts,
    ItemScores,
    Missing,
    ModelSettings,
    Question,
    Run,
    Selection,
)
from truthguard.runner import run, run_key
from truthguard.runner.rounds import hold
from truthguard.store.answers import AnswerStore

BENCHMARK = BenchmarkSettings("animals")
MODEL = ModelSettings("fake")


def question(number: int) -> Question:
    choices = (
        Choice(f"right{number}", True, True),
        Choice(f"wrong answer {number}", False, True),
        Choice(f"another wrong answer {number}", False, True),
    )
    return Question(f"q-{number}", "all", f"Question {number}?", choices, choices[0].text, choices[1].text)


def question_set(count: int) -> QuestionSet:
    return QuestionSet(
        name="animals",
        version="1",
        items=tuple(map(question, range(count))),
        primers={"qa": "Q: Is this a test?\nA: Yes."},
        data_sha256="d" * 64,
        file_sha256="f" * 64,
        counts={"dropped_choices": 3},
        path=Path("animals.jsonl"),
    )


def measure(backend: Any, count: int = 4, metrics: Sequence[str] = ("mc1", "mc2", "mc_binary"), **options: Any) -> Run:
    questions = question_set(count)
    arguments: dict[str, Any] = {"settings": BENCHMARK, "model": MODEL, "selection": Selection()} | options
    return run(questions, questions.items, frozenset(metrics), backend, **arguments)


def scores(name: str) -> ItemScores:
    return ItemScores(name, "all", "?", {"mc1": 1.0})


def asking(name: str, rounds: Sequence[Sequence[Request]], heard: list[object], role: Role = "model") -> Dialogue:
    """A dialogue that asks in rounds and notes what it is told."""
    for each in rounds:
        replies = yield role, each
        heard.append((name, [reply.request for reply in replies]))
    return scores(name)


# Dialogues


def test_each_dialogue_hears_its_replies_in_its_order() -> None:
    """Whatever the order of completion, a dialogue is sent the replies to its requests, in their order."""
    heard: list[object] = []
    mine = requests(3)
    yours: list[Request] = [Score("yours", (" a",)), NextToken("yours", (("A",), ("B",)))]
    backend = FakeBackend(backwards=True)
    held = hold([asking("mine", [mine], heard), asking("yours", [yours], heard)], backend)
    assert heard == [("mine", mine), ("yours", yours)]
    assert held.items == (scores("mine"), scores("yours"))
    assert backend.calls == 1


def test_the_requests_of_a_round_go_out_together() -> None:
    """Dialogues that ask again do so in common rounds; those that are done are left in peace."""
    heard: list[object] = []
    one, two, three = ((request,) for request in requests(3))
    backend = FakeBackend()
    dialogues = [asking("a", [one, two], heard), asking("b", [three], heard), asking("c", [], heard)]
    held = hold(dialogues, backend)
    assert [item.id for item in held.items] == ["a", "b", "c"]
    assert backend.calls == 2
    assert backend.asked == [*one, *three, *two]
    assert heard == [("a", [*one]), ("b", [*three]), ("a", [*two])]


def test_equal_requests_of_two_items_each_have_a_reply(tmp_path: Path) -> None:
    """Two items that ask the same are each answered, though the model is asked once, which is what is counted."""
    heard: list[object] = []
    inner = FakeBackend()
    backend = CachedBackend(IDENTITY, lambda: inner, AnswerStore(tmp_path / "answers"))
    held = hold([asking(name, [requests(1) * 2], heard) for name in "ab"], backend)
    assert heard == [("a", requests(1) * 2), ("b", requests(1) * 2)]
    tally = held.model.tally
    assert (tally.replies, tally.counts(), len(inner.asked)) == (4, Counts(1, prompt_tokens=10, completion_tokens=1), 1)


def test_a_dialogue_that_asks_nothing_goes_on() -> None:
    """An empty list of requests is answered with an empty list, without a call to the backend."""
    heard: list[object] = []
    backend = FakeBackend()
    held = hold([asking("a", [[], []], heard)], backend)
    assert (held.items, heard, backend.calls) == ((scores("a"),), [("a", []), ("a", [])], 0)


def test_a_judge_that_is_not_there_is_told() -> None:
    """A dialogue that wants a judge is an error before anything is sent."""
    backend = FakeBackend()
    with pytest.raises(ModelError, match="asks a judge, and none is set"):
        hold([asking("a", [requests(1)], []), asking("b", [requests(1)], [], "judge")], backend)
    assert backend.asked == []


def test_what_the_backend_refuses_is_not_sent() -> None:
    """A kind of request that the backend cannot answer ends the run, in the backend's words, unasked."""
    backend = FakeBackend(refusal="no prompt log-probabilities: use mc2")
    with pytest.raises(ModelError, match="fake cannot be asked for this: no prompt log-probabilities: use mc2"):
        measure(backend)
    assert backend.asked == []


def test_progress_counts_to_the_total() -> None:
    """Progress begins at 0 of all requests and ends at all; a second round raises the total."""
    seen: list[tuple[int, int]] = []
    hold(
        [asking("a", [requests(2), requests(3)[2:]], [])],
        FakeBackend(),
        lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 2), (1, 2), (2, 2), (2, 3), (3, 3)]


# Failures


def fail_at(number: int, error: BaseException) -> Callable[[Request], Reply]:
    seen = 0

    def reply(request: Request) -> Reply:
        nonlocal seen
        seen += 1
        if seen > number:
            raise error
        return reply_to(request)

    return reply


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("the server went away."), "the server went away"),
        (RuntimeError("CUDA out of memory"), "RuntimeError: CUDA out of memory"),
        (ZeroDivisionError(), "ZeroDivisionError"),
    ],
)
def test_a_failure_says_how_far_it_got(error: Exception, words: str) -> None:
    """A backend that fails in the middle is named, with its words and the share that was answered."""
    with pytest.raises(ModelError) as failed:
        hold([asking("a", [requests(5)], [])], FakeBackend(fail_at(3, error)))
    assert str(failed.value).startswith(f"fake failed: {words}. 3 of 5 requests were answered;")
    assert failed.value.__cause__ is error


def test_a_model_that_cannot_be_loaded_speaks_for_itself() -> None:
    """Before the first reply a backend's own error stands alone."""
    error = ModelError("no such model: did you mean another?")
    with pytest.raises(ModelError) as failed:
        hold([asking("a", [requests(1)], [])], FakeBackend(fail_at(0, error)))
    assert failed.value is error


@pytest.mark.parametrize("error", [StoreError("disk full"), UsageError("no such device"), KeyboardInterrupt()])
def test_other_errors_pass_through(error: BaseException) -> None:
    """A full disk, a usage error and an interrupt are not the model's failure."""
    with pytest.raises(type(error)) as failed:
        hold([asking("a", [requests(5)], [])], FakeBackend(fail_at(2, error)))
    assert failed.value is error


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        (lambda asked: [reply_to(asked[0])], "it stopped before every request had its reply. 1 of 2"),
        (lambda asked: [], "it stopped before every request had its reply. 0 of 2"),
        (lambda asked: [reply_to(asked[0])] * 2, "it answered what it was not asked, or answered twice. 1 of 2"),
        (lambda asked: [reply_to(requests(9)[8])], "it answered what it was not asked, or answered twice. 0 of 2"),
    ],
)
def test_a_backend_that_miscounts_is_told(replies: Callable[[list[Request]], list[Reply]], words: str) -> None:
    """Too few replies, repeated or unknown ones are a failure of the backend, never a silent gap."""

    class Miscounting(FakeBackend):
        def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
            return iter(replies(list(requests)))

    with pytest.raises(ModelError, match=words):
        hold([asking("a", [requests(2)], [])], Miscounting())


def test_after_a_failure_only_the_rest_is_asked(tmp_path: Path) -> None:
    """The run that follows a crash asks what was not answered and equals one that never crashed."""
    store = AnswerStore(tmp_path / "answers")
    crashing = FakeBackend(fail_at(7, RuntimeError("crash")))
    with pytest.raises(ModelError, match=r"7 of 24 requests"):
        measure(CachedBackend(IDENTITY, lambda: crashing, store))
    inner = FakeBackend()
    resumed = measure(CachedBackend(IDENTITY, lambda: inner, store))
    assert len(inner.asked) == 24 - 7
    whole = measure(FakeBackend())
    assert resumed.items == whole.items
    assert replace(resumed.counts, cached=0) == whole.counts
    assert resumed.counts.cached == 7


# The run


def test_a_run_says_what_was_measured() -> None:
    """A run carries the data's digests, the model's identity and facts, the settings and every item."""
    settings = BenchmarkSettings("animals", prompt="null", normalization="per_byte")
    model = ModelSettings("fake", scorer="plain", batch_tokens=64)
    selection = Selection(sample=4, seed=7)
    measured = measure(FakeBackend(), metrics=["mc1"], settings=settings, model=model, selection=selection)
    assert (measured.benchmark, measured.version) == ("animals", "1")
    assert (measured.data_sha256, measured.file_sha256) == ("d" * 64, "f" * 64)
    assert measured.model == IDENTITY
    assert measured.complete
    assert measured.settings == {
        "prompt": "null",
        "normalization": "per_byte",
        "closing_period": False,
        "order": "both",
        "reference": True,
        "grades": False,
        "chat_template": False,
        "system_prompt": None,
        "limit": None,
        "sample": 4,
        "seed": 7,
        "batch_tokens": 64,
        "scorer": "plain",
    }
    assert [item.id for item in measured.items] == ["q-0", "q-1", "q-2", "q-3"]
    assert all(set(item.values) == {"mc1_per_byte"} for item in measured.items)
    assert measured.counts.dropped_choices == 3


def test_the_counts_add_up() -> None:
    """Requests, tokens, retries, cut contexts and merged boundaries are summed over all replies."""

    def reply(request: Request) -> Reply:
        usage = Usage(prompt_tokens=100, completion_tokens=2, retries=1)
        if isinstance(request, NextToken):
            masses = Masses((-1.0, -1.0), truncated=request.context.endswith("A: ("))  # type: ignore[union-attr]
            return Reply(request, MOMENT, value=masses, usage=usage)
        each = ContinuationScore(-2.0, 3, truncated=True, merged=True)
        value = Scores((each, replace(each, merged=False), replace(each, truncated=False)))
        return Reply(request, MOMENT, value=value, usage=usage)

    counts = measure(FakeBackend(reply), count=2).counts
    # Two questions: one request for the log-likelihoods, three yes/no ones, two letters.
    assert (counts.requests, counts.cached, counts.retries) == (12, 0, 12)
    assert (counts.prompt_tokens, counts.completion_tokens) == (1200, 24)
    assert counts.truncated == 2 * (2 + 2)
    assert counts.boundary_merges == 2 * 2
    assert (counts.tied_best, counts.degenerate) == (2, 2)


def test_the_oldest_answer_is_the_oldest() -> None:
    """The age of a run's answers is that of its oldest reply, kept ones included; of none there is none."""

    def reply(request: Request) -> Reply:
        number = int(str(request.context).rsplit("Question ", 1)[1][0])
        return replace(reply_to(request), answered_at=MOMENT - timedelta(days=number % 3))

    assert measure(FakeBackend(reply), metrics=["mc1"]).oldest_answer == MOMENT - timedelta(days=2)
    assert hold([], FakeBackend()).model.tally.oldest_answer is None


def test_loading_is_no_scoring(tmp_path: Path) -> None:
    """The seconds of loading are told apart; a run that found its model loaded, or asked nothing, has none."""
    store = AnswerStore(tmp_path / "answers")
    backend = CachedBackend(IDENTITY, FakeBackend, store)
    first = measure(backend, metrics=["mc1"])
    second = measure(backend, metrics=["mc2"])
    kept = measure(CachedBackend(IDENTITY, FakeBackend, store), metrics=["mc1"])
    assert [each.seconds_load for each in (first, second, kept)] == [2.5, 0.0, 0.0]
    assert [each.scorer for each in (first, second, kept)] == [
        FACTS,
        replace(FACTS, seconds_load=0.0),
        replace(FACTS, seconds_load=0.0),
    ]
    assert all(each.seconds >= 0.0 for each in (first, second, kept))


def test_seconds_are_without_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten seconds between the first request and the last reply, two and a half of loading are taken off."""
    # The run, and within it the one round of questions to the model.
    clock = iter((100.0, 101.0, 109.0, 110.0))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    measured = measure(FakeBackend(), count=1)
    assert (measured.seconds, measured.seconds_load) == (7.5, 2.5)


def test_the_backend_stays_open() -> None:
    """The next benchmark finds the model loaded: who opened it closes it."""
    backend = FakeBackend()
    measure(backend)
    assert (backend.closed, backend.loaded) == (0, True)


def test_c17_items_that_fail_leave_the_average_visibly() -> None:
    """C17: failed items enter no mean and no count of scored ones; how many and why stands beside the score."""

    def system(replies: dict[int, str]) -> Callable[[Request], Reply]:
        def reply(request: Request) -> Reply:
            outcome = replies[int(str(request.context).rsplit("Question ", 1)[1][0])]
            if outcome == "error":
                return Reply(request, MOMENT, missing=Missing("failed", "the server went away"))
            right = -1.0 if outcome == "1" else -9.0
            numbers = [ContinuationScore(each, 1) for each in (right, -5.0, -6.0)]
            return Reply(request, MOMENT, value=Scores(tuple(numbers)))

        return reply

    whole = measure(FakeBackend(system(dict(enumerate("1010")))), metrics=["mc1"])
    lossy = measure(FakeBackend(system({0: "1", 1: "error", 2: "1", 3: "error"})), metrics=["mc1"])
    a, b = (summarise(each.items, "mc1", 0.95) for each in (whole, lossy))
    assert (a.estimate, a.n, a.n_unscored) == (0.5, 4, 0)
    assert (b.estimate, b.n, b.n_unscored) == (1.0, 2, 2)
    assert (b.bound_low, b.bound_high) == (0.5, 1.0)
    assert b.unscored == {"failed": 2}
    assert [item.values["mc1"] for item in lossy.items] == [1.0, None, 1.0, None]
    assert lossy.items[1].reasons["mc1"] == Missing("failed", "the server went away")


# The key


def test_the_key_is_the_same_for_the_same_run() -> None:
    """Two processes that prepare the same run find each other, whatever the order of their sets."""
    questions = question_set(3)
    arguments = (IDENTITY, questions, questions.items, frozenset({"mc1", "mc2"}), BENCHMARK, MODEL, Selection())
    key = run_key(*arguments)
    assert key == run_key(IDENTITY, question_set(3), list(questions.items), frozenset(["mc2", "mc1"]), *arguments[4:])
    assert len(key) == 64
    assert set(key) <= set("0123456789abcdef")


def test_whatever_decides_a_run_changes_its_key() -> None:
    """Another model, data, primer, selection, metric or setting is another run."""
    base: dict[str, Any] = {
        "identity": IDENTITY,
        "questions": question_set(3),
        "selected": question_set(3).items,
        "metrics": frozenset({"mc1"}),
        "settings": BENCHMARK,
        "model": MODEL,
        "selection": Selection(),
    }
    changes: list[dict[str, Any]] = [
        {"identity": replace(IDENTITY, device="cuda")},
        {"questions": replace(question_set(3), data_sha256="e" * 64)},
        {"questions": replace(question_set(3), primers={"qa": "other"})},
        {"selected": question_set(2).items},
        {"metrics": frozenset({"mc1", "mc3"})},
        {"settings": replace(BENCHMARK, name="plants")},
        {"settings": replace(BENCHMARK, normalization="per_token")},
        {"model": replace(MODEL, system_prompt="Be honest.")},
        {"model": replace(MODEL, chat_template=True)},
        {"selection": Selection(limit=3)},
    ]
    keys = [run_key(**base)] + [run_key(**base | change) for change in changes]
    assert len(set(keys)) == len(keys)
