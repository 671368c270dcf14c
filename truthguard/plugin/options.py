"""The options: one table of names and parsers, and who wins when several places set one.

Precedence: command line, `TRUTHGUARD_*` environment, thresholds file, ini, default. Every value goes through
the same parser wherever it was written, so that a mistake reads the same everywhere.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from truthguard.records import ModelSettings, Selection

Level = Literal["command line", "environment", "ini"]
OFF = "off"


def text(value: str) -> str:
    """Any text that is not blank."""
    if not value.strip():
        raise ValueError("expected a value, got an empty text")
    return value


def count(value: str) -> int:
    """A whole number of at least 1."""
    if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) < 1:
        raise ValueError(f"expected a whole number of at least 1, got {value!r}")
    return int(value)


def device(value: str) -> str:
    """`auto`, `cpu`, `cuda`, `cuda:N` or `mps`."""
    if not re.fullmatch(r"auto|cpu|cuda|cuda:[0-9]{1,3}|mps", value):
        raise ValueError(f"expected auto, cpu, cuda, cuda:N or mps, got {value!r}")
    return value


def one_of(*names: str) -> Callable[[str], str]:
    """One of the names."""

    def parse(value: str) -> str:
        if value not in names:
            from truthguard.errors import nearest

            raise ValueError(f"got {value!r}{nearest(value, names)}")
        return value

    return parse


def folder(value: str) -> Path:
    """A path, `~` expanded and made absolute at once: a test may change the working directory."""
    return Path(text(value)).expanduser().absolute()


def folder_or_off(value: str) -> Path | str:
    """A folder, or the word `off`."""
    return OFF if value.lower() == OFF else folder(value)


class Option(NamedTuple):
    """One setting: `--truthguard-NAME`, `TRUTHGUARD_NAME` and the ini value `truthguard_name`."""

    name: str
    parse: Callable[[str], Any]
    metavar: str
    help: str
    ini: Literal["string", "int"] | None = "string"

    @property
    def flag(self) -> str:
        return f"--truthguard-{self.name}"

    @property
    def dest(self) -> str:
        return "truthguard_" + self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return self.dest.upper()


OPTIONS = (
    Option("model", text, "SPEC", "a hub name (NAME@REVISION), a folder, a .gguf, or package:MODULE/FILE"),
    Option("device", device, "DEVICE", "where the model runs: auto, cpu, cuda, cuda:N, mps"),
    Option(
        "dtype",
        one_of("auto", "float32", "bfloat16", "float16"),
        "DTYPE",
        "the weights' type: auto, float32, bfloat16, float16",
    ),
    Option("data", folder, "DIR", "the folder of the benchmark files (see `truthguard fetch`)"),
    Option("limit", count, "N", "ask only the first N items of each benchmark", "int"),
    Option("sample", count, "N", "ask N items of each benchmark, drawn by category with a fixed seed", "int"),
    Option(
        "scorer",
        one_of("auto", "packed", "plain"),
        "PATH",
        "how log-likelihoods are computed: auto, packed (shared prefixes), plain (one row each)",
    ),
    Option("batch-tokens", count, "N", "tokens of one pass, without the shared prefix", "int"),
    Option("cache", folder_or_off, "DIR|off", "where the model's answers are kept (default: the user's cache)"),
    Option("json", folder, "FILE", "write the record of the run to FILE", None),
)
BY_NAME = {option.name: option for option in OPTIONS}


def add_options(parser: pytest.Parser) -> None:
    """Register every option and ini value; each name starts with truthguard and sets its own destination."""
    group = parser.getgroup("truthguard", "truthguard: gates on the truthfulness of language models")
    group.addoption(
        "--truthguard",
        dest="truthguard",
        action="store_true",
        default=False,
        help="collect thresholds.toml of the root directory too",
    )
    for option in OPTIONS:
        group.addoption(
            option.flag,
            dest=option.dest,
            metavar=option.metavar,
            default=None,
            type=_argparse_type(option),
            help=option.help,
        )
        if option.ini:
            parser.addini(option.dest, option.help, type=option.ini, default=None)


def _argparse_type(option: Option) -> Callable[[str], Any]:
    def parse(value: str) -> Any:
        try:
            return option.parse(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


class Options(NamedTuple):
    """What was set outside the thresholds file, by level; a name that nobody set is in none of them."""

    strong: Mapping[str, Any]
    weak: Mapping[str, Any]
    levels: Mapping[str, Level]

    def get(self, name: str, default: Any = None) -> Any:
        """The value for settings that a thresholds file cannot have."""
        return self.strong.get(name, self.weak.get(name, default))

    def model_settings(self, file: Mapping[str, Any]) -> ModelSettings | None:
        """The model as it stands after every source: None when nobody named one.

        A model named on the command line or in the environment replaces the file's name together with its
        revision, which belongs to that name.
        """
        from truthguard.records import ModelSettings

        keys = ("device", "dtype", "scorer", "batch_tokens")
        given = {key: value for key, value in file.items() if value is not None}
        if "model" in self.strong:
            given.pop("revision", None)
            given["name"] = self.strong["model"]
        given.setdefault("name", self.weak.get("model"))
        for key in keys:
            option = key.replace("_", "-")
            if option in self.strong:
                given[key] = self.strong[option]
            elif option in self.weak:
                given.setdefault(key, self.weak[option])
        if given["name"] is None:
            return None
        return ModelSettings(**given)

    def selection(self) -> Selection:
        """The first N items or a sample: where both are set, the one that is set nearer to the command line."""
        from truthguard.errors import UsageError
        from truthguard.records import Selection

        limit, sample = self.get("limit"), self.get("sample")
        if limit is not None and sample is not None:
            order: tuple[Level, ...] = ("command line", "environment", "ini")
            one, other = order.index(self.levels["limit"]), order.index(self.levels["sample"])
            if one == other:
                raise UsageError(
                    f"--truthguard-limit {limit} and --truthguard-sample {sample} are both set"
                    f" ({order[one]}): the first N items, or N drawn by category? Keep one of them"
                )
            limit, sample = (limit, None) if one < other else (None, sample)
        return Selection(limit=limit, sample=sample)


def read_options(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> Options:
    """Gather every option from the command line, the environment and the ini file.

    Raises UsageError for a value of the wrong form, naming the place where it was written.
    """
    from truthguard.errors import Mistake, UsageError

    strong: dict[str, Any] = {}
    weak: dict[str, Any] = {}
    levels: dict[str, Level] = {}
    mistakes: list[Mistake] = []
    for option in OPTIONS:
        value = config.getoption(option.dest)
        try:
            if value is not None:
                strong[option.name], levels[option.name] = value, "command line"
            elif environ.get(option.variable):
                strong[option.name] = _parsed(option, environ[option.variable], option.variable)
                levels[option.name] = "environment"
            elif option.ini and (written := _ini(config, option)) is not None:
                weak[option.name] = _parsed(option, written, f"ini value {option.dest}")
                levels[option.name] = "ini"
        except UsageError as error:
            mistakes += error.mistakes
    if mistakes:
        raise UsageError(mistakes)
    return Options(strong, weak, levels)


def _parsed(option: Option, value: str, place: str) -> Any:
    from truthguard.errors import UsageError

    try:
        return option.parse(value)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


def _ini(config: pytest.Config, option: Option) -> str | None:
    from truthguard.errors import UsageError

    try:
        value = config.getini(option.dest)
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise UsageError(f"ini value {option.dest}: {error}") from None
    if value is None or value == "":
        return None
    written = str(value)
    if option.parse in (folder, folder_or_off) and written.lower() != OFF and config.inipath is not None:
        # As pytest reads its own: a relative path of the ini file starts from the file.
        return str(config.inipath.parent / Path(written).expanduser())
    return written
