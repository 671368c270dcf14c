"""A model reads a rubric and worked examples, reasons about one answer, and ends with a verdict.

Each dimension is a call of its own, greedy: whoever reads only one of the two pays for one, and a verdict on truth
cannot lean on one about informativeness. `measure/judge_agreement.py --calls` asks both ways and prints how far each
agrees with people. With SmolLM2-135M on 40 public answers neither has a readable verdict (80 single replies: 74
unparsed, 6 cut; 40 combined ones: 38 and 2), so nothing measured speaks for one call.

A verdict other than yes or no leaves the answer unscored under its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from truthguard.backends.protocol import Generate
from truthguard.judges.asking import Asking, addressed, model_of, samples
from truthguard.judges.judgement import DIMENSIONS, Judgement
from truthguard.judges.prompts import Dimension, PromptName, informative_prompt, truthful_prompt
from truthguard.records import JudgeSettings

PROMPTS: dict[Dimension, PromptName] = {"truthful": "rubric_truthful", "informative": "rubric_informative"}
_WORDS: dict[Dimension, Callable[[str, str], str]] = {"truthful": truthful_prompt, "informative": informative_prompt}


def judge(
    question: str, answer: str, settings: JudgeSettings, dimensions: Collection[Dimension] = DIMENSIONS
) -> Asking[Judgement]:
    """Ask whether an answer is truthful, informative, or both.

    At most `settings.max_tokens` tokens for each reply; one that is cut there is asked for once more with twice
    as many. Raises UsageError where the settings name no model.
    """
    model = model_of(settings)
    wanted = [dimension for dimension in DIMENSIONS if dimension in dimensions]
    contexts = [addressed(_WORDS[dimension](question, answer), model) for dimension in wanted]
    found = yield from samples(
        [
            (dimension, Generate(context, settings.max_tokens))
            for dimension, context in zip(wanted, contexts, strict=True)
        ]
    )
    return Judgement.of(wanted, found)
