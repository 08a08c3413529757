"""Redact credentials in single values: headers, cookies, form fields, texts and URLs.

The journal and recordings redact requests and responses by it.
"""

import re
from collections.abc import Mapping
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
_SUSPECT = re.compile(r"[?&;{\[]|://")  # in every text that holds a URL or a document
_USER = re.compile(r"(?<=://)[^/?#\s\"'<>\\]*@")
_PARAMETER = re.compile(r"(?<=[?&#;])([^?&#;=\s\"'<>]{1,128})=([^&#;\s\"'<>]*)")
_PAIR = re.compile(r"\A([^;=\s]{1,128})=([^;\s]*)(?=;\S*=)")  # the first of a connection string
_BEARER = re.compile(r"\s*(?:bearer|basic)\s+\S+\s*", re.IGNORECASE)
_MAX_DEPTH = 4  # of URLs nested in parameters of URLs


def redact(place: Place, name: str, value: str) -> str:
    """Return a value without credentials: ``Bearer dapi-search-1`` → ``Bearer dapi…``.

    If the name marks a credential, the whole value is masked except for a known authentication scheme. Otherwise
    only the credentials within URLs and documents are.
    """
    if not value or isinstance(value, MaskedCredential):
        return value
    if is_secret_name(place, name):
        return redact_secret(name, value)
    if place == "header" and _BEARER.fullmatch(value):
        return redact_secret(name, value)
    return redact_text(value)


def redact_secret(name: str, value: str) -> str:
    """Mask a value with the name of a credential; schemes, cookie names and parameter names stay."""
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
        return f"{scheme} …"  # four characters of base64 reveal three of the user name
    parts = _PART.findall(rest) if "=" in rest else []
    return f"{scheme} {', '.join(f'{name}={_mask_quoted(part)}' for name, part in parts) if parts else mask(rest)}"


def _redact_cookie(cookie: str, attributes: frozenset[str]) -> str:
    name, equals, value = cookie.partition("=")
    if not equals:
        return cookie if cookie.strip().lower() in ("", "secure", "httponly", "partitioned") else f" {mask(cookie)}"
    return cookie if name.strip().lower() in attributes else f"{name}={_mask_quoted(value)}"


def _mask_quoted(value: str) -> str:
    return f'"{mask(value.strip(chr(34)))}"' if value[:1] == '"' else mask(value)


def redact_text(text: str, depth: int = 0) -> str:
    """Redact the credentials in the URLs of a text, or in a JSON document."""
    if _SUSPECT.search(text) is None:
        return text
    bare = text.strip("\ufeff \t\r\n")
    if bare[:1] in ("{", "[") or (bare[:1] == '"' and '\\"' in bare):
        return redact_document(text, redact_secret, redact)
    if "://" in text:
        text = _USER.sub("…@", text)

    def redact_parameter(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if not value:
            return found[0]
        if is_secret_name("field", unquote_plus(name)):
            return f"{name}={mask(unquote(value))}"
        if "%" in value and depth < _MAX_DEPTH:
            plain = unquote(value)
            shown = redact_text(plain, depth + 1)
            return found[0] if shown == plain else f"{name}={'…'.join(map(quote, shown.split('…')))}"
        return found[0]

    text = _PARAMETER.sub(redact_parameter, text)
    return _PAIR.sub(redact_parameter, text) if ";" in text else text


def _change_headers(headers: Mapping[str, str], changes: Mapping[str, str]) -> Mapping[str, str]:
    """Return headers with changed values; a repeated header is reduced to one."""
    from multidict import CIMultiDict  # not a dependency of the client alone

    changed = CIMultiDict(headers)
    for name, shown in changes.items():
        changed[name] = shown
    return changed


def redact_request(request: Request) -> None:
    """Redact every credential in the headers and query of a request; masked values still equal the originals."""
    headers = _redact_all("header", request.headers)
    if headers:
        request.headers = _change_headers(request.headers, headers)
    if request.query and (query := _redact_all("field", request.query)):
        request.query = {**request.query, **query}


def _redact_all(place: Place, values: Mapping[str, str]) -> dict[str, str]:
    """Return the redacted values that differ, by name; of a repeated name the first value."""
    changed: dict[str, str] = {}
    for name in values:
        if name not in changed:
            value = values[name]
            shown = redact(place, name, value)
            if shown is not value and shown != value:
                changed[name] = MaskedCredential(value, shown)
    return changed
