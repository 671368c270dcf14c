"""A judge beside the model: who is asked when, who makes room for whom, and what the run says of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.store.fakes import FACTS, IDENTITY, MOMENT, FakeBackend
from tests.test_runner import BENCHMARK, MODEL, question_set
from truthguard.backends.protocol import Generate, Reply, Request, Text, Usage
from truthguard.benchmarks import injection
from truthguard.errors import ModelError
from truthguard.judges.prompts import prompt_digest
from truthguard.records import Facts, Identity, JudgeSettings, Missing, ModelSettings, Probe, Run, Selection
from truthguard.runner import run, run_key
from truthguard.store.encoding import digest

LOCAL = replace(IDENTITY, name="model", kind="huggingface")
OTHER = replace(IDENTITY, name="judge", kind="huggingface", digest="1" * 64)
API = Identity("openai:judge", "openai", None, "api", "")
JUDGE = JudgeSettings("rubric", ModelSettings("judge"), samples=2)


class Diary(FakeBackend):
    """A backend that notes in a common list when it is asked and closed."""

    def __init__(self, notes: list[str], reply: Callable[[Request], Reply], identity: Identity) -> None:
        super().__init__(reply, identity=identity)
        self._notes = notes

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        asked = list(requests)
        self._notes.append(f"{self.identity().name} {len(asked)}")
        return super().answer(asked)

    def close(self) -> None:
        super().close()
        self._notes.append(f"{self.identity().name} closed")


def written(request: Request) -> Reply:
    return Reply(request, MOMENT, value=Text("It is right0.", "stop"), usage=Usage(20, 5))


def verdict(request: Request) -> Reply:
    assert isinstance(request, Generate)
    word = "yes" if request.sample == 0 else "no"
    value = Text(f"Reasons.\n\nVerdict: {word}", "stop")
    return Reply(request, MOMENT, value=value, usage=Usage(100, 9, retries=1))


def measure(
    backend: Any, judge_backend: Any, metrics: Iterable[str] = ("truthful", "correctness"), **options: Any
) -> Run:
    questions = question_set(3)
    arguments: dict[str, Any] = {"judge": JUDGE, "judge_backend": judge_backend} | options
    return run(questions, questions.items, frozenset(metrics), backend, BENCHMARK, MODEL, Selection(), **arguments)


def test_the_model_is_drained_and_closed_before_a_local_judge_is_asked() -> None:
    """Both fit on one device: everything is asked of the model, it is closed, and only then the judge is asked."""
    notes: list[str] = []
    measure(Diary(notes, written, LOCAL), Diary(notes, verdict, OTHER))
    assert notes == ["judge closed", "model 3", "model closed", "judge 3", "model closed", "judge 6"]


def test_a_judge_behind_an_api_needs_no_room() -> None:
    """The local model stays loaded for the next benchmark."""
    model = FakeBackend(written, identity=LOCAL)
    measure(model, FakeBackend(verdict, identity=API))
    assert (model.closed, model.loaded) == (0, True)


def test_the_same_weights_in_both_roles_are_one_backend() -> None:
    """It is never closed between the two, and each role's traffic is counted by itself."""

    def either(request: Request) -> Reply:
        assert isinstance(request, Generate)
        return written(request) if request.max_tokens == 50 else verdict(request)

    both = FakeBackend(either, identity=LOCAL)
    measured = measure(both, both)
    assert both.closed == 0
    assert measured.judge is not None
    assert (measured.counts.requests, measured.judge.counts.requests) == (3, 9)


def test_loading_in_parts_is_counted_once() -> None:
    """A backend that prepares something more for a later request has loaded for the sum, not for twice the first."""

    class Growing(FakeBackend):
        def facts(self) -> Facts | None:
            return replace(FACTS, seconds_load=2.0 + self.calls) if self.loaded else None

    measured = measure(FakeBackend(written), Growing(verdict, identity=API))
    assert measured.judge is not None
    # Two rounds, truth and correctness: 3 seconds after the first, 4 after the second.
    assert measured.judge.seconds_load == 4.0
    assert measured.judge.scorer == replace(FACTS, seconds_load=4.0)


