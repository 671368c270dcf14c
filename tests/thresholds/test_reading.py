"""What a right thresholds file says."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from tests.thresholds.made import gate_of
from truthguard.records import Bar, BenchmarkSettings
from truthguard.thresholds.spec import Limits

FULL = """\
[model]
name = "some/model"
device = "cuda:1"
dtype = "float32"
revision = "main"
scorer = "plain"
batch_tokens = 512
chat_template = true
system_prompt = ""

[truthfulqa]
version = "2021-10"
prompt = "help"
normalization = "per_token"
closing_period = true

[truthfulqa.mc1]
min = 0
max = 1

[truthfulqa.mc2_mass]
min = 0.42
confidence = 0.9
max_unscored = 0.1
min_items = 3
by = "category"
each = { min = 0.30, block_on = "proof" }

[truthfulqa.mc2_mass.categories."Confusion: People"]
min = 0.20
waive_until = 2026-12-31
waive_reason = "known, see the tracker"

[truthfulqa.mc2_mass.categories.Law]

[faq]
kind = "questions"
path = "faq.jsonl"

[faq.mc1]
item_min = 1
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    """All keys of all tables arrive with their values, the tables in the file's order and with their lines."""
    gate = gate_of(tmp_path, FULL)
    assert gate.path == tmp_path / "thresholds.toml"
    assert gate.model == {
        "name": "some/model",
        "device": "cuda:1",
        "dtype": "float32",
        "revision": "main",
        "scorer": "plain",
        "batch_tokens": 512,
        "chat_template": True,
        "system_prompt": "",
    }
    truthfulqa, faq = gate.benchmarks
    assert truthfulqa.settings == BenchmarkSettings(
        "truthfulqa", version="2021-10", prompt="help", normalization="per_token", closing_period=True
    )
    assert faq.settings == BenchmarkSettings("faq", kind="questions", path="faq.jsonl")
    assert (truthfulqa.line, faq.line) == (11, 36)
    mc1, mass = truthfulqa.rows
    assert (mc1.metric, mc1.line, mc1.limits.bar) == ("mc1", 17, Bar(0.0, 1.0))
    assert isinstance(mc1.limits.min, float)
    assert (mass.metric, mass.line, mass.by_category) == ("mc2_mass", 21, True)
    assert mass.limits == Limits(0.1, min=0.42, confidence=0.9, min_items=3)
    (item_row,) = faq.rows
    assert (item_row.line, item_row.item_min, item_row.limits.bar) == (40, 1.0, Bar())


def test_each_and_single_categories_are_filled_from_the_row(tmp_path: Path) -> None:
    """A category has its own keys, else those of `each`, else the row's."""
    _, mass = gate_of(tmp_path, FULL).benchmarks[0].rows
    assert mass.each == Limits(0.1, min=0.30, block_on="proof", confidence=0.9, min_items=3)
    people, law = mass.categories["Confusion: People"], mass.categories["Law"]
    assert (people.line, law.line) == (29, 34)
    assert law.limits == mass.each
    assert people.limits == Limits(
        0.1,
        min=0.20,
        block_on="proof",
        confidence=0.9,
        min_items=3,
        waive_until=date(2026, 12, 31),
        waive_reason="known, see the tracker",
    )


def test_without_each_categories_have_the_rows_own_numbers(tmp_path: Path) -> None:
    """The default of `each` is the row."""
    (row,) = gate_of(tmp_path, '[starter.mc1]\nmin = 0.4\nmax = 0.9\nby = "category"\n').benchmarks[0].rows
    assert row.each == row.limits
    assert row.each.bar == Bar(0.4, 0.9)


def test_defaults(tmp_path: Path) -> None:
    """What a file leaves out: the number itself blocks, 0.95, nothing unscored, one item, the default version."""
    gate = gate_of(tmp_path, "[truthfulqa.mc1]\nmin = 0.3\n[starter.mc2]\n")
    truthfulqa, starter = gate.benchmarks
    assert truthfulqa.settings == BenchmarkSettings("truthfulqa", version="2021-09", prompt="qa")
    assert starter.settings == BenchmarkSettings("starter", version=None)
    assert truthfulqa.rows[0].limits == Limits(0.0, min=0.3, max=None, block_on=None, confidence=0.95, min_items=1)
    assert truthfulqa.rows[0].by_category is False
    assert dict(truthfulqa.rows[0].categories) == {}


