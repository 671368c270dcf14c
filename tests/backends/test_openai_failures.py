"""Error replies of every server, read into one shape."""

from __future__ import annotations

from typing import Any

import pytest

from truthguard.backends.openai_failures import Failure, from_status


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        ({"error": {"message": "bad n", "param": "n", "type": "invalid_request_error"}}, "bad n", "n"),
        ({"message": "bad n", "param": "n", "code": None}, "bad n", "n"),
        ({"error": "just words"}, "just words", None),
        ({"detail": "just words"}, "just words", None),
        ({"detail": [{"loc": ["body", "seed"], "msg": "extra", "input": "long"}]}, "body.seed: extra", "seed"),
        ({"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "x"}]}, "body.messages.content: x", "content"),
        ({"detail": ["odd"]}, '{"detail": ["odd"]}', None),
        ("Internal Server Error", "Internal Server Error", None),
        ("two\n  lines", "two lines", None),
        (None, "null", None),
        ([1], "[1]", None),
    ],
)
def test_an_error_of_any_shape_is_read(body: Any, message: str, param: str | None) -> None:
    """OpenAI's, vLLM's and llama.cpp's objects, FastAPI's details, plain text: the words and the parameter."""
    failure = from_status(400, body, "3")
    assert (failure.message, failure.param, failure.retry_after) == (message, param, "3")


@pytest.mark.parametrize(
    "error",
    [
        {"message": "no", "code": "400", "provider_specific_fields": {"azure_error": {"code": "content_filter"}}},
        {"message": "litellm.ContentPolicyViolationError: no", "code": "400"},
    ],
    ids=["field", "words"],
)
def test_a_filter_behind_a_gateway_is_one(error: dict[str, Any]) -> None:
    """LiteLLM puts the status where the code was: Azure's code is below its fields, another's filter in its words."""
    assert from_status(400, {"error": error}, None).missing("POST x", 1).kind == "content_filter"


@pytest.mark.parametrize(
    "fields", [None, "x", {}, {"azure_error": None}, {"azure_error": {"code": ["content_filter"]}}]
)
def test_a_gateways_own_fields_may_hold_anything(fields: Any) -> None:
    """What is no filter's code is none."""
    error = {"message": "no", "code": "400", "provider_specific_fields": fields}
    assert from_status(400, {"error": error}, None).missing("POST x", 1).kind == "bad_request"


def test_a_long_error_is_shortened() -> None:
    """A page of HTML does not fill the report."""
    assert len(from_status(500, "x" * 5000, None).message) == 400


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure("timeout", "late"), "timeout"),
        (Failure("unreachable", "refused"), "unreachable"),
        (Failure("broken", "reset"), "connection"),
        (Failure("not_json", "<html>"), "bad_reply"),
        (Failure("status", "busy", 429), "rate_limited"),
        (Failure("status", "fault", 500), "server_error"),
        (Failure("status", "wrong", 400), "bad_request"),
        (Failure("status", "filtered", 400, code="content_filter"), "content_filter"),
        (Failure("status", "too much", 400, code="context_length_exceeded"), "does_not_fit"),
        (Failure("status", "the request exceeds the available context size", 400), "does_not_fit"),
    ],
)
def test_each_failure_has_a_kind_to_count_by(failure: Failure, kind: str) -> None:
    """And the reason names the endpoint and how often it was tried."""
    missing = failure.missing("POST http://h/v1/x", 2)
    assert missing.kind == kind
    assert missing.detail.startswith("POST http://h/v1/x: ")
    assert missing.detail.endswith("(2 attempts)")
