"""What is wrong in a thresholds file: all of it, each with its line and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.thresholds.made import lines_of, mistakes_of


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("nan", "min = nan: expected a finite number"),
        ("inf", "min = inf: expected a finite number"),
        ("-inf", "min = -inf: expected a finite number"),
        ("70", "min = 70: 70 looks like per cent: scores here run from 0 to 1"),
        ("-0.1", "min = -0.1: lies outside the range of mc1: scores here run from 0 to 1"),
        ("true", "min = true: expected a number"),
        ('"0.7"', "min = '0.7': expected a number"),
        ("1e300", "lies outside the range of mc1"),
        ("[0.7]", "min = an array: expected a number"),
        ("{ value = 0.7 }", "min = a table: expected a number"),
        ("2026-12-31", "min = 2026-12-31: expected a number"),
        ('"\\u001b[31m"', "min = '\\x1b[31m': expected a number"),
    ],
)
def test_c21_a_bad_bar_is_refused_naming_key_and_value(tmp_path: Path, value: str, words: str) -> None:
    """C21: NaN, infinity, another scale and another type are refused when the file is read."""
    ((line, message),) = mistakes_of(tmp_path, f"[truthfulqa.mc1]\n# the bar\nmin = {value}\n")
    assert line == 3
    assert message.startswith("[truthfulqa.mc1] min = ")
    assert words in message


def test_all_mistakes_come_in_one_message_in_the_order_of_their_lines(tmp_path: Path) -> None:
    """Unknown keys, tables, metrics and benchmarks and bad values are all told at once."""
    text = """\
