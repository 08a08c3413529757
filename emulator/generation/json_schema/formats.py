"""Validate strings against the named formats of JSON Schema (``format``), such as ``date-time`` and ``email``.

Sources: RFC 3339 (dates), RFC 5321 and 6531 (email), RFC 1123 (hostname), RFC 3986 and 3987 (URI and IRI),
RFC 4122 (UUID), RFC 6570 (URI template), RFC 6901 (JSON pointer).
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from emulator.core.json import JSON
from emulator.generation.regex.parse import BadPattern, parse_pattern

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))")
_DURATION = re.compile(
    r"P(?:[0-9]+W|(?=.)(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)?"
    r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?)"
)
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_URI_CHARS = r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2}"
_URI_BODY = re.compile(rf"(?:{_URI_CHARS})*")
_IRI_BODY = re.compile(rf"(?:{_URI_CHARS}|[^\x00-\x9f\ud800-\udfff\ufff0-\uffff])*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_POINTER = re.compile(r"(?:/(?:[^~/]|~0|~1)*)*")
_RELATIVE_POINTER = re.compile(r"(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~0|~1)*)*)")
_VARIABLE = r"[A-Za-z0-9_%]+(?:\.[A-Za-z0-9_%]+)*(?::[1-9][0-9]{0,3}|\*)?"
_TEMPLATE = re.compile(
    rf"(?:[^\x00-\x20\x7f\"<>\\^`{{|}}%]|%[0-9A-Fa-f]{{2}}|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)


def conforms(name: JSON, text: str) -> bool:
    """Return whether ``text`` conforms to a format; unknown formats allow any text."""
    test = FORMATS.get(name) if isinstance(name, str) else None
    return test is None or test(text)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    """Return whether ``text`` is a time with an offset; a leap second must be 23:59:60 in UTC."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hour, minute, second = int(match[1]), int(match[2]), int(match[3])
    offset_hour, offset_minute = int(match[4] or 0), int(match[5] or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return False
    if second < 60:
        return True
    sign = -1 if "+" in text else 1
    return (hour * 60 + minute + sign * (offset_hour * 60 + offset_minute)) % 1440 == 1439


def _is_date_time(text: str) -> bool:
    return len(text) > 11 and text[10] in "Tt" and _is_date(text[:10]) and _is_time(text[11:])


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return len(text) <= 253 and all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    encoded = label[2:4] != "--" or label[:2].lower() == "xn"
    return _LABEL.fullmatch(label) is not None and encoded


def _is_international_hostname(text: str) -> bool:
    labels = re.split("[.。．｡]", text)
    return len(text) <= 253 and all(
        label and len(label) <= 63 and label[0] != "-" and label[-1] != "-" and label.isprintable() for label in labels
    ) and not set(text) & set(" _/@:?#")  # fmt: skip


def _is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64:
        return False
    if domain.startswith("[") and domain.endswith("]"):
        return _is_address_literal(domain[1:-1])
    return _is_local(local) and _is_hostname(domain)


def _is_local(local: str) -> bool:
    if len(local) > 2 and local[0] == local[-1] == '"':
        return re.fullmatch(r"(?:[ !#-\[\]-~]|\\[ -~])*", local[1:-1]) is not None
    return _LOCAL.fullmatch(local) is not None


def _is_address_literal(text: str) -> bool:
    return _is_ipv6(text[5:]) if text.startswith("IPv6:") else _is_ipv4(text)


def _is_international_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    return bool(at and local) and " " not in local and (_is_email(text) or _is_international_hostname(domain))


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return text.isascii()


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text and text.isascii()


def _is_uri(text: str) -> bool:
    return _SCHEME.match(text) is not None and _is_uri_reference(text)


def _is_uri_reference(text: str) -> bool:
    return _URI_BODY.fullmatch(text) is not None and _has_sound_parts(text)


def _is_iri(text: str) -> bool:
    return _SCHEME.match(text) is not None and _is_iri_reference(text)


def _is_iri_reference(text: str) -> bool:
    return _IRI_BODY.fullmatch(text) is not None and _has_sound_parts(text)


def _has_sound_parts(text: str) -> bool:
    """Return whether a URI has one ``#`` at most, brackets only around an IPv6 host, and colons only where allowed."""
    rest, _, fragment = text.partition("#")
    if "#" in fragment or "[" in fragment or "]" in fragment:
        return False
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    if not scheme and ":" in rest.partition("?")[0].partition("/")[0]:
        return False
    parts = re.match(r"//([^/?]*)(.*)", rest, re.DOTALL)
    if parts is None:
        return "[" not in rest and "]" not in rest
    authority, path = parts.groups()
    host = re.fullmatch(r"(?:[^@\[\]]*@)?(\[[0-9A-Fa-f:.]+\]|\[[vV][^\]]+\]|[^@:\[\]]*)(?::[0-9]*)?", authority)
    if host is None or "[" in path or "]" in path:
        return False
    return not host[1].startswith("[") or host[1][:2].lower() == "[v" or _is_ipv6(host[1][1:-1])


def _is_regex(text: str) -> bool:
    try:
        parse_pattern(text)
    except BadPattern:
        return False
    return True


def _full(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date, "time": _is_time, "date-time": _is_date_time, "duration": _is_duration,
    "email": _is_email, "idn-email": _is_international_email,
    "hostname": _is_hostname, "idn-hostname": _is_international_hostname, "ipv4": _is_ipv4, "ipv6": _is_ipv6,
    "uri": _is_uri, "uri-reference": _is_uri_reference, "iri": _is_iri, "iri-reference": _is_iri_reference,
    "uuid": _full(_UUID), "uri-template": _full(_TEMPLATE), "json-pointer": _full(_POINTER),
    "relative-json-pointer": _full(_RELATIVE_POINTER), "regex": _is_regex,
}  # fmt: skip
