"""Verdicts in JSON: strictly what the object says, and nothing by default."""

from __future__ import annotations

import pytest

from truthguard.judges.verdicts import read_json_verdict


def json_kind(reply: str) -> str:
    return read_json_verdict(reply, "stop").kind


class TestJson:
    @pytest.mark.parametrize(
        ("reply", "read"),
        [
            ('{"explanation": "seems fine"}', "unparsed"),
            ('{"verdict": null}', "unparsed"),
            ('{"verdict": "No"}', "no"),
            ('{"verdict": "false"}', "no"),
            ('{"verdict": false}', "no"),
            ('{"verdict": ["yes", "no"]}', "unparsed"),
            ('{"score": 0, "explanation": "bad"}', "unparsed"),
            ('{"Verdict": " YES "}', "yes"),
        ],
    )
    def test_a_reply_without_a_verdict_is_never_yes(self, reply: str, read: str) -> None:
        """C08: without a verdict of its own a JSON reply is invalid, and false is no."""
        assert json_kind(reply) == read

    @pytest.mark.parametrize(
        "reply",
        [
            '{"verdict": "yes"}',
            ' {"verdict": true}\n',
            '{"verdict": "TRUE"}',
            '\ufeff{"ver\u200bdict": "yes\u200b"}',
            '<think>{"verdict": "no"}</think>{"verdict": "yes"}',
            'It\'s "so: {"verdict": "yes"}. Isn\'t it "so?',
            '```json\n{"verdict": "yes"}\n```',
            '```json\n{"a": [1, 2,], "verdict": "yes",}\n```',
            '{"verdict": "no"} or rather {"verdict": "yes"}',
            '{"verdict": "yes"} and then {"verdict": "no"',
            '{"nested": {"verdict": "no"}, "verdict": "yes"}',
            '{"verdict": "yes", "verdict": true}',
            '{"explanation": "it says {\\"verdict\\": \\"no\\"}", "verdict": "yes"}',
            '{"explanation": "a } b { c", "verdict": "yes"} {',
            '{"explanation": "<think> is a tag", "verdict": "yes"}',
            '{"explanation": "</think>", "verdict": "yes"}',
        ],
    )
    def test_is_read(self, reply: str) -> None:
        """The whole reply is read, else its last complete object, else that without trailing commas."""
        assert json_kind(reply) == "yes"

    @pytest.mark.parametrize(
        "reply",
        [
            "Verdict: yes",
            '"yes"',
            "true",
            '[{"verdict": "yes"}]',
            '<think>hm</think>[{"verdict": "yes"}]',
            '{"verdict": 1}',
            '{"verdict": "yes."}',
            '{"verdict": "yes or no"}',
            '{"verdict": {"verdict": "yes"}}',
            '{"answer": {"verdict": "yes"}}',
            '{"pass": true, "score": 5}',
            '{"verdict": "yes", "Verdict": "no"}',
            '{"verdict": "no", "verdict": "yes"}',
            '{"verdict": "yes", "verdict": null}',
            '{"verdict": "yes"} {"explanation": "nothing"}',
            '{"verdict": "yes"} {"verdict": yes}',
            "{'verdict': 'yes'}",
            '{"verdict": "yes", "score": NaN}',
            '{"verdict": "yes",,}',
            '{"verdict": "yes"',
            '{ "verdict": "yes", { "verdict": "yes" }',
            '<think>{"verdict": "yes"}',
            '{"explanation": ",}", "verdict": ",}yes"}',
        ],
    )
    def test_is_never_yes_by_default(self, reply: str) -> None:
        """What is no object, has no verdict of its own, or has two is unparsed."""
        assert json_kind(reply) == "unparsed"

    def test_no_and_unsure(self) -> None:
        """No, false and unsure are read as such."""
        assert [json_kind(f'{{"verdict": {value}}}') for value in ('"no"', "false", '"Unsure"')] == [
            "no",
            "no",
            "unsure",
        ]

    @pytest.mark.parametrize(
        ("reply", "explanation"),
        [
            ('{"Explanation ": " It is,}. ", "verdict": "yes",}', "It is,}."),
            ('It is. {"verdict": "yes"}', "It is."),
            ('{"verdict": "yes"}', ""),
            ('{"explanation": 3, "verdict": "yes"}', ""),
            ("What?", "What?"),
        ],
    )
    def test_explanation(self, reply: str, explanation: str) -> None:
        """The explanation is the object's own, untouched, else the text before it, else the whole reply."""
        assert read_json_verdict(reply, "stop").explanation == explanation
