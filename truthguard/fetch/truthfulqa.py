"""TruthfulQA's three versions, and the primers that stand in upstream's presets.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truthguard.benchmarks.truthfulqa import FOLDER, PRIMERS, PUBLISHED, TABLE, TASK
from truthguard.catalogue import PROMPTS
from truthguard.fetch.constants import Constants
from truthguard.fetch.downloading import DataFile, TextsFile, checked_url, download, fetch_all

REPOSITORY = "sylinrl/TruthfulQA"
BASE_URL = f"https://raw.githubusercontent.com/{REPOSITORY}"

# The commit whose tree holds the version, and the path of each file there.
UPSTREAM: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "2021-09": ("013686a06be7a7bde5bf8223943e106c7250123c", {TASK: "data/mc_task.json", TABLE: "TruthfulQA.csv"}),
    "2021-10": (
        "f6be04e52bbcb41d4d20daee6358231d4a5015d2",
        {TASK: "data/v1/mc_task.json", TABLE: "data/v1/TruthfulQA.csv"},
    ),
    "2025-01": ("f6be04e52bbcb41d4d20daee6358231d4a5015d2", {TASK: "data/mc_task.json", TABLE: "TruthfulQA.csv"}),
}
PRESETS_COMMIT = "d71c110897f5d31c5d7f309e7bc316c152f6f031"
PRESETS_PATH = "truthfulqa/presets.py"
PRESETS_NAME = "preset_map"

# SHA-256 of the six primers (texts_sha256).
PRIMERS_SHA256 = "5e9c808c27ea993e23708ed1b4502e2a5cebf5c50fc65ba1c190f315f230b482"


def fetch_truthfulqa(target: Path, *, base_url: str | None = None) -> list[Path]:
    """Put TruthfulQA's three versions and its primers under `target`/truthfulqa; the paths of all its files.

    `base_url` stands for https://raw.githubusercontent.com/sylinrl/TruthfulQA and is https (http on this machine's
    loopback only). What is kept, what is refused and what is raised: downloading.fetch_all.
    """
    base = checked_url(BASE_URL if base_url is None else base_url)
    folder = target / FOLDER
    files = [
        DataFile(folder / version / name, f"{base}/{commit}/{path}", (PUBLISHED[version][name],))
        for version, (commit, paths) in UPSTREAM.items()
        for name, path in paths.items()
    ]
    url = f"{base}/{PRESETS_COMMIT}/{PRESETS_PATH}"
    primers = TextsFile(
        path=folder / PRIMERS,
        name="primers",
        sha256=PRIMERS_SHA256,
        head={
            "source": f"{REPOSITORY}, {PRESETS_PATH} at {PRESETS_COMMIT}, string constants unchanged",
            "license": "Apache-2.0",
        },
        fields=("primers",),
        read=lambda: {"primers": read_presets(download(url), url)},
    )
    return fetch_all(files, primers)


def read_presets(source: bytes, origin: str) -> dict[str, str]:
    """The six primers from the text of upstream's presets.py. Raises DataError."""
    return Constants(source, origin).dictionary(PRESETS_NAME, PROMPTS[FOLDER], "the dictionary that names the primers")
