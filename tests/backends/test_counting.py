"""What a dry run counts."""

from __future__ import annotations

import pytest

from truthguard.backends.counting import CountingBackend
from truthguard.backends.protocol import Generate, NextToken, Request, Score, Scores, Text, Turn, Usage
from truthguard.judges.verdicts import read_verdict


@pytest.mark.parametrize(
    ("request_", "usage"),
    [
        (Score("12345678", ("1234", "12345", "")), Usage(2, 1 + 2 + 1)),
        (NextToken("12345", (("A",), ("B",))), Usage(2, 1)),
        (Generate("", 50), Usage(1, 50)),
        # Two turns with a line end between them; each of the four letters has two bytes.
        (Generate((Turn("system", "éééé"), Turn("user", "1234567")), 512), Usage(4, 512)),
        (Generate("\ud800", 1), Usage(1, 1)),
    ],
)
def test_a_token_is_four_bytes(request_: Request, usage: Usage) -> None:
    """Rounded up and never free; a text is counted with its whole budget."""
    (reply,) = CountingBackend("m").answer([request_])
    assert (reply.request, reply.usage, reply.missing) == (request_, usage, None)


def test_replies_fit_their_requests_and_can_be_read() -> None:
    """No dialogue has a reason to ask again: continuations fit, masses differ, verdicts are verdicts."""
    score, masses, text = (
        reply.value
        for reply in CountingBackend("m").answer(
            [Score("q", ("a", "b")), NextToken("q", (("A",), ("B",))), Generate("judge", 9)]
        )
    )
    assert isinstance(score, Scores)
    assert len(score.continuations) == 2
    assert masses.log_masses[0] > masses.log_masses[1]  # type: ignore[union-attr,operator]
    assert isinstance(text, Text)
    assert read_verdict(text.text, text.finish_reason).kind == "yes"


def test_nothing_is_learnt_or_refused() -> None:
    """There is no model behind it."""
    backend = CountingBackend("m")
    assert (backend.identity().name, backend.facts(), backend.refuses(Score)) == ("m", None, None)
    backend.close()