[model]
nam = "x"
dtype = "float3"
[truthfulqa]
version = "2021-11"
promt = "qa"
[truthfulqa.mc1]
min = 0.5
max = 0.4
mn = 3
[truthfulqa.mc2_mas]
min = nan
[truthfulq.mc3]
min = true
"""
    found = mistakes_of(tmp_path, text)
    assert [line for line, _ in found] == [2, 3, 5, 6, 9, 10, 11, 12, 13, 14]
    messages = [message for _, message in found]
    assert messages[0] == "[model] unknown key 'nam'; did you mean 'name'?"
    assert messages[1] == "[model] dtype = 'float3': unknown value; did you mean 'float32'?"
    assert messages[2] == "[truthfulqa] version = '2021-11': unknown version; did you mean '2021-10'?"
    assert messages[3] == "[truthfulqa] unknown key 'promt'; did you mean 'prompt'?"
    assert messages[4] == "[truthfulqa.mc1] max = 0.4: lies below min = 0.5: no score can meet both"
    assert messages[5] == "[truthfulqa.mc1] unknown key 'mn'; did you mean 'min'?"
    assert messages[6] == "[truthfulqa] unknown metric 'mc2_mas'; did you mean 'mc2_mass'?"
    assert messages[7] == "[truthfulqa.mc2_mas] min = nan: expected a finite number"
    assert messages[8].startswith("unknown table [truthfulq]; did you mean 'truthfulqa'?")
    assert "a file of your own needs path and kind" in messages[8]
    assert messages[9] == "[truthfulq.mc3] min = true: expected a number"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[mc1]\nmin = nan\n", 2),
        ("[mc11]\nmin = nan\n", 2),
        ("[truthfulqa.mc9]\nmin = nan\n", 2),
        ("[truthfulqa]\nmin = nan\n", 2),
        ("[truthfulqa.wrong.table]\n\nmin = nan\n", 3),
        ("[truthfulqa.mc1.category.Law]\nmin = nan\n", 2),
        ("[truthfulqa.mc1.categoris]\nLaw.min = nan\n", 2),
        ("[something.else]\nmin = nan\n", 2),
        ("[vicuna_bnch.pearson]\nmin = nan\n", 2),
        ("[truthfulqa.pearson]\nmin = nan\n", 2),
        ("[truthfulqa.mc1_per_token]\nmin = nan\n", 2),
        ("[[truthfulqa.mc1]]\nmin = nan\n", 2),
        ("[[truthfulqa]]\nmc1.min = nan\n", 2),
        ('["my faq"]\nkind = "questions"\npath = "x"\nmc1.min = nan\n', 4),
        ("min = nan\n", 1),
        ('[models]\nname = "a"\nbatch_tokens = nan\n', 3),
    ],
)
def test_a_bad_value_is_reported_inside_a_table_whose_name_is_wrong(tmp_path: Path, text: str, line: int) -> None:
    """A wrong name above does not hide the bad value below: two mistakes, each at its line."""
    found = mistakes_of(tmp_path, text)
    assert len(found) >= 2
    assert any(at == line and "= nan: expected a" in message for at, message in found)
    assert any("= nan: expected a" not in message for _, message in found)


@pytest.mark.parametrize("table", ["model", "judge"])
@pytest.mark.parametrize("value", ["1", "true", '""', '"  "', '["a"]'])
def test_an_adapter_is_a_path(tmp_path: Path, table: str, value: str) -> None:
    """Of either model; nothing else stands for one."""
    ((line, message),) = mistakes_of(tmp_path, f"[{table}]\nadapter = {value}\n")
    assert line == 2
    assert f"[{table}] adapter = " in message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[starter.mc1]\nmax_drop = -0.01\n", 2, "[starter.mc1] max_drop = -0.01: must be at least 0"),
        ("[starter.mc1]\nmax_drop = nan\n", 2, "expected a finite number"),
        ("[starter.mc1]\nmax_drop = true\n", 2, "max_drop = true: expected a number"),
        ("[starter.mc1]\nmax_drop = 2\n", 2, "2 looks like per cent: no score here can drop by more than 1"),
        ("[starter.mc2]\nmax_drop = 2.5\n", 2, "no score here can drop by more than 2"),
        ("[starter.mc1]\neach.max_drop = 3\nby = 'category'\n", 2, "[starter.mc1.each] max_drop = 3"),
        ("[starter.mc1.categories.Law]\nmax_drop = 3\n", 2, "no score here can drop by more than 1"),
        ("[injection.flipped]\nmax_drop = 0.1\n", 2, "flipped is the better the smaller it is: hold it with max"),
        ("[judge_starter.position_bias]\nmax_drop = 0.1\n", 2, "position_bias is the better the smaller it is"),
        ("[starter.mc1]\nblock_on = 'proof'\n", 2, "there is no min, no max and no max_drop"),
    ],
)
def test_a_max_drop_that_cannot_be_meant(tmp_path: Path, text: str, line: int, words: str) -> None:
    """C21: a bar on drops has its own range, and metrics that are better the smaller have none."""
    ((found, message),) = mistakes_of(tmp_path, text)
    assert (found, words in message) == (line, True), message


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('model = "gpt2"\n', 1, "expected a table: [model] and below it name"),
        ("x = 1\n", 1, "'x' = 1 stands outside every table"),
        ('[model]\nname = " "\n', 2, "must not be blank"),
        ('[model]\nname = "scripted:tests:model"\n', 2, "--truthguard-model"),
        ('[model]\ndevice = "cuda:x"\n', 2, "expected auto, cpu, cuda, cuda:N"),
        ('[model]\ndevice = "gpu"\n', 2, "expected auto, cpu, cuda, cuda:N"),
        ('[model]\nscorer = "pcked"\n', 2, "did you mean 'packed'?"),
        ("[model]\ndtype = 32\n", 2, "expected 'auto' or 'float32' or 'bfloat16' or 'float16'"),
        ("[model]\nbatch_tokens = 0\n", 2, "must be at least 1"),
        ("[model]\nbatch_tokens = 1.0\n", 2, "expected a whole number"),
        ("[model]\nbatch_tokens = true\n", 2, "expected a whole number"),
        ("[model]\nchat_template = 1\n", 2, "expected true or false"),
        ('[model]\nchat_template = "yes"\n', 2, "expected true or false"),
        ("[model]\nsystem_prompt = 3\n", 2, "expected text in quotes"),
        ("[starter]\nmc1 = 0.3\n", 2, "a row is a table: [starter.mc1] and below it min = ..."),
        ("[starter]\nfoo = 0.3\n", 2, "unknown key 'foo'"),
        ('[starter]\nkind = "questions"\n', 2, "is for files of your own questions; starter is built in"),
        ('[starter]\npath = "a.csv"\n', 2, "is for files of your own questions; starter is built in"),
        ('[starter]\nversion = "2021-10"\n', 2, "only truthfulqa has versions, not starter"),
        ('[starter]\nprompt = "help"\n', 2, "unknown prompt of starter; expected one of: null, qa"),
        ('[truthfulqa]\nprompt = "hlp"\n', 2, "did you mean 'help'?"),
        ('[truthfulqa]\nclosing_period = "true"\n', 2, "expected true or false"),
        ('[faq]\npath = "faq.csv"\n', 1, "[faq] has no kind"),
        ('[faq]\nkind = "questions"\n', 1, "[faq] has no path"),
        ('[faq]\nkind = "questions"\npath = ""\n', 3, "must not be blank"),
        ('[faq]\nkind = "question"\npath = "a"\n', 2, "unknown kind; did you mean 'questions'?"),
        ('[faq]\nkind = "questions"\npath = "a"\nprompt = "long"\n', 4, "unknown prompt of faq"),
        ('[faq]\nkind = "questions"\npath = "a"\nversion = "1"\n', 4, "only truthfulqa has versions, not faq"),
        ('["f\\u00e4q"]\nkind = "questions"\npath = "a"\n', 1, "ASCII letters, digits, - and _"),
        ('[""]\nkind = "questions"\npath = "a"\n', 1, "ASCII letters, digits, - and _"),
        ("[faq]\n", 1, "unknown table [faq]"),
        ("[truthfulQA]\n", 1, "did you mean 'truthfulqa'?"),
        (
            "[starter.mc1_per_byte]\nmin = 0.3\n",
            1,
            'set normalization = "per_byte" in [starter] and write [starter.mc1]',
        ),
        ('[starter]\nnormalization = "per_word"\n[starter.mc1]\n', 2, "did you mean 'per_"),
        ('[starter]\nnormalization = "per_token"\n[starter.mc2]\n', 2, "changes none of its rows: it is for mc1"),
        ('[starter.mc1]\nby = "categry"\n', 2, "did you mean 'category'?"),
        ('[starter.mc1]\nmin = 0.1\nblock_on = "prof"\n', 3, "did you mean 'proof'?"),
        ("[starter.mc1]\nconfidence = 0.5\n", 2, "must lie above 0.5 and below 1"),
        ("[starter.mc1]\nconfidence = 1\n", 2, "must lie above 0.5 and below 1"),
        ("[starter.mc1]\nconfidence = 95\n", 2, "95 looks like per cent"),
        ("[starter.mc1]\nmax_unscored = 1.5\n", 2, "must be at most 1"),
        ("[starter.mc1]\nmax_unscored = -0.1\n", 2, "must be at least 0"),
        ("[starter.mc1]\nmax_unscored = nan\n", 2, "expected a finite number"),
        ("[starter.mc1]\nmin_items = 0\n", 2, "must be at least 1"),
        ("[starter.mc1]\nmin_items = 2.5\n", 2, "expected a whole number"),
        ("[starter.mc1]\nitem_min = 2\n", 2, "item_min = 2: 2 looks like per cent"),
        ("[starter.mc1]\neach = 3\n", 2, "each = 3: expected a table"),
        ("[starter.mc1]\ncategories = 3\n", 2, "categories = 3: expected a table"),
        ("[starter.mc1.categories]\nLaw = 0.3\n", 2, "Law = 0.3: expected a table"),
        ('[starter.mc1]\nby = "category"\neach.item_min = 1\n', 3, "item_min is a key of the row itself"),
        ("[starter.mc1]\nmin = 0.1\neach = { min = 0.2 }\n", 3, 'add by = "category"'),
        ('[starter.mc1]\nmax = 0.5\nby = "category"\neach.min = 0.6\n', 4, "no score can meet both"),
        ("[starter.mc1]\nmin = 0.5\n[starter.mc1.categories.Law]\nmax = 0.4\n", 3, "no score can meet both"),
        ('[starter.mc1]\nblock_on = "proof"\n', 2, "block_on has no bar to act on"),
        ('[starter.mc1]\nitem_min = 1\nblock_on = "proof"\n', 3, "block_on has no bar to act on"),
        ("[starter.mc1]\nmin = 0.1\nwaive_until = 2026-12-31\n", 3, "has waive_until but no waive_reason"),
        ('[starter.mc1]\nmin = 0.1\nwaive_reason = "known"\n', 3, "has waive_reason but no waive_until"),
        ('[starter.mc1]\nmin = 0.1\n[starter.mc1.categories.Law]\nwaive_reason = "x"\n', 4, "a waiver needs both"),
        ('[starter.mc1]\nmin = 0.1\nby = "category"\neach.waive_reason = "x"\n', 4, "a waiver needs both"),
        ('[starter.mc1]\nwaive_until = 2026-12-31\nwaive_reason = "x"\n', 2, "waive_until has no bar to act on"),
        (
            '[starter.mc1]\nmin = 0.1\nwaive_until = "2026-12-31"\nwaive_reason = "x"\n',
            3,
            "expected a date such as 2026-12-31, without quotes",
        ),
        (
            '[starter.mc1]\nmin = 0.1\nwaive_until = 2026-12-31T10:00:00\nwaive_reason = "x"\n',
            3,
            "expected a date such as 2026-12-31, without quotes",
        ),
        ('[starter.mc1]\nmin = 0.1\nwaive_until = 2026-12-31\nwaive_reason = ""\n', 4, "must not be blank"),
    ],
)
def test_one_mistake_is_one_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    """Each rule of the contract, broken alone, gives one mistake at its line in the person's own words."""
    ((found, message),) = mistakes_of(tmp_path, text)
    assert found == line
    assert words in message


