"""Run inside the harness' own environment by served.py: time its requests to a server on local questions.

    python served_driver.py URL MODEL TOKENIZER MC_TASK_JSON QUESTIONS BATCH_SIZE NUM_CONCURRENT

The tasks are the harness' own, as in lm_eval_driver.py. TOKENIZER is the folder of the model's tokenizer.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from lm_eval.models.openai_completions import LocalCompletionsAPI
from lm_eval.tasks import TaskManager
from lm_eval_driver import write_tasks


def main() -> None:
    """Print one JSON object: seconds of the loop and the log-likelihoods of the mc2 task."""
    url, model, tokenizer, questions_file, limit, batch_size, concurrent = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        write_tasks(Path(folder), Path(questions_file), int(limit))
        tasks = TaskManager(include_path=folder).load(["local_mc1", "local_mc2"])["tasks"]
    server = LocalCompletionsAPI(
        base_url=f"{url}/completions",
        model=model,
        tokenizer=tokenizer,
        tokenizer_backend="huggingface",
        tokenized_requests=True,
        batch_size=int(batch_size),
        num_concurrent=int(concurrent),
        timeout=1800,
    )
    requests = []
    sizes = []
    for task in tasks.values():
        task.build_all_requests()
        requests += task.instances
        sizes.append(len(task.instances))
    start = time.perf_counter()
    replies = server.loglikelihood(requests, disable_tqdm=True)
    seconds = time.perf_counter() - start
    mc2 = [value for value, _ in replies[sizes[0] :]]
    print(json.dumps({"seconds": seconds, "requests": len(requests), "log_likelihoods": mc2}))


if __name__ == "__main__":
    main()
