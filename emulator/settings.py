"""Settings of the server process, from flags, environment variables and defaults; responses depend on the scenario."""

import difflib
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from math import inf
from pathlib import Path
from typing import Literal

from emulator.core.dataclass import fast_dataclass
from emulator.core.units import parse_duration

VARIABLE_PREFIX = "EMULATOR_"
FRONT_PORT = 4010
LAST_PORT = 65535
MAX_WORKERS = 64


class SettingsError(Exception):
    """A flag or variable cannot be used; the message is one line for the user."""


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the server process; each is a flag and a variable in upper case with the prefix ``EMULATOR_``.

    Fields:
        open: show the console in a browser once all ports are open.
        watch: absent: on a terminal only.
        header_faults: requests may ask for faults in their own headers.
        forward: ``vendor=URL`` of real services, for scenarios whose unmatched calls are forwarded or recorded.
        record_to: folder for the forwarded calls.
        upstream_ca: certificate authority of the services that calls are forwarded to.
        tls_dir: folder of the local authority; absent: in the user's data folder.
        tls_name: additional names for a locally signed certificate.
        allow_host: host names under which the control plane may be used, and origins of pages that may use it.
        control_token: token of the control plane; absent: private addresses need none.
        workers: processes that share the ports.
        drain: seconds that open responses get after SIGTERM.
        state_wait: maximum seconds that a start waits for the store.
        head_timeout, body_timeout, idle_timeout: client timeouts, seconds; infinite: none.
    """

    paths: tuple[Path, ...] = ()
    host: str = "127.0.0.1"
    port: int = FRONT_PORT
    port_file: Path | None = None
    open: bool = False
    report: Path | None = None
    scenario: str | None = None
    seed: int | None = None
    clock: str | None = None
    strict: bool = False
    forward: tuple[str, ...] = ()
    record_to: Path | None = None
    upstream_ca: Path | None = None
    watch: bool | None = None
    ttft: str | None = None
    itl: str | None = None
    header_faults: bool = True
    workers: int = 1
    state_url: str = "memory://"
    state_loss: Literal["refuse", "local"] = "refuse"
    state_wait: float = 30.0
    log_level: str = "info"
    log_format: str = "auto"
    tls: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_dir: Path | None = None
    tls_name: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    control_token: str | None = field(default=None, repr=False)
    drain: float = 30.0
    head_timeout: float = 30.0
    body_timeout: float = 120.0
    idle_timeout: float = 600.0
    unknown: tuple[str, ...] = field(default=())

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"


_NOT_VARIABLES = {"paths", "unknown"}
_SWITCHES = {"header_faults", "open", "strict", "tls", "watch"}
_LISTS = {"allow_host", "forward", "tls_name"}
_DURATIONS = {"drain", "body_timeout", "head_timeout", "idle_timeout", "state_wait"}
_LIMITS = {"body_timeout", "head_timeout", "idle_timeout"}  # 0s disables them
_PATHS = {"port_file", "record_to", "report", "tls_cert", "tls_dir", "tls_key", "upstream_ca"}
_NEVER_EMPTY = {*_PATHS, "host"}  # an empty host would bind every address of the machine
_NUMBERS = {"port": (0, LAST_PORT), "seed": (0, 2**63 - 1), "workers": (1, MAX_WORKERS)}
_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("auto", "text", "json")
STATE_LOSSES = ("refuse", "local")


def variable(name: str) -> str:
    """Return the environment variable of a setting: ``log_level`` → ``EMULATOR_LOG_LEVEL``."""
    return VARIABLE_PREFIX + name.upper()


def find_visible_host(host: str) -> str:
    """Return an address that a client on this machine can connect to."""
    if host in ("0.0.0.0", "::", "", "localhost"):  # noqa: S104  # nothing is bound here
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def load_settings(flags: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> Settings:
    """Combine the given flags with the environment.

    Raises:
        SettingsError: a value is invalid.
    """
    names = [f.name for f in fields(Settings) if f.name not in _NOT_VARIABLES]
    values: dict[str, object] = {}
    for name in names:
        if flags.get(name) is not None:
            values[name] = _convert(name, flags[name], "--" + name.replace("_", "-"))
        elif variable(name) in environment:
            values[name] = _convert(name, environment[variable(name)], variable(name))
    values["paths"] = tuple(Path(str(p)) for p in flags.get("paths") or ())  # type: ignore[attr-defined]
    values["unknown"] = tuple(_find_unknown(environment, names))
    settings = Settings(**values)  # type: ignore[arg-type]
    _validate_tls(settings)
    _validate_hosts(settings.allow_host)
    _validate_workers(settings)
    return settings


def _validate_tls(settings: Settings) -> None:
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise SettingsError("--tls-cert and --tls-key go together")
    if settings.tls_cert is not None and not settings.tls:
        raise SettingsError("--tls-cert needs --tls")
    if settings.tls_name and not settings.tls:
        raise SettingsError("--tls-name needs --tls")
    if settings.tls_name and settings.tls_cert is not None:
        raise SettingsError("--tls-name is for a locally signed certificate; leave it out with --tls-cert")


def _convert(name: str, value: object, source: str) -> object:
    if name in _LISTS:
        texts = value if isinstance(value, list) else [value]
        return tuple(each.strip() for text in texts for each in str(text).split(",") if each.strip())
    text = str(value)
    _validate_not_empty(name, text, source)
    if name == "control_token":
        return _parse_token(text, source)
    if name in _DURATIONS:
        return _parse_seconds(text, source, unlimited=name in _LIMITS)
    if name in _NUMBERS:
        return _parse_integer(text, source, *_NUMBERS[name])
    if name in _SWITCHES:
        if text.lower() not in _BOOLEANS:
            raise SettingsError(f"{source} takes 1, 0, true or false, not {text!r}")
        return _BOOLEANS[text.lower()]
    choices = {"log_level": LOG_LEVELS, "log_format": LOG_FORMATS, "state_loss": STATE_LOSSES}.get(name)
    if choices and text not in choices:
        raise SettingsError(f"{source} takes {', '.join(choices)}, not {text!r}")
    return Path(text) if name in _PATHS else text


def _validate_not_empty(name: str, text: str, source: str) -> None:
    """Validate that a value is not empty: an unset shell variable must not disable a protection."""
    if not text and (name in _NEVER_EMPTY or source == "--control-token"):
        raise SettingsError(f"{source} is empty")


def _parse_integer(text: str, source: str, minimum: int, maximum: int) -> int:
    if not (text.isascii() and text.isdigit()) or not minimum <= int(text) <= maximum:
        hint = "; 0 takes free ports" if maximum == LAST_PORT else ""
        raise SettingsError(f"{source} takes a whole number from {minimum} to {maximum}, not {text!r}{hint}")
    return int(text)


def _validate_workers(settings: Settings) -> None:
    if settings.workers > 1 and not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("--workers: processes cannot share a port on this system")


def _parse_token(text: str, source: str) -> str | None:
    """Parse a token, which must fit into a header; an empty one is ``None``."""
    if not re.fullmatch(r"[!-~]*", text):
        raise SettingsError(f"{source} takes letters of ASCII without blanks")
    return text or None


def _validate_hosts(names: tuple[str, ...]) -> None:
    for name in names:
        if not _HOST.fullmatch(name):
            raise SettingsError(f"--allow-host takes host names such as emulator.test or *.test, not {name!r}")


def _parse_seconds(text: str, source: str, *, unlimited: bool) -> float:
    """Parse a duration, ``30s`` → 30.0; ``0s`` of a timeout is infinite."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise SettingsError(f"{source}: {error}") from None
    return inf if unlimited and not seconds else seconds


def _find_unknown(environment: Mapping[str, str], names: list[str]) -> Iterator[str]:
    known = [variable(name) for name in names]
    for name in sorted(environment):
        if name.startswith(VARIABLE_PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, 1)
            yield f"{name} is not a setting" + (f"; did you mean {close[0]}?" if close else "")
