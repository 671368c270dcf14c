"""Files as lm-evaluation-harness 0.4.13 writes them, byte for byte, and benchmark files for invented questions."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

MOMENT = "2026-01-02T03-04-05.678901"
SHOTS = "Q: Is ice cold?\nA: Ice is cold."
PRIMERS = {
    "qa": SHOTS,
    "help": f"Be exact:\n\n{SHOTS}",
    "null": "Q: ",
    "chat": "Ann: Hello.\n\nBob: {0}\n\nAnn:",
    "long": "A post.\n\nToday's question: {0}\n\nMy answer:",
    "harm": "Q: What is best?\nA: Nothing is.\n\nQ: {0}\nA:",
}
# Invented questions: of the first all four answers are asked by mc2 and two by mc1, of the last the same by both.
ENTRIES: list[dict[str, Any]] = [
    {
        "question": "Is tin a metal?",
        "mc1_targets": {"Tin is a metal.": 1, "Tin is a gas.": 0},
        "mc2_targets": {"Tin is a metal.": 1, "It is.": 1, "Tin is a gas.": 0, "Tin is a wood.": 0},
    },
    {
        "question": "Do stones float?",
        "mc1_targets": {"Pumice does.": 1, "All stones do.": 0, "Only at night.": 0},
        "mc2_targets": {"All stones do.": 0, "Pumice does.": 1, "Only at night.": 0, "Most do not.": 1},
    },
    {
        "question": "Is noon dark?",
        "mc1_targets": {"Noon is light.": 1, "Noon is dark.": 0},
        "mc2_targets": {"Noon is light.": 1, "Noon is dark.": 0},
    },
]
RESULTS: dict[str, Any] = {
    "config": {
        "model": "hf",
        "model_args": {"pretrained": "some/model", "dtype": "bfloat16", "token": "hf_ABC", "add_bos_token": True},
        "model_dtype": "torch.bfloat16",
        "model_revision": "main",
        "model_sha": "0123abcd",
        "device": "cuda:0",
    },
    "date": 1767323045.5,
    "transformers_version": "5.24.0",
    "lm_eval_version": "0.4.13",
    "n-shot": {"truthfulqa_mc1": 0, "truthfulqa_mc2": 0},
    "model_source": "hf",
    "model_name": "some/model",
    "system_instruction": None,
    "chat_template": None,
}

# One log-likelihood for each choice of each question, as the harness logs them: as text.
Numbers = Sequence[Sequence[str]]
MC1: Numbers = (("-3.5", "-4.0"), ("-2.0", "-2.0", "-9.0"), ("-1.5", "-1.0"))
MC2: Numbers = (("-3.5", "-4.0", "-4.0", "-8.0"), ("-2.0", "-2.0", "-9.0", "-3.0"), ("-1.5", "-1.0"))


def doc_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A question of mc_task.json as the hub serves it."""
    targets = {
        name: {"choices": list(entry[name]), "labels": list(entry[name].values())}
        for name in ("mc1_targets", "mc2_targets")
    }
    return {"question": entry["question"], **targets}


def sample_of(
    number: int,
    entry: Mapping[str, Any],
    task: str,
    numbers: Sequence[str],
    greedy: Sequence[bool],
    acc: float,
    primer: str = SHOTS,
) -> dict[str, Any]:
    """One line of a file of samples, keys in the harness' order."""
    doc = doc_of(entry)
    prompt = f"{primer}\n\nQ: {doc['question']}\nA:"
    responses = [[text, str(is_greedy)] for text, is_greedy in zip(numbers, greedy, strict=True)]
    choices = doc[f"{task}_targets"]["choices"]
    return {
        "doc_id": number,
        "doc": doc,
        "target": "0",
        "arguments": {
            f"gen_args_{index}": {"arg_0": prompt, "arg_1": f" {choice}"} for index, choice in enumerate(choices)
        },
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": _sha256(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha256(prompt),
        "target_hash": _sha256("0"),
        "acc": acc,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def samples_of(task: str, numbers: Numbers, entries: Iterable[Mapping[str, Any]] = ENTRIES) -> list[dict[str, Any]]:
    """The samples of one task on invented questions."""
    return [
        sample_of(index, entry, task, row, [False] * len(row), 0.0)
        for index, (entry, row) in enumerate(zip(entries, numbers, strict=True))
    ]


def write_samples(folder: Path, task: str, samples: Iterable[Mapping[str, Any]], moment: str = MOMENT) -> Path:
    """A file of samples under the harness' name for it."""
    path = folder / f"samples_truthfulqa_{task}_{moment}.jsonl"
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in samples), "utf-8")
    return path


def write_results(folder: Path, moment: str = MOMENT, **changes: Any) -> Path:
    """The results file of the run; a change replaces a key, or one of `config`."""
    config = {**RESULTS["config"], **{key: value for key, value in changes.items() if key in RESULTS["config"]}}
    outer = {key: value for key, value in changes.items() if key not in config}
    path = folder / f"results_{moment}.json"
    path.write_text(json.dumps({**RESULTS, "config": config, **outer}, indent=2), "utf-8")
    return path


def write_data(folder: Path, version: str, entries: Sequence[Mapping[str, Any]] = ENTRIES) -> Path:
    """The files of one version for these questions; returns the data folder."""
    own = folder / "truthfulqa" / version
    own.mkdir(parents=True, exist_ok=True)
    (own / "mc_task.json").write_text(json.dumps(list(entries)), "utf-8")
    (folder / "truthfulqa" / "primers.json").write_text(json.dumps({"primers": PRIMERS}), "utf-8")
    with (own / "TruthfulQA.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["Type", "Category", "Question", "Best Answer"])
        for entry in entries:
            table.writerow(["Adversarial", "Matter", entry["question"], next(iter(entry["mc1_targets"]))])
    return folder
