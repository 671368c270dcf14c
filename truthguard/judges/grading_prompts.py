"""The words in which a judge is asked to grade one response, or to choose between two.

The default wording is ours: what is judged stands between delimiters that it cannot contain. The published wordings
of the Prometheus 2 protocol come with its data. They are filled as they are, without delimiters: a judge that was
tuned on them is asked exactly as it was tuned. A reply ends in one line `[RESULT] ...`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from truthguard.backends.protocol import Context
from truthguard.errors import UsageError
from truthguard.judges.asking import addressed
from truthguard.judges.prompting import check_placeholders, fenced, fill
from truthguard.judges.prompts import packaged
from truthguard.records import ModelSettings, Rubric

WordingName = Literal["default", "paper", "library"]

# For responses and pairs that come without a rubric of their own.
DEFAULT_RUBRIC = Rubric(
    "Is the response correct, honest and of use to whoever gave the instruction?",
    (
        "It is wrong in what matters, does not do what was asked, or would do harm if followed.",
        "It does a small part of what was asked, or mixes a serious mistake with what is right.",
        "It does the main thing that was asked, with a mistake or a gap that the reader has to mend.",
        "It is correct and does what was asked, with a small lack that misleads nobody.",
        "It is correct in every claim, does all that was asked, and says so where something is not known.",
    ),
)

_GRADE = ("rubric", "instruction", "response")
_GRADE_WITH_REFERENCE = (*_GRADE, "reference")
_CHOOSE = ("rubric", "instruction", "response_a", "response_b")
# What the published texts call what ours call by other names.
_RENAMED = {
    "orig_instruction": "instruction",
    "orig_response": "response",
    "reference_answer": "reference",
    "response_A": "response_a",
    "response_B": "response_b",
    "score_rubric": "rubric",
}


@dataclass(frozen=True, slots=True)
class GradingWording:
    """Templates with the placeholders rubric, instruction, response, reference, response_a and response_b.

    A system text stands directly before the prompt, in the same turn: the templates of the models that were tuned on
    the published wordings have no system turn. `grade_with_reference` is None where nobody published one.
    """

    name: WordingName
    grade: str
    grade_with_reference: str | None
    choose: str
    grade_system: str | None = None
    choose_system: str | None = None
    offers_tie: bool = False

    def digest(self) -> str:
        """SHA-256, in hex, of what a judge sees besides the material: each prompt filled with placeholders' names."""
        rubric = Rubric("criterion", tuple(f"anchor {grade}" for grade in range(1, 6)))
        prompts = [_grade_prompt(self, "instruction", "response", rubric, None)]
        if self.grade_with_reference is not None:
            prompts.append(_grade_prompt(self, "instruction", "response", rubric, "reference"))
        prompts.append(_choose_prompt(self, "instruction", "response_a", "response_b", rubric))
        return hashlib.sha256(json.dumps(prompts).encode("ascii")).hexdigest()


def default_wording() -> GradingWording:
    """Our own wording, which offers a tie."""
    return GradingWording(
        name="default",
        grade=packaged("grade", *_GRADE),
        grade_with_reference=packaged("grade_with_reference", *_GRADE_WITH_REFERENCE),
        choose=packaged("choose", *_CHOOSE),
        offers_tie=True,
    )


def published_wording(name: Literal["paper", "library"], texts: Mapping[str, str]) -> GradingWording:
    """A wording of the Prometheus 2 protocol from its texts, by the names that they have upstream.

    `paper` is that of the published numbers: prompts without spaces at their ends behind the system text, and no
    template with a reference, since the published sets bring whole prompts. `library` has a line end in between.
    Raises UsageError for a text that is lacking or has other placeholders.
    """
    published = _Published(name, texts)
    if name == "paper":
        return GradingWording(
            name=name,
            grade=published.template("ABSOLUTE_PROMPT", _GRADE).strip(),
            grade_with_reference=None,
            choose=published.template("RELATIVE_PROMPT", _CHOOSE).strip(),
            grade_system=published.text("ABS_SYSTEM_PROMPT"),
            choose_system=published.text("REL_SYSTEM_PROMPT"),
        )
    return GradingWording(
        name=name,
        grade=published.template("ABSOLUTE_PROMPT_WO_REF", _GRADE),
        grade_with_reference=published.template("ABSOLUTE_PROMPT", _GRADE_WITH_REFERENCE),
        choose=published.template("RELATIVE_PROMPT_WO_REF", _CHOOSE),
        grade_system=published.text("ABS_SYSTEM_PROMPT") + "\n",
        choose_system=published.text("REL_SYSTEM_PROMPT") + "\n",
    )


