"""The command `truthguard`: thin, over the same functions as the plugin."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truthguard import __version__
from truthguard.errors import TruthguardError

if TYPE_CHECKING:
    from truthguard.commands.files import Outputs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 1 with the reason on standard error: bars that are not met, too."""
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
    fetch.add_argument("benchmark", choices=["truthfulqa", "prometheus"], help="whose files")
    _add_data(fetch, "where to put them")
    fetch.set_defaults(run=_fetch)
    sets = commands.add_parser("sets", help="tell what the sets hold on which a judge is measured")
    sets.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    _add_data(sets, "where their files are")
    sets.set_defaults(run=_sets)
    init = commands.add_parser("init", help="write a thresholds file to begin with, every setting explained")
    what = "the file, or the folder to put thresholds.toml in (default: this folder)"
    init.add_argument("path", nargs="?", type=Path, default=Path(), metavar="PATH", help=what)
    init.set_defaults(run=_init)
    _add_cache(commands.add_parser("cache", help="list what is kept between runs, or clear it"))
    _add_compare(commands.add_parser("compare", help="hold a candidate's record beside an earlier one"))
    _add_report(commands.add_parser("report", help="say once more what records say, and make pages of it"))
    _add_power(commands.add_parser("power", help="tell which max_drop bars can be decided, before anything is asked"))
    _add_import(commands.add_parser("import", help="make a record of a run that another tool has made"))
    return parser


def _add_cache(command: argparse.ArgumentParser) -> None:
    what = "the folder (default: TRUTHGUARD_CACHE, else the user's cache)"
    command.add_argument("--cache", type=Path, metavar="DIR", help=what)
    clear = "remove the answers, the converted weights, or all of both (default: all); benchmark files stay"
    command.add_argument("--clear", nargs="?", const="all", choices=["answers", "weights", "all"], help=clear)
    command.set_defaults(run=_cache)


def _add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool", choices=["lm-eval"], help="the tool (lm-evaluation-harness)")
    what = "its logged samples of truthfulqa_mc1 and truthfulqa_mc2 (lm_eval --log_samples)"
    command.add_argument("samples", nargs="+", type=Path, metavar="SAMPLES", help=what)
    _add_data(command, "where the benchmark's files are")
    command.add_argument(
        "--version", choices=["2021-09", "2021-10"], help="the questions' version (default: the one that has them all)"
    )
    named = "the model's name (default: as the results file beside the samples has it)"
    command.add_argument("--model", metavar="NAME", help=named)
    command.add_argument("--out", type=Path, required=True, metavar="RECORD.json", help="where to write the record")
    command.set_defaults(run=_import)


def _add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("base", type=Path, metavar="BASE", help="the earlier record, or a baseline")
    command.add_argument("candidate", type=Path, metavar="CANDIDATE", help="the record that is held beside it")
    what = "hold the rows of this file, and exit with 1 where one fails (default: compare what both have)"
    command.add_argument("--thresholds", type=Path, metavar="FILE", help=what)
    _add_outputs(command)
    command.add_argument("--json", type=Path, metavar="FILE", help="write the record of the comparison to FILE")
    command.set_defaults(run=_compare)


def _add_report(command: argparse.ArgumentParser) -> None:
    what = "records or baselines: the newest is reported on, beside the one before it"
    command.add_argument("records", nargs="+", type=Path, metavar="RECORD", help=what)
    _add_outputs(command)
    command.set_defaults(run=_report, json=None)


def _add_outputs(command: argparse.ArgumentParser) -> None:
    html = "write a page to FILE that opens in a browser without a network"
    command.add_argument("--html", type=Path, metavar="FILE", help=html)
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write a short page to FILE, in Markdown")
    command.add_argument("-v", "--verbose", action="count", default=0, help="list every row")


def _add_power(command: argparse.ArgumentParser) -> None:
    command.add_argument("thresholds", type=Path, metavar="FILE", help="the thresholds file")
    what = "the baseline, or a record, that a candidate will be compared with"
    command.add_argument("--baseline", type=Path, required=True, metavar="FILE", help=what)
    command.set_defaults(run=_power)


def _add_data(command: argparse.ArgumentParser, what: str) -> None:
    default = "default: TRUTHGUARD_DATA, else the user's cache"
    command.add_argument("--data", type=Path, metavar="DIR", help=f"{what} ({default})")


def _data(options: argparse.Namespace) -> Path:
    import os

    from truthguard.benchmarks.registry import default_data

    chosen = options.data or os.environ.get("TRUTHGUARD_DATA")
    return Path(chosen).expanduser() if chosen else default_data()


def _fetch(options: argparse.Namespace) -> list[str]:
    from truthguard.benchmarks.registry import default_data
    from truthguard.fetch import fetch_prometheus, fetch_truthfulqa

    target = _data(options)
    paths = {"truthfulqa": fetch_truthfulqa, "prometheus": fetch_prometheus}[options.benchmark](target)
    lines = [f"{path.relative_to(target)}" for path in paths]
    own = target != default_data()
    where = f"; pass --truthguard-data {target} or set TRUTHGUARD_DATA to it" if own else ""
    return [*lines, f"{len(paths)} files in {target}{where}"]


def _cache(options: argparse.Namespace) -> Iterator[str]:
    import os

    from platformdirs import user_cache_path

    from truthguard.commands.caching import clear_cache, list_cache
    from truthguard.errors import UsageError

    chosen = options.cache or os.environ.get("TRUTHGUARD_CACHE")
    if str(chosen).lower() == "off":
        raise UsageError("TRUTHGUARD_CACHE=off keeps nothing: name a folder with --cache DIR")
    folder = Path(chosen).expanduser().absolute() if chosen else user_cache_path("truthguard")
    return list_cache(folder) if options.clear is None else clear_cache(folder, options.clear)


def _sets(options: argparse.Namespace) -> Iterator[str]:
    from truthguard.benchmarks.describing import NAMES, describe
    from truthguard.errors import UsageError, nearest

    for name in options.names:
        if name not in NAMES:
            raise UsageError(f"unknown set {name!r}{nearest(name, NAMES)}")
    return describe(options.names or NAMES, _data(options))


def _init(options: argparse.Namespace) -> list[str]:
    from truthguard.thresholds.starting import write_starting_file

    path = write_starting_file(options.path)
    return [f"{path} is written: name your model in its [model] table, then run `pytest {path}`"]


def _compare(options: argparse.Namespace) -> Iterator[str]:
    from truthguard.commands.comparing import compare

    outputs, thresholds = _outputs(options), options.thresholds
    return compare(options.base, options.candidate, thresholds, outputs=outputs, verbose=options.verbose)


def _report(options: argparse.Namespace) -> Iterator[str]:
    from truthguard.commands.reporting import report

    return report(options.records, outputs=_outputs(options), verbose=options.verbose)


def _outputs(options: argparse.Namespace) -> Outputs:
    from truthguard.commands.files import Outputs

    return Outputs(html=options.html, markdown=options.markdown, json=options.json)


def _power(options: argparse.Namespace) -> Iterator[str]:
    from truthguard.commands.power import power

    return power(options.thresholds, options.baseline)


def _import(options: argparse.Namespace) -> Iterator[str]:
    from truthguard.importing.lm_eval import import_samples
    from truthguard.report.terminal import summary_lines
    from truthguard.store.record import write_record

    rows, run = import_samples(options.samples, _data(options), version=options.version, model=options.model)
    write_record(options.out, rows, [run])
    yield from (line.text for line in summary_lines(rows, [run]))
    yield f"record: {options.out}"


if __name__ == "__main__":
    sys.exit(main())
