"""The options of judged answers: the judge's model, the hosts that may be sent a key, the dry run."""

from __future__ import annotations

from typing import Any

import pytest

from truthguard.errors import UsageError
from truthguard.plan import file_judge
from truthguard.plugin.options import BY_NAME, Options, host, hosts, read_options, switch
from truthguard.records import JudgeSettings, ModelSettings
from truthguard.thresholds.spec import JudgeSpec


@pytest.mark.parametrize(
    "value", ["llm.example.com", "LLM.example.com:8000", "localhost", "127.0.0.1:80", "[::1]:8080"]
)
def test_a_host_is_a_name_perhaps_with_its_port(value: str) -> None:
    """Hosts compare in lower case."""
    assert host(value) == value.lower()


@pytest.mark.parametrize("value", ["", "https://llm.example.com", "a/b", "a b", "*", "a:b", "user@host", ".a", "ﬀ.com"])
def test_what_is_no_host_is_refused(value: str) -> None:
    """A scheme, a path, a wildcard or a user would never match, or match too much."""
    with pytest.raises(ValueError, match="expected a host such as"):
        host(value)


def test_hosts_of_the_environment_have_commas(pytester: pytest.Pytester) -> None:
    """TRUTHGUARD_ALLOW_HOSTS holds all of them; a piece that is no host is a mistake."""
    assert hosts("a.example, B.example:8000") == ("a.example", "b.example:8000")
    read = read_options(pytester.parseconfig(), {"TRUTHGUARD_ALLOW_HOSTS": "a.example,b.example"})
    assert read.get("allow-host") == ("a.example", "b.example")
    with pytest.raises(UsageError, match="TRUTHGUARD_ALLOW_HOSTS: expected a host"):
        read_options(pytester.parseconfig(), {"TRUTHGUARD_ALLOW_HOSTS": "a.example,"})


def test_hosts_of_the_command_line_are_named_one_by_one(pytester: pytest.Pytester) -> None:
    """The option is repeatable, and stands before the environment."""
    config = pytester.parseconfig("--truthguard-allow-host", "A.example", "--truthguard-allow-host", "b.example:1")
    read = read_options(config, {"TRUTHGUARD_ALLOW_HOSTS": "c.example"})
    assert read.get("allow-host") == ("a.example", "b.example:1")
    assert read_options(pytester.parseconfig(), {}).get("allow-host", ()) == ()


@pytest.mark.parametrize("name", ["truthguard_allow_host", "truthguard_allow_hosts"])
def test_no_ini_file_names_a_host(pytester: pytest.Pytester, name: str) -> None:
    """An ini file comes with the repository, which must not decide where a key goes."""
    pytester.makeini(f"[pytest]\n{name} = evil.example")
    assert read_options(pytester.parseconfig(), {}).get("allow-host", ()) == ()
    assert BY_NAME["allow-host"].ini is None


def test_a_dry_run_is_a_switch(pytester: pytest.Pytester) -> None:
    """Alone on the command line, 1 or 0 in the environment."""
    assert read_options(pytester.parseconfig("--truthguard-dry-run"), {}).get("dry-run") is True
    assert read_options(pytester.parseconfig(), {"TRUTHGUARD_DRY_RUN": "1"}).get("dry-run") is True
    assert read_options(pytester.parseconfig(), {"TRUTHGUARD_DRY_RUN": "0"}).get("dry-run") is False
    assert (switch("YES"), switch("off")) == (True, False)
    with pytest.raises(UsageError, match="TRUTHGUARD_DRY_RUN: expected 1 or 0, got 'maybe'"):
        read_options(pytester.parseconfig(), {"TRUTHGUARD_DRY_RUN": "maybe"})


def judge(strong: dict[str, Any], weak: dict[str, Any], spec: JudgeSpec, model: dict[str, Any]) -> JudgeSettings:
    return Options(strong, weak, {}).judge_settings(spec, model)


def test_a_judge_is_similarity_until_a_model_is_named() -> None:
    """With a model it is a rubric, unless the file says its kind."""
    assert judge({}, {}, JudgeSpec(), {}) == JudgeSettings()
    assert judge({"judge": "j"}, {}, JudgeSpec(), {}) == JudgeSettings("rubric", ModelSettings("j"))
    assert judge({}, {"judge": "j"}, JudgeSpec(), {}) == JudgeSettings("rubric", ModelSettings("j"))
    logprob = JudgeSpec(settings={"kind": "logprob", "seed": 3})
    assert judge({"judge": "j"}, {}, logprob, {}) == JudgeSettings("logprob", ModelSettings("j"), seed=3)
    plain = JudgeSpec(settings={"kind": "similarity"}, model={"name": "j"})
    assert judge({}, {}, plain, {}) == JudgeSettings("similarity", ModelSettings("j"))


def test_the_command_line_replaces_the_files_judge_and_its_revision() -> None:
    """The file stands before the ini value and behind the command line; its other keys stay."""
    spec = JudgeSpec(model={"name": "mine", "revision": "v2", "dtype": "float16"})
    assert judge({"judge": "other"}, {}, spec, {}).model == ModelSettings("other", dtype="float16")
    assert judge({}, {"judge": "ini"}, spec, {}).model == ModelSettings("mine", revision="v2", dtype="float16")


def test_the_judge_runs_where_the_model_runs() -> None:
    """Of the model's options only the device is the judge's too; its own comes before the model's in the file."""
    spec, own = JudgeSpec(model={"name": "j"}), JudgeSpec(model={"name": "j", "device": "cuda:1"})
    model = {"name": "m", "device": "cuda:0", "dtype": "float16"}
    assert judge({}, {}, spec, model).model == ModelSettings("j", device="cuda:0")
    assert judge({}, {}, own, model).model == ModelSettings("j", device="cuda:1")
    assert judge({"device": "cpu", "dtype": "bfloat16"}, {}, own, model).model == ModelSettings("j", device="cpu")
    assert judge({}, {"device": "cpu"}, spec, {}).model == ModelSettings("j", device="cpu")
    # Who reads the file without pytest gets the same.
    for each in (spec, own):
        assert file_judge(each, model) == judge({}, {}, each, model)


def test_a_judge_of_the_command_line_may_be_asked_for_everything(pytester: pytest.Pytester) -> None:
    """Precedence as for the model: command line, environment, ini."""
    pytester.makeini("[pytest]\ntruthguard_judge = ini-judge")
    config = pytester.parseconfig("--truthguard-judge", "cli-judge")
    assert read_options(config, {"TRUTHGUARD_JUDGE": "env-judge"}).get("judge") == "cli-judge"
    assert read_options(pytester.parseconfig(), {"TRUTHGUARD_JUDGE": "env-judge"}).get("judge") == "env-judge"
    assert read_options(pytester.parseconfig(), {}).get("judge") == "ini-judge"
