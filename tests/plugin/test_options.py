"""Options: their parsers, and who wins when several places set one."""

from __future__ import annotations

from pathlib import Path

import pytest

from truthguard.errors import UsageError
from truthguard.plugin import options as module
from truthguard.plugin.options import OFF, OPTIONS, Options, count, device, folder_or_off, one_of, read_options
from truthguard.records import Selection


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "", "ten", "1" * 30, "१"])
def test_a_count_is_a_whole_number_of_at_least_one(value: str) -> None:
    """Zero, negatives, fractions, words and digits of other scripts are refused."""
    with pytest.raises(ValueError, match="whole number"):
        count(value)


def test_a_count_is_read() -> None:
    """A plain number is taken as it is."""
    assert count("40") == 40


@pytest.mark.parametrize("value", ["auto", "cpu", "cuda", "cuda:0", "cuda:11", "mps"])
def test_devices_of_the_contract_are_taken(value: str) -> None:
    """Every documented form is accepted unchanged."""
    assert device(value) == value


@pytest.mark.parametrize("value", ["gpu", "cuda:", "cuda:-1", "CPU", "cuda:0 ", ""])
def test_other_devices_are_refused(value: str) -> None:
    """Anything else is named and refused."""
    with pytest.raises(ValueError, match="expected auto, cpu, cuda"):
        device(value)


def test_a_mistyped_name_gets_the_nearest_one() -> None:
    """A typing slip is answered with the name that was probably meant."""
    with pytest.raises(ValueError, match="did you mean 'bfloat16'"):
        one_of("float32", "bfloat16")("bfloat61")


def test_off_is_a_word_and_anything_else_a_folder() -> None:
    """`off` in any case switches the cache off; a folder keeps its name."""
    assert folder_or_off("OFF") == OFF
    assert folder_or_off("./off/") == Path("off").absolute()


def test_every_option_has_its_own_prefixed_names() -> None:
    """Flags, destinations, variables and ini names carry the project's name, so nobody else's can clash."""
    for option in OPTIONS:
        assert option.flag.startswith("--truthguard-")
        assert option.dest.startswith("truthguard_")
        assert option.variable.startswith("TRUTHGUARD_")
    assert len({option.dest for option in OPTIONS}) == len(OPTIONS)


def test_a_model_on_the_command_line_replaces_name_and_revision() -> None:
    """The file's revision belongs to the file's model, its other settings to the gate."""
    merged = Options({"model": "other"}, {}, {}).model_settings(
        {"name": "mine", "revision": "v2", "dtype": "bfloat16", "chat_template": True}
    )
    assert merged is not None
    assert (merged.name, merged.revision, merged.dtype, merged.chat_template) == (
        "other",
        None,
        "bfloat16",
        True,
    )


def test_a_model_on_the_command_line_leaves_the_files_adapter_behind() -> None:
    """It was made for the file's model; --truthguard-adapter names one for whichever model there is, or none."""
    file = {"name": "mine", "adapter": "/tuned"}

    def adapter(**strong: object) -> str | None:
        merged = Options(strong, {}, {}).model_settings(file)
        assert merged is not None
        return merged.adapter

    assert adapter() == "/tuned"
    assert adapter(model="other") is None
    assert adapter(adapter=OFF) is None
    assert adapter(adapter=Path("/mine")) == adapter(adapter=Path("/mine"), model="other") == "/mine"


def test_the_file_stands_between_environment_and_ini() -> None:
    """What is strong (command line, environment) beats the file, the file beats the ini value."""
    options = Options({"dtype": "float16"}, {"device": "cuda", "batch-tokens": 64}, {})
    merged = options.model_settings({"name": "m", "dtype": "float32", "device": "cpu"})
    assert merged is not None
    assert (merged.dtype, merged.device, merged.batch_tokens) == ("float16", "cpu", 64)


def test_without_any_name_there_is_no_model() -> None:
    """Settings alone do not make a model."""
    assert Options({"dtype": "float16"}, {}, {}).model_settings({"device": "cpu"}) is None


def test_an_ini_model_serves_when_the_file_names_none() -> None:
    """The ini value is the last resort before nothing."""
    merged = Options({}, {"model": "from-ini"}, {}).model_settings({})
    assert merged is not None
    assert merged.name == "from-ini"


def test_limit_and_sample_at_one_level_are_a_mistake() -> None:
    """Two answers to one question from one place: neither is dropped silently."""
    both = Options({"limit": 3, "sample": 5}, {}, {"limit": "command line", "sample": "command line"})
    with pytest.raises(UsageError, match="Keep one"):
        both.selection()


def test_the_nearer_of_limit_and_sample_wins() -> None:
    """A sample asked for on the command line overrides a limit of the ini file."""
    both = Options({"sample": 5}, {"limit": 3}, {"limit": "ini", "sample": "command line"})
    assert both.selection() == Selection(sample=5)


def test_precedence_of_command_line_environment_and_ini(pytester: pytest.Pytester) -> None:
    """Each level is overridden by the one nearer to the command line."""
    pytester.makeini("[pytest]\ntruthguard_model = ini-model\ntruthguard_limit = 7\ntruthguard_scorer = plain")
    config = pytester.parseconfig("--truthguard-model", "cli-model")
    read = read_options(config, {"TRUTHGUARD_MODEL": "env-model", "TRUTHGUARD_LIMIT": "9"})
    assert read.get("model") == "cli-model"
    assert read.get("limit") == 9
    assert read.get("scorer") == "plain"
    assert read.levels == {"model": "command line", "limit": "environment", "scorer": "ini"}


@pytest.mark.parametrize(
    ("ini", "environ", "place"),
    [
        ("truthguard_limit = many", {}, "ini value truthguard_limit"),
        ("truthguard_limit = 0", {}, "ini value truthguard_limit"),
        ("truthguard_dtype = int8", {}, "ini value truthguard_dtype"),
        ("", {"TRUTHGUARD_DEVICE": "gpu"}, "TRUTHGUARD_DEVICE"),
    ],
)
def test_a_bad_value_names_its_place(pytester: pytest.Pytester, ini: str, environ: dict[str, str], place: str) -> None:
    """The message says where the value was written, not only what is wrong with it."""
    pytester.makeini(f"[pytest]\n{ini}")
    with pytest.raises(UsageError, match=place):
        read_options(pytester.parseconfig(), environ)


def test_a_bad_value_on_the_command_line_is_a_usage_error(pytester: pytest.Pytester) -> None:
    """argparse refuses it before anything is collected."""
    result = pytester.runpytest_subprocess("--truthguard-limit", "0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--truthguard-limit*expected a whole number of at least 1*"])


def test_every_public_parser_is_documented() -> None:
    """A parser's docstring is what a reader of the options sees first."""
    for option in OPTIONS:
        assert option.help
        assert module.BY_NAME[option.name] is option