def test_a_run_tells_the_judges_part_apart() -> None:
    """Identity, settings, prompts and traffic of the judge stand by themselves; the model's are the model's alone."""
    measured = measure(FakeBackend(written, identity=LOCAL), FakeBackend(verdict, identity=API))
    judge = measured.judge
    assert judge is not None
    assert (measured.model, judge.identity, judge.kind) == (LOCAL, API, "rubric")
    # Three verdicts on truth, two samples each of correctness.
    assert (judge.counts.requests, judge.counts.retries) == (9, 9)
    assert (judge.counts.prompt_tokens, judge.counts.completion_tokens) == (900, 81)
    assert (measured.counts.requests, measured.counts.prompt_tokens, measured.counts.completion_tokens) == (3, 60, 15)
    assert judge.settings["samples"] == 2
    prompts = {name: prompt_digest(name) for name in ("rubric_truthful", "correctness")}
    assert (judge.prompts, judge.prompt_digest) == (prompts, digest(prompts))
    assert [item.values for item in measured.items] == [{"truthful": 1.0, "correctness": 0.5}] * 3
    assert [(each.question, each.index, each.kind) for each in measured.items[0].samples] == [
        ("truthful", 0, "yes"),
        ("correctness", 0, "yes"),
        ("correctness", 1, "no"),
    ]


def test_similarity_judges_without_a_backend() -> None:
    """The run says that similarity judged; nobody was asked and no prompt was used."""
    measured = measure(FakeBackend(written), None, ["truthful"], judge=JudgeSettings())
    judge = measured.judge
    assert judge is not None
    assert (judge.identity, judge.kind, judge.prompt_digest, judge.counts.requests) == (None, "similarity", None, 0)
    assert judge.settings["measure"] == "rouge1"


def test_a_run_of_nothing_judged_has_no_judge() -> None:
    """A judge that is configured and not needed leaves no trace."""
    assert measure(FakeBackend(), FakeBackend(verdict), ["mc1"]).judge is None
    assert measure(FakeBackend(written), FakeBackend(verdict), ["bleu_acc"]).judge is None


def test_a_judge_that_is_not_there_is_told_where_to_name_one() -> None:
    """A metric that asks a judge's model, without a backend for it, is an error of the run."""
    with pytest.raises(ModelError, match="none is set: name its model in \\[judge\\] or with --truthguard-judge"):
        measure(FakeBackend(written), None)


def test_a_judge_that_fails_is_named_with_its_own_count() -> None:
    """The words of the failure are the judge's, and so is how far it got; the model's answers are not lost."""
    seen = 0

    def fail(request: Request) -> Reply:
        nonlocal seen
        seen += 1
        if seen > 2:
            raise RuntimeError("the server is gone")
        return verdict(request)

    with pytest.raises(ModelError) as failed:
        measure(FakeBackend(written, identity=LOCAL), FakeBackend(fail, identity=API))
    assert str(failed.value).startswith("openai:judge failed: RuntimeError: the server is gone. 2 of 3 requests")


def test_progress_runs_over_both_roles() -> None:
    """The total grows when the judge's requests are known, and the count never falls."""
    seen: list[tuple[int, int]] = []
    measure(
        FakeBackend(written),
        FakeBackend(verdict),
        ["truthful"],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 6), (4, 6), (5, 6), (6, 6)]


