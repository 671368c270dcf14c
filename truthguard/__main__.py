"""The command `truthguard`: thin, over the same functions as the plugin."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from truthguard import __version__
from truthguard.errors import TruthguardError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 1 with the reason on standard error."""
    options = _parser().parse_args(arguments)
    try:
        for line in options.run(options):
            print(line)
    except TruthguardError as error:
        print(f"truthguard: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="truthguard",
        description="Gates language models on truthfulness, inside pytest: run `pytest thresholds.toml`.",
    )
    parser.add_argument("--version", action="version", version=f"truthguard {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    fetch = commands.add_parser("fetch", help="download the files of a benchmark and check their digests")
    fetch.add_argument("benchmark", choices=["truthfulqa"], help="whose files")
    fetch.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where to put them (default: TRUTHGUARD_DATA, else the user's cache)",
    )
    fetch.set_defaults(run=_fetch)
    return parser


def _fetch(options: argparse.Namespace) -> list[str]:
    import os

    from truthguard.benchmarks.registry import default_data
    from truthguard.fetch import fetch_truthfulqa

    chosen = options.data or os.environ.get("TRUTHGUARD_DATA")
    target = Path(chosen).expanduser() if chosen else default_data()
    paths = fetch_truthfulqa(target)
    lines = [f"{path.relative_to(target)}" for path in paths]
    own = target != default_data()
    where = f"; pass --truthguard-data {target} or set TRUTHGUARD_DATA to it" if own else ""
    return [*lines, f"{len(paths)} files in {target}{where}"]


if __name__ == "__main__":
    sys.exit(main())
