"""Which session a request is for, and the request without any trace of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Mapping
from urllib.parse import unquote_plus

from multidict import CIMultiDict

from emulator.core.dataclass import fast_dataclass

PREFIX = "x-emulator-"
HEADER = f"{PREFIX}session"
_MOST_OTHERS = 1000
_others: set[str] = set()  # names of headers that clients send and that are none of ours: looked at once
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PATH = re.compile(r"/_s/([^/]*)(?=/|$)")
_CREDENTIALS = ("Authorization", "api-key", "x-api-key")
# A client secret of Entra ID has 40 characters; any of them may be a tilde.
_REAL = re.compile(r".{3}\dQ~.{31,35}", re.DOTALL)
_MEMBER = re.compile(r"(?:^|,)\s*emulator\.session\s*=\s*([^,;]*)")
_HOST = ".localhost"


class SessionNameError(ValueError):
    """A name no session can have; one line for a person."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is no session's name; it takes 1 to 64 of A-Z a-z 0-9 . _ -")


@fast_dataclass(frozen=True, slots=True)
class SessionRoute:
    """A request on its way to a session.

    Fields:
        session: its name; empty: the server's own.
        path: without the session.
        prefix: what the session took of the path; links in answers carry it.
        headers: with the session cut off from every credential.
        overrides: some of them are the emulator's own.
        key_suffix: what was cut off, if it named the session; credentials that are handed out end in it.
    """

    session: str
    path: str
    prefix: str
    headers: Mapping[str, str]
    overrides: bool
    key_suffix: str = ""


def check_name(name: str) -> str:
    """The name of a session.

    Raises:
        SessionNameError: it cannot be one.
    """
    if not _NAME.fullmatch(name):
        raise SessionNameError(name)
    return name


Keys = Callable[[str], Collection[str]]


def _no_keys(session: str) -> Collection[str]:
    return ()


def route_session(path: str, headers: Mapping[str, str], keys: Keys = _no_keys, default: str = "") -> SessionRoute:
    """Find the session, the first way that names one: header, path, key, host, baggage, own port.

    Args:
        keys: the credentials that are whole as they are, by the session that anything but a key names.
        default: the session of the port.

    Raises:
        SessionNameError: a header, path or baggage with a name that cannot be one.
    """
    asks = not _others.issuperset(headers) and _asks(headers)
    named = headers.get(HEADER) if asks else None
    prefix = in_path = ""
    if path.startswith("/_s/"):
        prefix, in_path, path = _split_path(path)
    in_key, headers = _split_keys(headers, keys, named or in_path or default)
    if named:
        session = check_name(named)
    elif prefix:
        session = check_name(in_path)
    else:
        session = in_key or _find_in_host(headers) or _find_in_baggage(headers) or default
    suffix = f"~{in_key}" if in_key and in_key == session else ""
    return SessionRoute(session, path, prefix, headers, asks, suffix)


def _asks(headers: Mapping[str, str]) -> bool:
    """Whether a header is one of the emulator's own; the names of others are remembered."""
    found = False
    for header in headers:
        if header.lower().startswith(PREFIX):
            found = True
        elif len(_others) < _MOST_OTHERS:
            _others.add(str(header))
    return found


def _split_path(path: str) -> tuple[str, str, str]:
    """``/_s/a/v1/models`` → ``/_s/a``, ``a``, ``/v1/models``."""
    found = _PATH.match(path)
    if found is None:
        return "", "", path
    return found[0], found[1], path[found.end() :] or "/"


def _split_keys(headers: Mapping[str, str], keys: Keys, otherwise: str) -> tuple[str, Mapping[str, str]]:
    """The session that credentials name, and the headers with it cut off."""
    session = ""
    cut: dict[str, str] | None = None
    for name in _CREDENTIALS:
        value = headers.get(name)
        if value is None or ("~" not in value and value[:6].lower() != "basic "):
            continue
        found, rest = _split_credential(value, keys(otherwise))
        if found:
            session = session or found
            cut = {**(cut or {}), name: rest}
    return session, _replace(headers, cut) if cut else headers


def _split_credential(value: str, keys: Collection[str]) -> tuple[str, str]:
    """``Bearer dapi~a`` → ``a``, ``Bearer dapi``; of basic credentials the password."""
    scheme, space, token = value.rpartition(" ")
    if scheme.strip().lower() != "basic":
        session, rest = _split_key(token, keys)
        return session, f"{scheme}{space}{rest}"
    try:
        user, colon, password = base64.b64decode(token, validate=True).decode().partition(":")
    except ValueError:  # it is no base64 of UTF-8
        return "", value
    session, rest = _split_key(password, keys)
    return session, f"{scheme}{space}{base64.b64encode(f'{user}{colon}{rest}'.encode()).decode()}"


def _split_key(key: str, keys: Collection[str]) -> tuple[str, str]:
    """A credential that has the form of a real one is whole, whatever follows its last tilde."""
    rest, tilde, name = key.rpartition("~")
    if not tilde or key in keys or not _NAME.fullmatch(name) or _REAL.fullmatch(key):
        return "", key
    return name, rest


def _replace(headers: Mapping[str, str], changes: Mapping[str, str]) -> Mapping[str, str]:
    changed = CIMultiDict(headers)
    for name, value in changes.items():
        changed[name] = value
    return changed


def _find_in_host(headers: Mapping[str, str]) -> str:
    """The first label of ``a.localhost:4011``."""
    host = headers.get("Host", "")
    if "." not in host or not (host := host.partition(":")[0].lower()).endswith(_HOST):
        return ""
    label = host.removesuffix(_HOST).partition(".")[0]
    return label if _NAME.fullmatch(label) else ""


def _find_in_baggage(headers: Mapping[str, str]) -> str:
    """The member ``emulator.session`` of a W3C baggage header."""
    baggage = headers.get("baggage")
    found = _MEMBER.search(baggage) if baggage else None
    return check_name(unquote_plus(found[1].strip())) if found else ""
