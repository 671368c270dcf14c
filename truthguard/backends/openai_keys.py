"""Which server a model's name means, and which key, if any, may be sent to it.

A thresholds file comes with a repository and may be a stranger's: it can name a server, but never decide that a
server gets a key. OpenAI's own address gets OPENAI_API_KEY, or the variable that `api_key_env` names; another
host gets a key only where the person who runs the tests names that host, and then only the variable that
`api_key_env` names.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from truthguard.errors import UsageError
from truthguard.records import Identity, ModelSettings

OWN_URL = "https://api.openai.com/v1"
API_FORMS = "openai:MODEL or http://HOST:PORT/v1#MODEL"
_PREFIX = "openai:"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d+)?", re.IGNORECASE)
_SHORTEST_KEY = 4  # a shorter one would be replaced inside ordinary words


class Secret:
    """A key. It shows itself to no traceback, log or record: only `reveal` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "[key]"

    def reveal(self) -> str:
        return self._value

    def scrub(self, text: str) -> str:
        """The text without the key: servers put it into their error messages, and a model may repeat anything."""
        return text.replace(self._value, "[key]") if len(self._value) >= _SHORTEST_KEY else text


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at a server: the base URL without its last slash, and the name that the server knows."""

    base_url: str
    model: str

    @property
    def host(self) -> str:
        """The host without its port, in lower case."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def own(self) -> bool:
        """Whether this is OpenAI's own address, by scheme, host and port."""
        parts = urlsplit(self.base_url)
        return parts.scheme == "https" and self.host == "api.openai.com" and parts.port in (None, 443)

    @property
    def loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def named_in(self, hosts: Sequence[str]) -> bool:
        """Whether one of `hosts` (HOST or HOST:PORT) is this server's. Raises UsageError for what is no host."""
        parts = urlsplit(self.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        bare = f"[{self.host}]" if ":" in self.host else self.host
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise UsageError(f"allowed host {host!r}: expected HOST or HOST:PORT, without scheme and path")
        return any(host.lower() in (bare, f"{bare}:{port}") for host in hosts)


def is_api(name: str) -> bool:
    """Whether a model's name means a server: `openai:MODEL` or `http(s)://HOST:PORT/v1#MODEL`."""
    return name.startswith((_PREFIX, "http://", "https://"))


def find_endpoint(name: str, environment: Mapping[str, str]) -> Endpoint:
    """Read a name that means a server. `openai:` is OpenAI's own address unless OPENAI_BASE_URL gives another.

    Raises UsageError for a URL without host or model, and for one that carries a password or a query: names are
    printed and kept, keys are not.
    """
    if name.startswith(_PREFIX):
        model = name.removeprefix(_PREFIX)
        if not model:
            raise UsageError(f"model {name!r} names no model; expected {API_FORMS}")
        url = environment.get("OPENAI_BASE_URL", "").strip() or OWN_URL
        return Endpoint(_base_url("OPENAI_BASE_URL", _split("OPENAI_BASE_URL", url)), model)
    parts = _split("the model's URL", name)
    if not parts.fragment:
        raise UsageError(f"model {name!r} names no model: write it after a #, as in {API_FORMS}")
    return Endpoint(_base_url(f"model {name!r}", parts), parts.fragment)


def api_identity(settings: ModelSettings) -> Identity:
    """What decides the answers: the name, and the address where the environment gives another than OpenAI's own.

    There is no digest: what answers to a name may change any day. Asks nothing and needs no key.
    """
    _check_settings(settings)
    endpoint = find_endpoint(settings.name, os.environ)
    elsewhere = settings.name.startswith("openai:") and not endpoint.own
    name = f"{endpoint.base_url}#{endpoint.model}" if elsewhere else settings.name
    return Identity(name, "openai", None, device="api", dtype="")


def find_key(
    endpoint: Endpoint, settings: ModelSettings, allowed_hosts: Sequence[str], environment: Mapping[str, str]
) -> Secret | None:
    """The key that this server gets; None for a server that gets none. Raises UsageError where one is lacking."""
    allowed = endpoint.named_in(allowed_hosts)
    variable = settings.api_key_env
    where = f"model {settings.name!r}"
    if endpoint.own:
        variable = variable or "OPENAI_API_KEY"
    elif variable is None:
        return None
    elif not allowed:
        raise UsageError(
            f"{where}: api_key_env = {variable!r}, but {endpoint.host} is not OpenAI's own host and gets no key"
            f" unless you name it: --truthguard-allow-host {endpoint.host} (or TRUTHGUARD_ALLOW_HOSTS)"
        )
    key = environment.get(variable, "").strip()
    if not key:
        raise UsageError(f"{where} needs a key: set the environment variable {variable}")
    return Secret(key)


def _check_settings(settings: ModelSettings) -> None:
    if settings.revision is not None:
        raise UsageError(
            f"model {settings.name!r} has no revisions: revision = {settings.revision!r} is for names on the hub"
        )
    if settings.adapter is not None:
        raise UsageError(
            f"model {settings.name!r}: adapter = {settings.adapter!r} is for models on this machine; a server loads"
            " its own (vLLM: --enable-lora --lora-modules NAME=PATH) and NAME is then the model"
        )
    if settings.concurrency < 1 or not settings.timeout_seconds > 0:
        raise UsageError(f"model {settings.name!r}: concurrency and timeout_seconds must be above 0")
    if settings.max_requests is not None and settings.max_requests < 1:
        raise UsageError(f"model {settings.name!r}: max_requests must be at least 1")


def _split(what: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{what} cannot be read ({error}); expected {API_FORMS}") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            f"{what} carries a name, a password or a query, which would be printed and kept with every result:"
            " put the key into an environment variable and name that in api_key_env"
        )
    return parts


def _base_url(what: str, parts: SplitResult) -> str:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{what} is no address of a server; expected http://HOST:PORT/v1")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
