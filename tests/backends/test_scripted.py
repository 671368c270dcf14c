"""Answers from a callable, held to the shape of what was asked."""

from __future__ import annotations

import pytest

from truthguard.backends.protocol import ContinuationScore, Masses, NextToken, Request, Score, Scores
from truthguard.backends.scripted import ScriptedBackend
from truthguard.errors import ModelError
from truthguard.records import Identity, Missing

SCORE = Score("a", ("b", "c"))
FORMS = NextToken("a", (("Yes",), ("No",)))
IDENTITY = Identity("scripted:m:n", "scripted", None)


def test_answers_come_in_order_with_what_the_handler_says() -> None:
    """Scores, masses and missing values are passed on as they are."""
    answers: dict[Request, object] = {
        SCORE: Scores((ContinuationScore(-1.0, 1), ContinuationScore(-2.0, 1))),
        FORMS: Masses((-1.0, None), unlisted=0.1),
    }
    backend = ScriptedBackend(answers.__getitem__, IDENTITY)
    assert (backend.identity(), backend.refuses(Score), backend.facts()) == (IDENTITY, None, None)
    assert [reply.value for reply in backend.answer([SCORE, FORMS, SCORE])] == [
        answers[SCORE],
        answers[FORMS],
        answers[SCORE],
    ]
    facts = backend.facts()
    assert facts is not None
    assert facts.scorer == "scripted"
    missing = ScriptedBackend(lambda _: Missing("refused", "no"), IDENTITY)
    assert [reply.missing for reply in missing.answer([FORMS])] == [Missing("refused", "no")]
    missing.close()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (SCORE, Scores((ContinuationScore(-1.0, 1),))),
        (SCORE, Masses((-1.0, -2.0))),
        (FORMS, Masses((-1.0,))),
        (FORMS, Scores(())),
        (FORMS, None),
        (SCORE, -1.0),
    ],
)
def test_an_answer_of_another_shape_is_an_error(request_: Request, answer: object) -> None:
    """One score too few would silently score another choice's answer."""
    with pytest.raises(ModelError, match=r"scripted:m:n: expected (Scores|Masses) with 2"):
        list(ScriptedBackend(lambda _: answer, IDENTITY).answer([request_]))
