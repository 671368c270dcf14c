"""Run inside the harness' own environment by generation.py: time its request loop on prompts from a file.

    python lm_eval_generation_driver.py JOB.json

JOB has weights, prompts, stop, max_tokens and batch_size. The task is the harness' own truthfulqa_gen; the prompts
come from the file, and so do the stop strings and the limit, so that both sides write the same texts.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager


def main() -> None:
    """Print one JSON object: seconds of the loop, processor seconds of it, and the texts."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        write_task(Path(folder), job)
        (task,) = TaskManager(include_path=folder).load(["local_gen"])["tasks"].values()
        task.build_all_requests()
    model = HFLM(pretrained=job["weights"], device="cpu", dtype="float32", batch_size=job["batch_size"])
    warm_up(model)
    start, busy = time.perf_counter(), time.process_time()
    texts = model.generate_until(task.instances, disable_tqdm=True)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    print(json.dumps({"seconds": seconds, "busy": busy, "texts": texts}))


def warm_up(model: HFLM) -> None:
    """One short pass: what the first one costs belongs to loading."""
    model.loglikelihood([Instance("loglikelihood", {}, ("A", " B"), 0)], disable_tqdm=True)


def write_task(folder: Path, job: dict[str, Any]) -> None:
    """The harness' task over the prompts of a local file."""
    unused = {"best_answer": "-", "correct_answers": ["-"], "incorrect_answers": ["-"], "question": "-"}
    with (folder / "prompts.jsonl").open("w", encoding="utf-8") as file:
        for prompt in job["prompts"]:
            file.write(json.dumps({"prompt": prompt, **unused}) + "\n")
    home = Path(lm_eval.__file__).parent / "tasks" / "truthfulqa"
    (folder / "local_gen.yaml").write_text(
        f"include: {home / 'truthfulqa_gen.yaml'}\n"
        "task: local_gen\n"
        "tag: null\n"
        "dataset_path: json\n"
        "dataset_name: null\n"
        f"dataset_kwargs:\n  data_files:\n    validation: {folder / 'prompts.jsonl'}\n"
        "test_split: null\n"
        "doc_to_text: prompt\n"
        "generation_kwargs:\n"
        "  do_sample: false\n"
        f"  max_gen_toks: {job['max_tokens']}\n"
        f"  until: {json.dumps(job['stop'])}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
