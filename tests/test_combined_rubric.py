"""The one call for both dimensions that measure/judge_agreement.py --calls holds against the package's two."""

from __future__ import annotations

import doctest
import importlib.util
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from truthguard.backends.protocol import Generate, Reply, Text
from truthguard.judges import prompts
from truthguard.judges.prompts import informative_prompt, truthful_prompt
from truthguard.records import JudgeSettings, Missing, ModelSettings

SOURCE = Path(__file__).parent.parent / "measure" / "combined_rubric.py"
SETTINGS = JudgeSettings("rubric", ModelSettings("m"), max_tokens=64)


@pytest.fixture(scope="module")
def combined() -> ModuleType:
    """The script's module, which no package holds."""
    spec = importlib.util.spec_from_file_location("combined_rubric", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def held(module: ModuleType, *texts: Text | Missing) -> tuple[list[Generate], dict[str, str]]:
    """The requests of the dialogue that is answered with these texts, and what came of it."""
    asking = module.judge("Is ice wet?", "When it melts.", SETTINGS)
    requests: list[Generate] = []
    replies = iter(texts)
    sent: list[Reply] | None = None
    try:
        while True:
            (request,) = asking.send(sent)
            requests.append(request)
            said = next(replies)
            key = {"missing": said} if isinstance(said, Missing) else {"value": said}
            sent = [Reply(request, datetime.now(UTC), **key)]
    except StopIteration as end:
        return requests, dict(end.value)


def test_examples_hold(combined: ModuleType) -> None:
    """The docstrings' examples run and print what they say."""
    results = doctest.testmod(combined)
    assert (results.attempted, results.failed) == (2, 0)


def test_it_has_the_rules_of_both_prompts() -> None:
    """What is compared is one call against two, not one wording against another."""
    template = SOURCE.with_suffix(".txt").read_text(encoding="utf-8")
    folder = Path(prompts.__file__).parent / "data"
    for name in ("rubric_truthful", "rubric_informative"):
        rules = [line for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines() if line[:1] == "-"]
        assert len(rules) >= 6
        # What both say of remarks stands once, in words for both.
        assert [rule for rule in rules if rule not in template] == [rules[-1]]
        assert rules[-1].startswith("- Remarks about the answer itself")


def test_one_call_asks_for_both(combined: ModuleType) -> None:
    """The material stands between the delimiters of the two prompts; the budget is that of each of their replies."""
    (request,), kinds = held(combined, Text("It does.\nTruthful. Verdict: unsure\n- Informative. Verdict: yes", "stop"))
    assert kinds == {"truthful": "unsure", "informative": "yes"}
    assert (request.max_tokens, request.temperature) == (64, 0.0)
    assert isinstance(request.context, str)
    material = request.context[request.context.index("\n<question-") : request.context.index("</answer-")]
    for single in (truthful_prompt, informative_prompt):
        assert material in single("Is ice wet?", "When it melts.")


def test_a_cut_reply_is_asked_for_once_more_with_twice_the_budget(combined: ModuleType) -> None:
    """As in the two calls; what is cut again has no verdict, whatever it says."""
    text = "Truthful. Verdict: yes\nInformative. Verdict: yes"
    requests, kinds = held(combined, Text(text, "length"), Text(text, "length"))
    assert [(each.attempt, each.max_tokens) for each in requests] == [(0, 64), (1, 128)]
    assert kinds == {"truthful": "length", "informative": "length"}


@pytest.mark.parametrize(
    ("text", "truthful", "informative"),
    [
        ("The answer is truthful and informative.", "unparsed", "unparsed"),
        ("Truthful. Verdict: yes", "unparsed", "unparsed"),
        ("Verdict: yes\nVerdict: no", "unparsed", "unparsed"),
        ("Informative. Verdict: no", "unparsed", "unparsed"),
        ("It is so.\nInformative. Verdict: no", "unparsed", "no"),
        ("Truthful. Verdict: no\nInformative, I would say.", "no", "unparsed"),
        ("Informative as it is, it lies.\nTruthful. Verdict: no\nInformative. Verdict: yes", "no", "yes"),
        ("", "empty", "empty"),
    ],
)
def test_half_a_form_is_half_a_reading(combined: ModuleType, text: str, truthful: str, informative: str) -> None:
    """Nothing is yes by default, and one verdict is never taken for the other."""
    assert combined.read(text, "stop") == {"truthful": truthful, "informative": informative}


def test_no_reply_is_no_verdict(combined: ModuleType) -> None:
    """A request that failed failed for both."""
    _, kinds = held(combined, Missing("server", "gone"))
    assert kinds == {"truthful": "failed", "informative": "failed"}
