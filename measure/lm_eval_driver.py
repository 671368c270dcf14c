"""Run inside the harness' own environment by against_lm_eval.py: time its request loop on local questions.

    python lm_eval_driver.py WEIGHTS MC_TASK_JSON QUESTIONS BATCH_SIZE

The tasks are the harness' own; only where they read their questions from is changed, since its default is a hub.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import lm_eval
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager


def main() -> None:
    """Print one JSON object: seconds of the loop and the log-likelihoods of the mc2 task."""
    weights, questions_file, limit, batch_size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    with tempfile.TemporaryDirectory() as folder:
        write_tasks(Path(folder), questions_file, limit)
        tasks = TaskManager(include_path=folder).load(["local_mc1", "local_mc2"])["tasks"]
    model = HFLM(pretrained=weights, device="cpu", dtype="float32", batch_size=batch_size)
    requests = []
    sizes = []
    for task in tasks.values():
        task.build_all_requests()
        requests += task.instances
        sizes.append(len(task.instances))
    start = time.perf_counter()
    replies = model.loglikelihood(requests, disable_tqdm=True)
    seconds = time.perf_counter() - start
    mc2 = [value for value, _ in replies[sizes[0] :]]
    print(json.dumps({"seconds": seconds, "requests": len(requests), "log_likelihoods": mc2}))


def write_tasks(folder: Path, questions_file: Path, limit: int) -> None:
    """The harness' two tasks over a local file in the form in which the hub serves the questions."""
    rows = json.loads(questions_file.read_text(encoding="utf-8"))[:limit]
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            targets = {
                name: {"choices": list(row[name]), "labels": list(row[name].values())}
                for name in ("mc1_targets", "mc2_targets")
            }
            file.write(json.dumps({"question": row["question"], **targets}) + "\n")
    home = Path(lm_eval.__file__).parent / "tasks" / "truthfulqa"
    for name in ("mc1", "mc2"):
        (folder / f"local_{name}.yaml").write_text(
            f"include: {home / f'truthfulqa_{name}.yaml'}\n"
            f"task: local_{name}\n"
            "tag: null\n"
            "dataset_path: json\n"
            "dataset_name: null\n"
            f"dataset_kwargs:\n  data_files:\n    validation: {folder / 'questions.jsonl'}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
