"""One value with every credential in it cut: headers, cookies, fields, texts, URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote, unquote_plus

from emulator.core.http import Request
from emulator.core.redaction.credentials import MaskedCredential, mask
from emulator.core.redaction.document import redact_document
from emulator.core.redaction.names import Place, is_secret_name, list_words

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s+(.+)", re.DOTALL)
_SCHEMES = list_words(
    "apikey api-key aws4-hmac-sha256 basic bearer bot digest dpop googlelogin hawk hmac hoba key mutual negotiate "
    "ntlm oauth privatetoken scram-sha-1 scram-sha-256 sharedkey sharedkeylite signature token"
)
_PART = re.compile(r"([A-Za-z][\w.-]{0,63})\s*=\s*(\"(?:[^\"\\]|\\.)*\"?|[^\s,\"=][^\s,\"]*)")
_COOKIE_ATTRIBUTES = list_words("domain expires max-age path priority samesite")
_TELLING = re.compile(r"[?&;{\[]|://")  # what a text has that holds a URL or a document
_USER = re.compile(r"(?<=://)[^/?#\s\"'<>\\]*@")
_PARAMETER = re.compile(r"(?<=[?&#;])([^?&#;=\s\"'<>]{1,128})=([^&#;\s\"'<>]*)")
_PAIR = re.compile(r"\A([^;=\s]{1,128})=([^;\s]*)(?=;\S*=)")  # the first of a connection string
_BEARER = re.compile(r"\s*(?:bearer|basic)\s+\S+\s*", re.IGNORECASE)
_DEEPEST = 4  # times that a URL may stand in a parameter of another


def redact(place: Place, name: str, value: str) -> str:
    """A value as it may be read by anybody: ``Bearer dapi-search-1`` → ``Bearer dapi…``.

    A credential by its name is cut whole but for a known scheme; of any other value the parts that are credentials.
    """
    if not value or isinstance(value, MaskedCredential):
        return value
    if is_secret_name(place, name):
        return redact_secret(name, value)
    if place == "header" and _BEARER.fullmatch(value):
        return redact_secret(name, value)
    return redact_text(value)


def redact_secret(name: str, value: str) -> str:
    """The value of a name that means a credential."""
    if not value:
        return value
    lower = name.lower()
    if "cookie" in lower and "=" in value:
        attributes = _COOKIE_ATTRIBUTES if lower.startswith("set") else frozenset[str]()
        return ";".join(_redact_cookie(cookie, attributes) for cookie in value.split(";"))
    if value.lower() in _SCHEMES:
        return value
    found = _SCHEME.fullmatch(value)
    if found is None or found[1].lower() not in _SCHEMES:
        return mask(value)
    scheme, rest = found[1], found[2]
    if scheme.lower() == "basic":
        return f"{scheme} …"  # four characters of base64 are three of a name or a password
    parts = _PART.findall(rest) if "=" in rest else []
    return f"{scheme} {', '.join(f'{name}={_cut_quoted(part)}' for name, part in parts) if parts else mask(rest)}"


def _redact_cookie(cookie: str, attributes: frozenset[str]) -> str:
    name, equals, value = cookie.partition("=")
    if not equals:
        return cookie if cookie.strip().lower() in ("", "secure", "httponly", "partitioned") else f" {mask(cookie)}"
    return cookie if name.strip().lower() in attributes else f"{name}={_cut_quoted(value)}"


def _cut_quoted(value: str) -> str:
    return f'"{mask(value.strip(chr(34)))}"' if value[:1] == '"' else mask(value)


def redact_text(text: str, depth: int = 0) -> str:
    """A text without the credentials of the URLs in it; if it is a document, without those of the document."""
    if _TELLING.search(text) is None:
        return text
    bare = text.strip("\ufeff \t\r\n")
    if bare[:1] in ("{", "[") or (bare[:1] == bare[-1:] == '"' and '\\"' in bare):
        return redact_document(text, redact_secret, redact)
    if "://" in text:
        text = _USER.sub("…@", text)

    def redact_parameter(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if not value:
            return found[0]
        if is_secret_name("field", unquote_plus(name)):
            return f"{name}={mask(unquote(value))}"
        if "%" in value and depth < _DEEPEST:
            plain = unquote(value)
            shown = redact_text(plain, depth + 1)
            return found[0] if shown == plain else f"{name}={'…'.join(map(quote, shown.split('…')))}"
        return found[0]

    text = _PARAMETER.sub(redact_parameter, text)
    return _PAIR.sub(redact_parameter, text) if ";" in text else text


def cut_head(wire: Request) -> None:
    """Leave whole no header and nothing in a query whose name says that it is a credential: what is cheap to find."""
    _change_head(wire, _cut_named)


def _cut_named(place: Place, values: Mapping[str, str]) -> dict[str, str]:
    return {
        name: MaskedCredential(value, redact_secret(name, value))
        for name in values
        if is_secret_name(place, name) and (value := values[name])
    }


def _change_head(wire: Request, find: Callable[[Place, Mapping[str, str]], dict[str, str]]) -> None:
    """Replace the headers and query parameters that ``find`` returns redacted values for."""
    headers = find("header", wire.headers)
    if headers:
        wire.headers = _change_headers(wire.headers, headers)
    if wire.query and (query := find("field", wire.query)):
        wire.query = {**wire.query, **query}


def _change_headers(headers: Mapping[str, str], changes: Mapping[str, str]) -> Mapping[str, str]:
    """The same with other values; of a name that came several times one is left."""
    from multidict import CIMultiDict  # not installed beside a client alone

    changed = CIMultiDict(headers)
    for name, shown in changes.items():
        changed[name] = shown
    return changed


def redact_request(wire: Request) -> None:
    """Leave no credential of a request's headers and query whole; each is still equal to the whole."""
    _change_head(wire, _redact_all)


def _redact_all(place: Place, values: Mapping[str, str]) -> dict[str, str]:
    """Those that change; of a name that came several times the first."""
    changed: dict[str, str] = {}
    for name in values:
        if name not in changed:
            value = values[name]
            shown = redact(place, name, value)
            if shown is not value and shown != value:
                changed[name] = MaskedCredential(value, shown)
    return changed
