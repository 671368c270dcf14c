"""The eight sets of the Prometheus 2 protocol as their authors published them: files, digests and fields.

S. Kim, J. Suk, S. Longpre, et al., "Prometheus 2: An Open Source Language Model Specialized in Evaluating Other
Language Models", EMNLP 2024; repository prometheus-eval/prometheus-eval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FOLDER = "prometheus2"
PROMPTS_FILE = "prompts.json"

# How the rows give responses: one and its grades; a chosen and a rejected one in judge prompts; two and a label.
Layout = Literal["graded", "chosen", "labelled"]
FIELDS: Mapping[Layout, tuple[str, ...]] = {
    "graded": ("instruction", "gpt4_score"),
    "chosen": ("chosen_instruction", "rejected_instruction"),
    "labelled": ("prompt", "response 1", "response 2", "label"),
}
# Fields that are known and that no number needs.
UNUSED = ("idx", "gpt4_feedback")
IDX, HUMAN_SCORE, TIE = "idx", "human_score", "tie"


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """One set: its file's name without .json, the prefix of its ids, and where its rows say what.

    `category` is the field that a user wants numbers by, `sources` those that beside the texts tell items apart.
    `group` is the field that the responses to one prompt share, None = the prompt's own text. `extra` is what
    the rows of this set have beside their layout's fields. `digests` holds those of the published files, by SHA-256
    (64 digits) or, where only that is known, as git blob (40), the newest first. `tried` says whether this
    loader was ever tried on the real file, `reference` whose verdicts the items carry.
    """

    file: str
    prefix: str
    layout: Layout
    reference: str
    digests: tuple[str, ...]
    category: str | None = None
    sources: tuple[str, ...] = ()
    group: str | None = None
    extra: tuple[str, ...] = ()
    tried: bool = True

    @property
    def fields(self) -> tuple[str, ...]:
        """All that a row must have."""
        own = (self.category, *self.sources, self.group, *self.extra)
        return tuple(dict.fromkeys((*FIELDS[self.layout], *(name for name in own if name is not None))))


SETS: Mapping[str, PublishedSet] = {
    "vicuna_bench": PublishedSet(
        file="vicuna_eval",
        prefix="vicuna",
        layout="graded",
        reference="GPT-4",
        category="category",
        sources=("response_source",),
        digests=(
            "131550a5815f75014a3ea71b0f534fb7ef0ca49b714c4e66935c35fdee1daacc",
            "01de7e9fb496f28f618fdc56f24a165a0caebd3b9f9bc6bc0f036a6edf1ec7fd",
        ),
    ),
    # The whole dialogue before the last turn is part of the instruction: one prompt differs from model to model.
    "mt_bench": PublishedSet(
        file="mt_bench_eval",
        prefix="mtbench",
        layout="graded",
        reference="GPT-4",
        category="category",
        sources=("response_source",),
        group=IDX,
        digests=("5bf33413c34173c3b94f008499fd9098fb6338d5d1cf64f341e8e0c9b9f105cf",),
    ),
    # One response is graded for several skills: the skill is part of what tells the items apart.
    "flask": PublishedSet(
        file="flask_eval",
        prefix="flask",
        layout="graded",
        reference="GPT-4 and people",
        category="criteria",
        sources=("response_source", "criteria"),
        extra=(HUMAN_SCORE,),
        digests=(
            "0563a5769832269d52b8099406966fc127766b2f",
            "023e2e17b0208fd31b8ec009438a6a87e0026be7cce85e61677afb58692bc137",
        ),
        tried=False,
    ),
    "feedback_bench": PublishedSet(
        file="feedback_collection_ood_test",
        prefix="feedback",
        layout="graded",
        reference="GPT-4",
        digests=(
            "28919454bf5aba9e0c082a0171ee50ff278c5e18",
            "e1825480bf4b490024c3dce29d11018f3c3c07d3c0d0c07db43abf2fc04d488e",
        ),
        tried=False,
    ),
    "hhh_alignment": PublishedSet(
        file="hhh_alignment_eval",
        prefix="hhh",
        layout="chosen",
        reference="people",
        category="source",
        sources=("source",),
        digests=(
            "fe6655dfeec99d04d582692767c736f2385b5e067f0b894d1b73a32af7be9c9e",
            "9bc36f892f67804afce5c1710b50c78e89fa142a0883c729ef704efa876b720c",
        ),
    ),
    "mt_bench_human": PublishedSet(
        file="mt_bench_human_judgement_eval",
        prefix="mthuman",
        layout="chosen",
        reference="people",
        extra=(TIE,),
        digests=(
            "d7aab906d1a756259dddc441cafc5ee8ff47006f",
            "63266aa8a3c6327aff814a1a7e33bb017881e849a6e0bd1749a5d813ad016f4f",
        ),
        tried=False,
    ),
    "autoj": PublishedSet(
        file="autoj_pairwise",
        prefix="autoj",
        layout="labelled",
        reference="people",
        category="scenario",
        sources=("scenario",),
        digests=("56f32fad71d9b6b33bc4d51794c324981e26355bcbf3ce4908d7f8ddcc61f80e",),
    ),
    "preference_bench": PublishedSet(
        file="preference_collection_ood_test",
        prefix="preference",
        layout="chosen",
        reference="GPT-4",
        digests=("8ec84131739db801757cb76107035650dce8dbd7",),
        tried=False,
    ),
}