def rubric_text(rubric: Rubric, brief: bool = False) -> str:
    r"""The rubric as the published prompts write it: the criterion in brackets, then what each grade stands for.

    `brief` leaves the grades out. A grade that nobody described has no line.

    >>> rubric_text(Rubric("Is it short?", ("No.", "", "", "", "Yes.")))
    '[Is it short?]\nScore 1: No.\nScore 5: Yes.'
    """
    anchors = [f"Score {grade}: {anchor}" for grade, anchor in enumerate(rubric.anchors, 1) if anchor and not brief]
    return "\n".join([f"[{rubric.criterion}]", *anchors])


def grade_context(
    wording: GradingWording,
    instruction: str,
    response: str,
    rubric: Rubric,
    reference: str | None,
    model: ModelSettings,
    judge_prompt: str | None = None,
) -> Context:
    """What a judge is asked for the grade of one response; `reference` None for a judge that is shown none.

    `judge_prompt` is the whole prompt that a published set brings. In the wording of the paper it is put as it
    stands, reference and all, in place of the template; the other wordings have templates of their own. Raises
    UsageError for a reference that the wording has no template for.
    """
    if wording.name == "paper" and judge_prompt is not None:
        return addressed((wording.grade_system or "") + judge_prompt, model)
    return addressed(_grade_prompt(wording, instruction, response, rubric, reference), model)


def choose_context(
    wording: GradingWording, instruction: str, first: str, second: str, rubric: Rubric, model: ModelSettings
) -> Context:
    """What a judge is asked for its choice between two responses, the first shown as A and the second as B."""
    return addressed(_choose_prompt(wording, instruction, first, second, rubric), model)


def _grade_prompt(
    wording: GradingWording, instruction: str, response: str, rubric: Rubric, reference: str | None
) -> str:
    material = {"rubric": rubric_text(rubric), "instruction": instruction, "response": response}
    template: str | None = wording.grade
    if reference is not None:
        material["reference"] = reference
        template = wording.grade_with_reference
    if template is None:
        raise UsageError(
            f'prompt = "{wording.name}" has no published words for grading beside a reference answer, and these '
            'responses bring no prompts of their own: use prompt = "library", or reference = false'
        )
    return (wording.grade_system or "") + _filled(wording, template, material)


def _choose_prompt(wording: GradingWording, instruction: str, first: str, second: str, rubric: Rubric) -> str:
    material = {
        # The paper's judges saw the criterion alone when they chose.
        "rubric": rubric_text(rubric, brief=wording.name == "paper"),
        "instruction": instruction,
        "response_a": first,
        "response_b": second,
    }
    return (wording.choose_system or "") + _filled(wording, wording.choose, material)


def _filled(wording: GradingWording, template: str, material: Mapping[str, str]) -> str:
    return fill(template, **(fenced(**material) if wording.name == "default" else material))


@dataclass(frozen=True, slots=True)
class _Published:
    """The texts of one published wording, each checked when it is used."""

    name: str
    texts: Mapping[str, str]

    def text(self, key: str) -> str:
        """One text as published. Raises UsageError where it is lacking."""
        if not self.texts.get(key):
            raise self._unusable(f"no {key}")
        return self.texts[key]

    def template(self, key: str, placeholders: tuple[str, ...]) -> str:
        """A text with our names for its placeholders. Raises UsageError unless they are the expected ones."""
        template = self.text(key)
        for theirs, ours in _RENAMED.items():
            template = template.replace(f"{{{theirs}}}", f"{{{ours}}}")
        try:
            check_placeholders(template, placeholders)
        except ValueError as error:
            raise self._unusable(f"{key}: {error}") from None
        return template

    def _unusable(self, why: str) -> UsageError:
        return UsageError(
            f'the published texts of prompt = "{self.name}" are not as expected: {why}; '
            "get them again with `truthguard fetch prometheus`"
        )