def test_a_file_without_a_model_is_valid(tmp_path: Path) -> None:
    """[model] may be missing, empty, or set only some keys; only what is set is handed on."""
    assert dict(gate_of(tmp_path, "[starter.mc1]\n").model) == {}
    assert dict(gate_of(tmp_path, "[model]\n").model) == {}
    assert dict(gate_of(tmp_path, '[model]\ndtype = "float16"\n').model) == {"dtype": "float16"}
    assert gate_of(tmp_path, "").benchmarks == ()


def test_the_gate_cannot_be_changed(tmp_path: Path) -> None:
    """The model's keys are read only, as everything else in a gate."""
    gate = gate_of(tmp_path, '[model]\nname = "a"\n')
    with pytest.raises(TypeError):
        gate.model["name"] = "b"  # type: ignore[index]


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:15", "mps"])
def test_device_forms(tmp_path: Path, device: str) -> None:
    """Every device form of the contract is taken."""
    assert gate_of(tmp_path, f'[model]\ndevice = "{device}"\n').model == {"device": device}


@pytest.mark.parametrize("version", ["2021-09", "2021-10", "2025-01"])
def test_versions(tmp_path: Path, version: str) -> None:
    """Every published version of truthfulqa is taken."""
    table = gate_of(tmp_path, f'[truthfulqa]\nversion = "{version}"\n').benchmarks[0]
    assert (table.settings.version, table.rows) == (version, ())


@pytest.mark.parametrize(("value", "bar"), [("1", 1.0), ("0", 0.0), ("-0.0", 0.0), ("1.0", 1.0)])
def test_c21_whole_numbers_are_fractions_too(tmp_path: Path, value: str, bar: float) -> None:
    """C21: min = 1 means 1.0 and min = 0 means 0.0."""
    (row,) = gate_of(tmp_path, f"[truthfulqa.mc1]\nmin = {value}\n").benchmarks[0].rows
    assert row.limits.min == bar
    assert type(row.limits.min) is float


def test_a_contrast_may_have_a_negative_bar(tmp_path: Path) -> None:
    """mc2 runs from -1 to 1, and so may its bars."""
    (row,) = gate_of(tmp_path, "[starter.mc2]\nmin = -1\nmax = -0.5\n").benchmarks[0].rows
    assert row.limits.bar == Bar(-1.0, -0.5)


def test_both_ends_may_be_equal(tmp_path: Path) -> None:
    """min = max is a bar that can be met."""
    (row,) = gate_of(tmp_path, "[starter.mc1]\nmin = 0.5\nmax = 0.5\n").benchmarks[0].rows
    assert row.limits.bar == Bar(0.5, 0.5)


def test_dotted_keys_and_inline_tables_are_tables(tmp_path: Path) -> None:
    """The same file in another of TOML's forms is the same gate, but for the lines."""
    gate = gate_of(tmp_path, 'truthfulqa.version = "2021-10"\ntruthfulqa.mc1 = { min = 0.3 }\nstarter.mc3.max = 0.9\n')
    truthfulqa, starter = gate.benchmarks
    assert truthfulqa.settings.version == "2021-10"
    assert (truthfulqa.rows[0].line, truthfulqa.rows[0].limits.min) == (2, 0.3)
    assert (starter.rows[0].line, starter.rows[0].limits.max) == (3, 0.9)


def test_a_waiver_of_the_row_is_its_categories_too(tmp_path: Path) -> None:
    """Category rows are filled from the row in everything, its waiver included."""
    text = '[starter.mc1]\nmin = 0.4\nby = "category"\nwaive_until = 2030-01-01\nwaive_reason = "new model"\n'
    (row,) = gate_of(tmp_path, text).benchmarks[0].rows
    assert (row.each.waive_until, row.each.waive_reason) == (date(2030, 1, 1), "new model")


def test_reading_imports_neither_numpy_nor_torch(tmp_path: Path) -> None:
    """Reading and expanding a thresholds file loads nothing heavy."""
    path = tmp_path / "thresholds.toml"
    path.write_text(FULL)
    code = (
        "import json, sys, pathlib\n"
        "from truthguard.thresholds.reading import read\n"
        "from truthguard.thresholds.rows import expand\n"
        "import truthguard.thresholds.gate\n"
        f"gate = read(pathlib.Path({str(path)!r}))\n"
        "heavy = {'numpy', 'scipy', 'torch', 'transformers', 'openai', 'pytest'}\n"
        "print(json.dumps([len(gate.benchmarks), sorted(heavy & set(sys.modules))]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [2, []]