def test_a_stray_row_key_is_told_where_it_belongs(tmp_path: Path) -> None:
    """A bar written one table too high is shown its place."""
    ((line, message),) = mistakes_of(tmp_path, "[truthfulqa]\nmin = 0.3\n")
    assert line == 2
    assert "min is a key of a row: it belongs under a metric, as in [truthfulqa.mc1]" in message


def test_a_metric_without_a_benchmark_is_told_where_it_belongs(tmp_path: Path) -> None:
    """[mc1] at the top of the file is no benchmark of one's own."""
    ((line, message),) = mistakes_of(tmp_path, "[mc1]\nmin = 0.3\n")
    assert line == 1
    assert message == "[mc1] is a metric: its table belongs to a benchmark, as in [truthfulqa.mc1]"


def test_the_range_of_a_normalised_name_is_its_metric_s(tmp_path: Path) -> None:
    """A bar below a wrongly written metric is held against the range of the metric that was meant."""
    found = lines_of(mistakes_of(tmp_path, "[starter.mc1_per_token]\nmin = -0.5\n"))
    assert "lies outside the range of mc1" in found[2][0]


def test_names_reach_the_terminal_harmless(tmp_path: Path) -> None:
    """Control characters in keys and tables are escaped in every message, and endless names are cut."""
    long = "x" * 5000
    text = f'["\\u001b[2J"]\n[starter."\\u202e"]\n[starter."{long}"]\n[starter.mc1]\n"\\u0000" = 1\n'
    for _, message in mistakes_of(tmp_path, text):
        assert message.isprintable()
        assert len(message) < 400


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"[t{i}]" for i in range(60_000)),
        "[model]\n" + "\n".join(f"k{i}=1" for i in range(90_000)),
        "\n".join(f"[starter.m{i}]\nmin=nan" for i in range(30_000)),
        "[starter.mc1]\n" + "\n".join(f"categories.c{i}.min=nan" for i in range(30_000)),
        '[starter."' + "a" * 900_000 + '"]\n',
    ],
    ids=["tables", "keys", "metrics", "categories", "name"],
)
@pytest.mark.slow
def test_a_megabyte_of_mistakes_is_told_in_full(tmp_path: Path, text: str) -> None:
    """However many mistakes a file has, each one is there, in time that grows with the file."""
    found = mistakes_of(tmp_path, text)
    expected = max(text.count("[t"), text.count("k") - 1, text.count("=nan"), 1)
    assert len(found) >= expected
