"""The eight sets of the Prometheus 2 protocol, and the words in which its authors ask judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truthguard.benchmarks.prometheus_sets import FOLDER, PROMPTS_FILE, SETS
from truthguard.fetch.constants import Constants
from truthguard.fetch.downloading import DataFile, TextsFile, checked_url, download, fetch_all

REPOSITORY = "prometheus-eval/prometheus-eval"
BASE_URL = f"https://raw.githubusercontent.com/{REPOSITORY}"
COMMIT = "dcfb44272d5d0414832f5dbb8c2a05ebc2614234"
DATA_PATH = "eval/benchmark/data"

# The module that holds each wording, and its texts.
TEXTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "library": (
        "libs/prometheus-eval/prometheus_eval/prompts.py",
        (
            "ABS_SYSTEM_PROMPT",
            "REL_SYSTEM_PROMPT",
            "ABSOLUTE_PROMPT",
            "ABSOLUTE_PROMPT_WO_REF",
            "RELATIVE_PROMPT",
            "RELATIVE_PROMPT_WO_REF",
            "ABSOLUTE_PROMPT_WO_REF_RAG",
            "RELATIVE_PROMPT_WO_REF_RAG",
        ),
    ),
    "paper": (
        "eval/prompts.py",
        (
            "RELATIVE_PROMPT",
            "ABSOLUTE_PROMPT",
            "AUTOJ_COARSE_SCORE_RUBRIC",
            "ABS_SYSTEM_PROMPT",
            "REL_SYSTEM_PROMPT",
        ),
    ),
}
# SHA-256 of both wordings (texts_sha256).
TEXTS_SHA256 = "9ad28aebdb54003927fe60f75c9f53dd7aad5b937a849e4af35cb0de36e78c01"


def fetch_prometheus(target: Path, *, base_url: str | None = None) -> list[Path]:
    """Put the eight sets and the published prompts under `target`/prometheus2; the paths of all their files.

    `base_url` stands for https://raw.githubusercontent.com/prometheus-eval/prometheus-eval and is https (http on this
    machine's loopback only). What is kept, what is refused and what is raised: downloading.fetch_all.
    """
    base = f"{checked_url(BASE_URL if base_url is None else base_url)}/{COMMIT}"
    folder = target / FOLDER
    files = [
        DataFile(folder / f"{each.file}.json", f"{base}/{DATA_PATH}/{each.file}.json", each.digests)
        for each in SETS.values()
    ]
    modules = ", ".join(f'"{name}" from {path}' for name, (path, _) in TEXTS.items())
    prompts = TextsFile(
        path=folder / PROMPTS_FILE,
        name="prompts",
        sha256=TEXTS_SHA256,
        head={"source": f"{REPOSITORY} at {COMMIT}: {modules}; string constants unchanged", "license": "Apache-2.0"},
        fields=tuple(TEXTS),
        read=lambda: read_texts(base),
    )
    return fetch_all(files, prompts)


def read_texts(base: str) -> dict[str, dict[str, str]]:
    """Both wordings, from upstream's modules below `base`. Raises DataError."""
    texts = {}
    for name, (path, names) in TEXTS.items():
        url = f"{base}/{path}"
        texts[name] = Constants(download(url), url).texts(names)
    return texts
