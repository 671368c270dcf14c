"""What README.md names is there, and what is there it names."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests import readme
from truthguard import __main__ as command
from truthguard.catalogue import BENCHMARKS
from truthguard.plugin.options import OPTIONS
from truthguard.thresholds import reading
from truthguard.thresholds.schema import BenchmarkKeys, JudgeTable, ModelTable, RowKeys

ROOT = readme.PATH.parent
GATES = [block for block in readme.blocks("toml") if "tool.pytest" not in block.text]


def named(pattern: str, text: str | None = None) -> set[str]:
    found = re.finditer(pattern, readme.text() if text is None else text, re.MULTILINE)
    return {match[match.lastindex or 0] for match in found}


@pytest.mark.parametrize("block", GATES, ids=lambda block: f"line{block.line}")
def test_every_thresholds_file_is_valid(block: readme.Block, tmp_path: Path) -> None:
    """As a file of its own, to the last key."""
    path = tmp_path / "thresholds.toml"
    path.write_text(block.text, encoding="utf-8")
    assert any(benchmark.rows for benchmark in reading.read(path).benchmarks)


@pytest.mark.parametrize("block", GATES, ids=lambda block: f"line{block.line}")
def test_every_thresholds_file_fits_the_data(block: readme.Block, pytester: pytest.Pytester, real_data: Path) -> None:
    """Its categories are there, nothing in it would be ignored, and pytest collects its rows."""
    (shown,) = readme.blocks("json")
    (pytester.path / "faq.jsonl").write_text(shown.text, encoding="utf-8")
    (pytester.path / "thresholds.toml").write_text(block.text, encoding="utf-8")
    result = pytester.runpytest_inprocess("thresholds.toml", "--collect-only", "--truthguard-data", str(real_data))
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*<GateRow *"])
    result.stdout.no_fnmatch_line("*warning*")


def test_the_options_table_has_every_option_and_no_other() -> None:
    """Those that are named anywhere else exist, too."""
    flags = {option.flag for option in OPTIONS} | {"--truthguard"}
    assert named("--truthguard[a-z-]*") == flags
    _, _, table = readme.text().partition("## Options\n")
    assert named("--truthguard[a-z-]*", table.partition("\n## ")[0]) == flags


def test_every_variable_is_read() -> None:
    """The environment's names, those that take several values in the plural."""
    assert named("TRUTHGUARD_[A-Z_]+") <= {option.variable for option in OPTIONS}


def test_every_key_is_named() -> None:
    """Of each table of a thresholds file, set in an example or named in backticks."""
    tables = (ModelTable, JudgeTable, BenchmarkKeys, RowKeys)
    keys = {field.alias or name for table in tables for name, field in table.model_fields.items()}
    assert keys - named(r"(?:`|^|\{ |, )([a-z_]+)(?:`| +=)") == set()


def test_every_benchmark_is_named() -> None:
    """Those that ship with the package and those that are fetched."""
    assert BENCHMARKS.keys() - named(r"`([a-z_]+)`|\*\*([a-z_]+)") == set()


def test_every_command_is_there_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    """`truthguard --help` has the commands of the README and no other."""
    with pytest.raises(SystemExit):
        command.main(["--help"])
    told = set(re.findall(r"^ {4}([a-z-]+)(?= |$)", capsys.readouterr().out, re.MULTILINE))
    assert named(r"truthguard ([a-z-]+)(?=[ `\n])", _code()) == told


def _code() -> str:
    """What stands in code, between backticks or in a block of a shell or a workflow."""
    spans = re.findall(r"`(truthguard [^`]+)`", readme.text())
    blocks = [block.text for language in ("bash", "yaml") for block in readme.blocks(language)]
    return "\n".join([*(f"{span} " for span in spans), *blocks])


def test_every_extra_and_script_is_there() -> None:
    """`truthguard[report]`, `.[test]`, `python measure/gate_errors.py`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name for found in named(r"\"(?:truthguard|\.)\[([a-z,]+)\]") for name in found.split(",")}
    assert extras <= project["optional-dependencies"].keys()
    scripts = named(r"measure/[a-z_]+\.py")
    assert scripts
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


def test_commands_of_shells_can_be_read_by_one() -> None:
    """Quotes that do not close would not run."""
    for block in readme.blocks("bash"):
        for line in readme.commands(block):
            assert shlex.split(line)[0] in ("pip", "pytest", "truthguard", "vllm")


def test_links_within_the_page_lead_somewhere() -> None:
    """As GitHub names headings: small letters, hyphens for spaces, no marks."""
    headings = re.findall(r"^#+ (.+)$", readme.text(), re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert named(r"\]\(#([^)]+)\)") <= anchors
