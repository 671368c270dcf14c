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
    from truthguard.records import JudgeSettings, ModelSettings, Selection
    from truthguard.thresholds.spec import JudgeSpec

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


def gibibytes(value: str) -> int:
    """A whole number of GiB, 0 among them, in bytes."""
    if not re.fullmatch(r"[0-9]{1,6}", value):
        raise ValueError(f"expected a whole number of GiB, got {value!r}")
    return int(value) * 2**30


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


def folders(value: str) -> tuple[Path, ...]:
    """Paths with the separator of the PATH variable between them, since a name may hold a comma."""
    return tuple(folder(each) for each in value.split(os.pathsep))


def folder_or_off(value: str) -> Path | str:
    """A folder, or the word `off`."""
    return OFF if value.lower() == OFF else folder(value)


def host(value: str) -> str:
    """The name of a host, with a port where only that one is meant; in lower case."""
    if not re.fullmatch(
        r"(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", value.lower(), re.ASCII
    ):
        raise ValueError(
            f"expected a host such as llm.example.com, or with its port llm.example.com:8000, got {value!r}"
        )
    return value.lower()


def hosts(value: str) -> tuple[str, ...]:
    """Hosts with commas between them."""
    return tuple(host(each.strip()) for each in value.split(","))


def switch(value: str) -> bool:
    """On or off, as environments write it."""
    if value.lower() not in (*_ON, *_NOT_ON):
        raise ValueError(f"expected 1 or 0, got {value!r}")
    return value.lower() in _ON


_ON = ("1", "true", "yes", "on")
_NOT_ON = ("0", "false", "no", "off")


class Option(NamedTuple):
    """One setting: `--truthguard-NAME`, `TRUTHGUARD_NAME` and the ini value `truthguard_name`.

    `given` says how it is written on the command line: with one value, as often as there are values (each with
    `parse`, while `variable` holds all of them and is read by `parse_all`), or alone.
    """

    name: str
    parse: Callable[[str], Any]
    metavar: str
    help: str
    ini: Literal["string", "int"] | None = "string"
    given: Literal["once", "repeated", "alone"] = "once"
    parse_all: Callable[[str], Any] | None = None
    plural: str = ""

    @property
    def flag(self) -> str:
        return f"--truthguard-{self.name}"

    @property
    def dest(self) -> str:
        return "truthguard_" + self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return self.dest.upper() + self.plural.upper()


OPTIONS = (
    Option("model", text, "SPEC", "a hub name (NAME@REVISION), a folder, a .gguf, or package:MODULE/FILE"),
    Option("device", device, "DEVICE", "where the model runs: auto, cpu, cuda, cuda:N, mps"),
    Option(
        "adapter",
        folder_or_off,
        "DIR|off",
        "a LoRA adapter of the model, merged into its weights; off: without the thresholds file's",
        None,
    ),
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
    Option(
        "weights-limit",
        gibibytes,
        "GIB",
        "GiB of converted .gguf weights that the cache keeps at most (default 8; 0: none)",
        "int",
    ),
    Option("json", folder, "FILE", "write the record of the run to FILE", None),
    Option(
        "save-trust", folder, "FILE", "write what was found out about the judge to FILE, for gates to require", None
    ),
    Option(
        "baseline",
        folder,
        "FILE",
        "compare with FILE, a baseline or a record: what max_drop is held against (repeatable, at most twice)",
        None,
        "repeated",
        folders,
        "s",
    ),
    Option(
        "save-baseline", folder, "FILE", "write the values of the run to FILE, for later runs to compare with", None
    ),
    Option(
        "html", folder, "FILE", "write a page of the outcome to FILE that opens in a browser without a network", None
    ),
    Option("markdown", folder, "FILE", "write a short page of the outcome to FILE, in Markdown", None),
    Option(
        "github",
        one_of("auto", OFF),
        "auto|off",
        "in GitHub Actions: add that page to the step's summary and annotate failed benchmarks (auto), or not (off)",
    ),
    Option(
        "update-thresholds",
        switch,
        "",
        "raise each min in the thresholds file to the lower end of the interval just measured",
        None,
        "alone",
    ),
    Option("judge", text, "SPEC", "the judge's model, named as the model is; without one judged rows go by similarity"),
    Option(
        "allow-host",
        host,
        "HOST",
        "send the API key to HOST too, not to OpenAI alone (repeatable; never in a file)",
        None,
        "repeated",
        hosts,
        "s",
    ),
    Option("dry-run", switch, "", "say what each model would be asked, and ask nothing", None, "alone"),
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
        group.addoption(option.flag, dest=option.dest, default=None, help=option.help, **_argparse(option))
        if option.ini:
            parser.addini(option.dest, option.help, type=option.ini, default=None)


def _argparse(option: Option) -> dict[str, Any]:
    """How argparse takes the option."""
    if option.given == "alone":
        return {"action": "store_const", "const": True}
    action = "append" if option.given == "repeated" else "store"
    return {"action": action, "metavar": option.metavar, "type": _argparse_type(option)}


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
        revision and its adapter, which belong to that name.
        """
        from truthguard.records import ModelSettings

        given = self._named("model", file)
        for key in ("device", "dtype", "scorer", "batch_tokens"):
            self._fill(given, key)
        if (adapter := self.get("adapter")) is not None:
            given["adapter"] = None if adapter == OFF else str(adapter)
        return ModelSettings(**given) if given["name"] is not None else None

    def judge_settings(self, file: JudgeSpec, model: Mapping[str, Any]) -> JudgeSettings:
        """The judge as it stands after every source, from the file's [judge] and [model].

        With a model it is a rubric, else similarity, unless the file says its kind. Of the other options only the
        device is the judge's too; without one of its own it runs where the file has its model run.
        """
        from truthguard.records import JudgeSettings, ModelSettings

        given = self._named("judge", file.model)
        if model.get("device") is not None:
            given.setdefault("device", model["device"])
        self._fill(given, "device")
        named = ModelSettings(**given) if given["name"] is not None else None
        kind = "similarity" if named is None else "rubric"
        return JudgeSettings(**{"kind": kind, **file.settings, "model": named})

    def _named(self, option: str, file: Mapping[str, Any]) -> dict[str, Any]:
        """A model's keys in the file, with the name that wins."""
        given = {key: value for key, value in file.items() if value is not None}
        if option in self.strong:
            given.pop("revision", None)
            given.pop("adapter", None)
            given["name"] = self.strong[option]
        given.setdefault("name", self.weak.get(option))
        return given

    def _fill(self, given: dict[str, Any], key: str) -> None:
        option = key.replace("_", "-")
        if option in self.strong:
            given[key] = self.strong[option]
        elif option in self.weak:
            given.setdefault(key, self.weak[option])

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
                strong[option.name] = tuple(value) if option.given == "repeated" else value
                levels[option.name] = "command line"
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
        return (option.parse_all or option.parse)(value)
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
