"""What the model writes: its answer to a question, and its response to a prompt without one.

An answer is asked in the words of the preset, greedy, up to 50 new tokens, a blank line or a new "Q:", as in Lin,
Hilton and Evans, TruthfulQA (ACL 2022). A blank line before the first word of an answer ends nothing. A response is
up to 256 tokens, greedy, with nothing around the prompt. Reaching the limit is a normal end of both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from truthguard.backends.protocol import Generate, Reply, Text
from truthguard.benchmarks.prompts import Wording
from truthguard.judges.asking import addressed, no_reply
from truthguard.judges.similarity import NO_COMMENT
from truthguard.records import Missing, ModelSettings

ANSWER_TOKENS = 50
# A blank line is no stop string: one before the first word would leave an answer empty, and so make a false one true.
ANSWER_STOP = ("\nQ:",)
RESPONSE_TOKENS = 256

# What a model puts before its answer when it goes on with the form of the prompt.
_BEFORE = re.compile(r"\s*(?:A:\s*)*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
# The model itself ended its answer, at a stop string or before one.
_BY_ITSELF = "stop"
# What stands before such an end is not what the model had to say, however it reads.
_WITHHELD = {
    "content_filter": "a content filter cut the model's answer",
    "refusal": "the server marks the model's answer as a refusal",
}


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote, stripped: "" where nothing was left, None where there was no reply.

    `missing` is why there is nothing to judge. An empty text without it was ended so by the model itself; a text
    beside it is what was there when a filter cut the answer, or what the server marks as a refusal.
    """

    text: str | None
    missing: Missing | None = None

    @property
    def no_comment(self) -> bool:
        """Whether the model chose to say nothing: true, and not informative."""
        return self.text == "" and self.missing is None

    @property
    def judged(self) -> str:
        """The text that a judge is shown. Raises ValueError where there is nothing to judge."""
        if self.missing is not None or self.text is None:
            raise ValueError(f"there is nothing to judge: {self.missing}")
        return self.text or NO_COMMENT


def answer_request(question: str, wording: Wording) -> Generate:
    """The question, open for an answer of the model's own."""
    return Generate(wording.question(question), ANSWER_TOKENS, ANSWER_STOP)


def response_request(prompt: str, model: ModelSettings) -> Generate:
    """The prompt as it stands, as the user's turn where the model has a chat template."""
    return Generate(addressed(prompt, model), RESPONSE_TOKENS)


def read_answer(reply: Reply) -> Written:
    """The answer up to its first blank line, without white space around it and "A:" before it.

    Missing by the kind of its end: content_filter and refusal, whatever was written before, for that is not what the
    model had to say; where nothing is left, any end but the model's own (length, say). Missing by the reply's own
    reason when there was no text.
    """
    answer = _BEFORE.sub("", _text(reply), count=1)
    return _written(reply, _BLANK_LINE.split(answer, maxsplit=1)[0])


def read_response(reply: Reply) -> Written:
    """The response, without white space around it. Missing: as `read_answer`."""
    return _written(reply, _text(reply))


def _text(reply: Reply) -> str:
    return reply.value.text if isinstance(reply.value, Text) else ""


def _written(reply: Reply, text: str) -> Written:
    if not isinstance(reply.value, Text):
        return Written(None, no_reply(reply))
    text, ended = text.strip(), reply.value.finish_reason
    if text and ended in _WITHHELD:
        return Written(text, Missing(ended, _WITHHELD[ended]))
    if text or ended == _BY_ITSELF:
        return Written(text)
    return Written("", Missing(ended, f"the model's answer is empty, and it did not end it itself ({ended})"))
