"""Find the session that a request names in its header, path, credential, host, baggage or port, and remove the name.

``listeners.py`` routes each request by it.
"""

import base64
import re
from collections.abc import Callable, Collection, Mapping
from urllib.parse import unquote_plus

from multidict import CIMultiDict

from emulator.core.dataclass import fast_dataclass

HEADER_PREFIX = "x-emulator-"
SESSION_HEADER = f"{HEADER_PREFIX}session"
_MAX_FOREIGN = 1000
_foreign: set[str] = set()  # header names without the emulator's prefix, checked once
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PATH = re.compile(r"/_s/([^/]*)(?=/|$)")
_CREDENTIALS = ("Authorization", "api-key", "x-api-key")
# A client secret of Entra ID has 40 characters; any of them may be a tilde.
_REAL = re.compile(r".{3}\dQ~.{31,35}", re.DOTALL)
_MEMBER = re.compile(r"(?:^|,)\s*emulator\.session\s*=\s*([^,;]*)")
_HOST = ".localhost"


class SessionNameError(ValueError):
    """The session name is malformed; the message is one line for the user."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is not a session name; it takes 1 to 64 of A-Z a-z 0-9 . _ -")


@fast_dataclass(frozen=True, slots=True)
class SessionRoute:
    """Session of a request, and the request without the session.

    Fields:
        session: name; empty: the server's own state.
        path: without the session prefix.
        prefix: session prefix of the path; links in responses carry it.
        headers: headers of the request, with the session suffix removed from credentials.
        overrides: the request has ``x-emulator-*`` headers.
        key_suffix: session suffix of the credential, if it named the session; issued credentials end with it.
    """

    session: str
    path: str
    prefix: str
    headers: Mapping[str, str]
    overrides: bool
    key_suffix: str = ""


def check_name(name: str) -> str:
    """Validate a session name and return it.

    Raises:
        SessionNameError: the name is malformed.
    """
    if not _NAME.fullmatch(name):
        raise SessionNameError(name)
    return name


Keys = Callable[[str], Collection[str]]


def _no_keys(session: str) -> Collection[str]:
    return ()


def route_session(path: str, headers: Mapping[str, str], keys: Keys = _no_keys, default: str = "") -> SessionRoute:
    """Return the session of a request; the first source wins: header, path, credential, host, baggage, own port.

    Args:
        keys: returns the credentials listed for a session, which are not split.
        default: session of the port.

    Raises:
        SessionNameError: the name in a header, path or baggage is malformed.
    """
    has_overrides = not _foreign.issuperset(headers) and _has_override_headers(headers)
    named = headers.get(SESSION_HEADER) if has_overrides else None
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
    return SessionRoute(session, path, prefix, headers, has_overrides, suffix)


def _has_override_headers(headers: Mapping[str, str]) -> bool:
    """Return whether a header has the emulator's prefix; names without it are cached."""
    found = False
    for header in headers:
        if header.lower().startswith(HEADER_PREFIX):
            found = True
        elif len(_foreign) < _MAX_FOREIGN:
            _foreign.add(str(header))
    return found


def _split_path(path: str) -> tuple[str, str, str]:
    """Split the session off a path: ``/_s/a/v1/models`` → ``/_s/a``, ``a``, ``/v1/models``."""
    found = _PATH.match(path)
    if found is None:
        return "", "", path
    return found[0], found[1], path[found.end() :] or "/"


def _split_keys(headers: Mapping[str, str], keys: Keys, session_name: str) -> tuple[str, Mapping[str, str]]:
    """Return the session named in credentials, and the headers without it."""
    session = ""
    cut: dict[str, str] | None = None
    for name in _CREDENTIALS:
        value = headers.get(name)
        if value is None or ("~" not in value and value[:6].lower() != "basic "):
            continue
        found, rest = _split_credential(value, keys(session_name))
        if found:
            session = session or found
            cut = {**(cut or {}), name: rest}
    return session, _replace(headers, cut) if cut else headers


def _split_credential(value: str, keys: Collection[str]) -> tuple[str, str]:
    """Split the session off a credential: ``Bearer dapi~a`` → ``a``, ``Bearer dapi``; of a basic one, the password."""
    scheme, space, token = value.rpartition(" ")
    if scheme.strip().lower() != "basic":
        session, rest = _split_key(token, keys)
        return session, f"{scheme}{space}{rest}"
    try:
        user, colon, password = base64.b64decode(token, validate=True).decode().partition(":")
    except ValueError:  # not base64 of UTF-8
        return "", value
    session, rest = _split_key(password, keys)
    return session, f"{scheme}{space}{base64.b64encode(f'{user}{colon}{rest}'.encode()).decode()}"


def _split_key(key: str, keys: Collection[str]) -> tuple[str, str]:
    """Split a credential at its last tilde; a listed one, or one in the form of a real Entra ID secret, stays whole."""
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
    """Return the session in a host such as ``a.localhost:4011``; empty if there is none."""
    host = headers.get("Host", "")
    if "." not in host or not (host := host.partition(":")[0].lower()).endswith(_HOST):
        return ""
    label = host.removesuffix(_HOST).partition(".")[0]
    return label if _NAME.fullmatch(label) else ""


def _find_in_baggage(headers: Mapping[str, str]) -> str:
    """Return the member ``emulator.session`` of a W3C baggage header; empty if there is none."""
    baggage = headers.get("baggage")
    found = _MEMBER.search(baggage) if baggage else None
    return check_name(unquote_plus(found[1].strip())) if found else ""