def test_what_decides_a_judgement_changes_the_key() -> None:
    """Another judge, kind or number of samples is another run; how an API is asked is not."""
    questions = question_set(3)
    base: dict[str, Any] = {"judge": JUDGE, "judge_identity": API}

    def key(metrics: Iterable[str] = ("truthful",), model: ModelSettings = MODEL, **changes: Any) -> str:
        arguments = (IDENTITY, questions, questions.items, frozenset(metrics), BENCHMARK, model, Selection())
        return run_key(*arguments, **base | changes)

    others = [
        key(judge=replace(JUDGE, kind="logprob")),
        key(judge=replace(JUDGE, samples=3)),
        key(judge=replace(JUDGE, model=ModelSettings("judge", system_prompt="Be strict."))),
        key(judge_identity=replace(API, name="openai:newer")),
        key(["truthful", "correctness"]),
    ]
    assert len({key(), *others}) == 1 + len(others)
    traffic: dict[str, Any] = {
        "api_key_env": "KEY",
        "concurrency": 99,
        "timeout_seconds": 1.0,
        "max_requests": 7,
        "cache_max_age_hours": 1.0,
    }
    assert key() == key(judge=replace(JUDGE, model=ModelSettings("judge", **traffic)))
    assert key() == key(model=replace(MODEL, **traffic))
    assert key(["mc1"]) == key(["mc1"], judge=replace(JUDGE, samples=3))


@pytest.mark.parametrize("kind", ["max_requests", "rate_limited", "quota", "unreachable"])
def test_a_run_that_a_backend_stopped_is_not_complete(kind: str) -> None:
    """It says by what, on either side; another reason for one reply leaves it whole."""
    missing = Missing(kind, "what was answered is kept")

    def none(request: Request) -> Reply:
        return Reply(request, MOMENT, missing=missing)

    measured = measure(FakeBackend(written, identity=LOCAL), FakeBackend(none, identity=API))
    assert (measured.complete, measured.stopped) == (False, missing)
    assert [item.reasons["truthful"] for item in measured.items] == [missing] * 3
    measured = measure(FakeBackend(none, identity=LOCAL), FakeBackend(verdict, identity=API))
    assert (measured.complete, measured.stopped) == (False, missing)
    missing = Missing("does_not_fit", "too long")
    measured = measure(FakeBackend(none, identity=LOCAL), FakeBackend(verdict, identity=API))
    assert (measured.complete, measured.stopped) == (True, None)


@pytest.mark.parametrize(("lacking", "complete"), [((), True), (("It is right1.",), False)])
def test_what_a_later_attempt_brought_was_not_left_out(lacking: tuple[str, ...], complete: bool) -> None:
    """The server was busy for a sample of each item and answered the second attempt of those that are not lacking."""
    busy = Missing("rate_limited", "POST /chat/completions: status 429")

    def reply(request: Request) -> Reply:
        assert isinstance(request, Generate)
        if request.sample == 1 and (request.attempt == 0 or any(answer in str(request.context) for answer in lacking)):
            return Reply(request, MOMENT, missing=busy)
        return verdict(request)

    def numbered(request: Request) -> Reply:
        number = str(request.context).rsplit("Question ", 1)[1][0]
        return Reply(request, MOMENT, value=Text(f"It is right{number}.", "stop"))

    measured = measure(FakeBackend(numbered), FakeBackend(reply, identity=API), ["correctness"])
    kinds = [item.samples[1].kind for item in measured.items]
    assert kinds == ["no", "no" if complete else "failed", "no"]
    assert (measured.complete, measured.stopped) == (complete, None if complete else busy)


def test_probes_of_a_metric_that_is_not_asked_are_no_part_of_the_run() -> None:
    """A run for tone alone holds the probes of tone."""
    questions = injection.load()
    selected = [item for item in questions.items if isinstance(item, Probe)][-3:]
    others = [item for item in questions.items if isinstance(item, Probe) and item.metric == "flipped"][:2]
    measured = run(
        questions,
        [*others, *selected],
        frozenset(["tone"]),
        None,
        BENCHMARK,
        None,
        Selection(),
        judge=JUDGE,
        judge_backend=FakeBackend(verdict, identity=API),
    )
    assert [item.id for item in measured.items] == [item.id for item in selected]
