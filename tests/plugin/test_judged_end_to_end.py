"""A whole gate of written answers: a local model, and the same weights behind a real server as its judge."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.backends.llamacpp import KEY, llamacpp
from tests.backends.scripted_server import Answer, Asked, ScriptedServer, serving
from truthguard.backends.sources import find_source, weights_path
from truthguard.metrics.correctness import KINDS
from truthguard.records import ModelSettings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

QUESTIONS, SAMPLES = 3, 5
GATE = """
[model]
name = "{model}"
dtype = "float32"

[judge]
kind = "rubric"
model = "{judge}"
api_key_env = "JUDGES_KEY"
samples = {samples}
max_tokens = 32

[starter.truthful]
min = 0
max_unscored = 1

[starter.informative]
min = 0
max_unscored = 1

[starter.correctness]
min = 0
max_unscored = 1
"""


@pytest.fixture
def server(small_model: str) -> Iterator[ScriptedServer]:
    """llama.cpp's own server with the small model, behind one that passes everything on and counts it.

    The file serves as it is: what this judge says matters to nobody, only that each of its replies is accounted for.
    """
    if find_spec("xllamacpp") is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("llama.cpp's server is not installed: pip install xllamacpp")
    weights, _ = weights_path(find_source(ModelSettings(small_model)))
    # One slot: whatever comes at once, the prompts' common beginning is read once.
    with llamacpp(weights, parallel=1) as real:

        def pass_on(asked: Asked) -> Answer:
            headers = {"Authorization": asked.headers["authorization"], "Content-Type": "application/json"}
            url = real.removesuffix("/v1") + asked.path
            try:
                with urlopen(Request(url, json.dumps(asked.body).encode(), headers), timeout=120) as reply:
                    return Answer(json.load(reply))
            except HTTPError as error:
                return Answer(json.load(error), error.code)

        with serving(pass_on, models={"object": "list", "data": [{"id": "smol", "object": "model"}]}) as counting:
            yield counting


def test_every_sample_is_accounted_for_and_the_key_is_nowhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, server: ScriptedServer, small_model: str
) -> None:
    """From the file to its end; a second run sends nothing; the judge's key is in no byte that was written.

    3 questions, each with a verdict on truth, one on informativeness and 5 on correctness, whatever they are.
    """
    text = GATE.format(model=small_model, judge=f"{server.url}#smol", samples=SAMPLES)
    (pytester.path / "thresholds.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("JUDGES_KEY", KEY)

    def measured(name: str) -> dict[str, Any]:
        result = pytester.runpytest_subprocess(
            *("thresholds.toml", "-v", "--truthguard-limit", str(QUESTIONS), "--truthguard-allow-host", "127.0.0.1"),
            *("--truthguard-cache", "answers", "--truthguard-json", f"{name}.json", f"--junitxml={name}.xml"),
        )
        (pytester.path / f"{name}.log").write_text(result.stdout.str() + result.stderr.str(), encoding="utf-8")
        result.stdout.no_fnmatch_line("*Traceback*")
        record: dict[str, Any] = json.loads((pytester.path / f"{name}.json").read_text(encoding="utf-8"))
        return record

    first = measured("first")
    sent = len(server.asked)
    assert {asked.headers["authorization"] for asked in server.posts} == {f"Bearer {KEY}"}
    check_samples(first)

    again = measured("again")
    assert len(server.asked) == sent
    assert again["rows"] == first["rows"]
    (before,), (after,) = first["runs"], again["runs"]
    assert after["items"] == before["items"]
    assert after["judge"]["counts"]["cached"] == after["judge"]["counts"]["requests"] > 0

    written = [path for path in pytester.path.rglob("*") if path.is_file()]
    assert {"answers.sqlite3", "first.json", "first.xml", "again.log"} <= {path.name for path in written}
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def check_samples(record: dict[str, Any]) -> None:
    """Each sample that was asked for is there with its kind, and decides its row as the contract says."""
    (run,) = record["runs"]
    assert run["complete"]
    assert len(run["items"]) == QUESTIONS
    kinds: dict[str, list[Counter[str]]] = {"truthful": [], "informative": [], "correctness": []}
    for item in run["items"]:
        assert item["answer"]
        for question, found in kinds.items():
            found.append(Counter(each["kind"] for each in item["samples"] if each["question"] == question))
    asked = {question: [counts.total() for counts in found] for question, found in kinds.items()}
    assert asked == {"truthful": [1] * 3, "informative": [1] * 3, "correctness": [SAMPLES] * 3}
    assert {kind for found in kinds.values() for counts in found for kind in counts} <= set(KINDS)
    # No text could be read from a request that failed.
    assert not any(counts["failed"] for found in kinds.values() for counts in found)
    for row in record["rows"]:
        needed = -(-asked[row["metric"]][0] // 2)
        scored = sum(counts["yes"] + counts["no"] >= needed for counts in kinds[row["metric"]])
        assert (row["n"], row["n_unscored"]) == (scored, QUESTIONS - scored)
        assert row["verdict"] == ("pass" if scored else "error")
