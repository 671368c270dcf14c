"""The words of the reports for what loaders count and what benchmarks are made of."""

from __future__ import annotations

from truthguard.records import BenchmarkKind

# What a loader counts (benchmarks.base.QuestionSet.counts), for a reader.
DATA_WORDS = {
    "repeated_choices": "repeated choices dropped by the loader",
    "repeated_ids": "repeated items told apart by -2, -3",
    "overlapping_choices": "answers listed as true and as false",
    "added_answers": "best answers that their own list lacked",
    "unpublished_file": "data files that are not byte for byte a published one",
    "differing_best": "best answers that differ between the two data files",
    "differing_best_incorrect": "best incorrect answers that differ between the two data files",
    "unmatched_rows": "rows that one data file has and the other lacks",
    "generated_responses": "prompts without a response, which the model writes",
    "identical_responses": "pairs of two equal responses",
    "identical_decided": "pairs of two equal responses of which people prefer one",
    "contradicting_labels": "pairs that an equal one with another label contradicts",
    "repeated_responses": "responses that another item has for the same prompt and rubric",
    "empty_responses": "items with an empty response",
    "empty_references": "reference answers that are empty",
    "wide_scores": "responses whose reference grades lie 2 or more apart",
    "missing_human_scores": "responses without people's grades",
    "default_rubrics": "items without a rubric of their own, judged by truthguard's",
    "unused_references": "pairs whose reference answer no judge is shown",
    "stripped_texts": "rows with blanks around a text, taken off",
    "trimmed_prompts": "judge prompts with a stray tail, taken off",
    "marked_texts": "judge prompts with ### inside a text, kept whole",
    "leaked_labels": "answers left out, since they are references of their question",
    "repeated_labels": "repeated answers that are one item",
    "contradicting_prompts": "answers left out, since their labels contradict each other",
    "unasked_labels": "answers left out, since no version asks their question",
    "unread_fields": "fields that no loader knows",
}
# One item of each kind, for counting.
NOUNS: dict[BenchmarkKind, str] = {
    "questions": "question",
    "correctness": "question",
    "injection": "question",
    "direct": "response",
    "pairwise": "pair",
    "judge_starter": "response or pair",
    "truthful_judge": "answer",
}


def counted(number: int, what: str) -> str:
    """A number with its noun.

    >>> counted(1, "category"), counted(2, "category"), counted(3, "item")
    ('1 category', '2 categories', '3 items')
    """
    if number == 1:
        return f"1 {what}"
    if " or " in what:
        return f"{number} {' and '.join(f'{each}s' for each in what.split(' or '))}"
    return f"{number} {what[:-1]}ies" if what.endswith("y") else f"{number} {what}s"
