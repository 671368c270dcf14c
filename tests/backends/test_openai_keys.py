"""Which server a name means, and which key goes there."""

from __future__ import annotations

import pytest

from truthguard.backends.openai import api_identity, is_api
from truthguard.backends.openai_keys import OWN_URL, Secret, find_endpoint, find_key
from truthguard.errors import UsageError
from truthguard.records import ModelSettings

KEYS = {"OPENAI_API_KEY": "sk-own-0001", "TEAM_KEY": "sk-team-0002"}
ELSEWHERE = "https://llm.example.org:8443/v1#some/model"


def key_for(
    name: str, *, variable: str | None = None, allowed: tuple[str, ...] = (), environment: dict[str, str] = KEYS
) -> str | None:
    key = find_key(find_endpoint(name, environment), ModelSettings(name, api_key_env=variable), allowed, environment)
    return None if key is None else key.reveal()


@pytest.mark.parametrize(
    ("name", "base_url", "model"),
    [
        ("openai:gpt-x", OWN_URL, "gpt-x"),
        ("openai:ft:gpt-x:team::1", OWN_URL, "ft:gpt-x:team::1"),
        ("http://127.0.0.1:8080/v1#smol", "http://127.0.0.1:8080/v1", "smol"),
        ("http://[::1]:8080/v1/#smol", "http://[::1]:8080/v1", "smol"),
        ("https://LLM.example.org/api/v1#org/name", "https://llm.example.org/api/v1", "org/name"),
    ],
)
def test_a_name_means_an_address_and_a_model(name: str, base_url: str, model: str) -> None:
    """OpenAI's own address or the one that is written, the model after the first colon or the #."""
    assert is_api(name)
    endpoint = find_endpoint(name, {})
    assert (endpoint.base_url, endpoint.model) == (base_url, model)


@pytest.mark.parametrize("name", ["org/name", "./folder", "package:a/b.gguf", "ftp://host#m", "openai"])
def test_other_names_mean_no_server(name: str) -> None:
    """They are left to the local backends."""
    assert not is_api(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:", "names no model"),
        ("http://host:8000/v1", "write it after a #"),
        ("http://#m", "no address of a server"),
        ("http://host:many/v1#m", "cannot be read"),
        ("https://me:sk-hidden@host/v1#m", "carries a name, a password or a query"),
        ("https://host/v1?api_key=sk-hidden#m", "carries a name, a password or a query"),
    ],
)
def test_an_address_that_cannot_be_used_says_why(name: str, message: str) -> None:
    """A key inside an address is refused without being repeated: names are printed and kept."""
    with pytest.raises(UsageError, match=message) as caught:
        find_endpoint(name, {})
    assert "sk-hidden" not in str(caught.value)


def test_openais_own_address_gets_its_key_or_the_named_one() -> None:
    """OPENAI_API_KEY, or the variable of api_key_env."""
    assert key_for("openai:m") == "sk-own-0001"
    assert key_for("openai:m", variable="TEAM_KEY") == "sk-team-0002"
    assert key_for("https://api.openai.com:443/v1#m") == "sk-own-0001"


@pytest.mark.parametrize(
    "name",
    [
        ELSEWHERE,
        "http://127.0.0.1:8080/v1#m",
        "http://api.openai.com/v1#m",  # not encrypted
        "https://api.openai.com.example.org/v1#m",
        "https://api.openai.com:8443/v1#m",
        "https://xapi.openai.com/v1#m",
    ],
)
def test_another_address_gets_no_key_by_itself(name: str) -> None:
    """Not even a host that looks like OpenAI's; and naming a variable in the file is not enough."""
    assert key_for(name) is None
    with pytest.raises(UsageError, match="gets no key unless you name it: --truthguard-allow-host"):
        key_for(name, variable="TEAM_KEY")
    with pytest.raises(UsageError, match="gets no key"):
        key_for(name, variable="TEAM_KEY", allowed=("other.example.org",))


@pytest.mark.parametrize("allowed", ["llm.example.org", "llm.example.org:8443", "LLM.Example.ORG"])
def test_an_allowed_host_gets_the_named_variable_and_no_other(allowed: str) -> None:
    """OPENAI_API_KEY stays at home unless it is the variable that is named."""
    assert key_for(ELSEWHERE, variable="TEAM_KEY", allowed=(allowed,)) == "sk-team-0002"
    assert key_for(ELSEWHERE, allowed=(allowed,)) is None
    assert key_for(ELSEWHERE, variable="OPENAI_API_KEY", allowed=(allowed,)) == "sk-own-0001"


def test_another_port_of_an_allowed_host_is_another_server() -> None:
    """Where a port is named, it is that one."""
    with pytest.raises(UsageError, match="gets no key"):
        key_for(ELSEWHERE, variable="TEAM_KEY", allowed=("llm.example.org:443",))


@pytest.mark.parametrize("host", ["https://llm.example.org", "llm.example.org/v1", "", "*"])
def test_an_allowed_host_is_a_host(host: str) -> None:
    """An address or a pattern would seem to allow what it does not."""
    with pytest.raises(UsageError, match="expected HOST or HOST:PORT"):
        key_for(ELSEWHERE, variable="TEAM_KEY", allowed=(host,))


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": "  "}])
def test_a_key_that_is_not_set_is_asked_for_by_its_variable(environment: dict[str, str]) -> None:
    """The message tells what to set."""
    with pytest.raises(UsageError, match="set the environment variable OPENAI_API_KEY"):
        key_for("openai:m", environment=environment)
    with pytest.raises(UsageError, match="set the environment variable TEAM_KEY"):
        key_for("openai:m", variable="TEAM_KEY", environment=environment)


def test_another_base_url_in_the_environment_is_another_host() -> None:
    """OPENAI_BASE_URL moves `openai:` names, and the rule of hosts holds there as everywhere."""
    environment = KEYS | {"OPENAI_BASE_URL": "https://proxy.example.org/v1/"}
    endpoint = find_endpoint("openai:m", environment)
    assert (endpoint.base_url, endpoint.own) == ("https://proxy.example.org/v1", False)
    assert key_for("openai:m", environment=environment) is None
    allowed = ("proxy.example.org",)
    assert key_for("openai:m", variable="OPENAI_API_KEY", allowed=allowed, environment=environment) == "sk-own-0001"


def test_a_secret_shows_itself_to_nobody() -> None:
    """Neither by repr nor by str, and a text that repeats it is scrubbed."""
    secret = Secret("sk-team-0002")
    assert "team" not in f"{secret} {secret!r} {[secret]}"
    assert secret.scrub("Incorrect API key: sk-team-0002!") == "Incorrect API key: [key]!"


def test_the_identity_says_where_the_answers_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers behind one name never share kept answers; no digest, for answers may change."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    identity = api_identity(ModelSettings("openai:m"))
    assert (identity.name, identity.kind, identity.digest, identity.device) == ("openai:m", "openai", None, "api")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert api_identity(ModelSettings("openai:m")).name == "http://127.0.0.1:1/v1#m"


@pytest.mark.parametrize(
    "options", [{"revision": "main"}, {"concurrency": 0}, {"timeout_seconds": 0.0}, {"max_requests": 0}]
)
def test_settings_that_no_server_can_meet_are_mistakes(options: dict[str, object]) -> None:
    """Before anything is sent."""
    with pytest.raises(UsageError, match="openai:m"):
        api_identity(ModelSettings("openai:m", **options))  # type: ignore[arg-type]
