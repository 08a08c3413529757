"""Redact exchanges before they reach the disk, also credentials that are split over the events of a stream.

``writer.py`` redacts each part of an exchange by it before it writes the part.
"""

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import AnyStr
from urllib.parse import parse_qsl, quote, unquote

from emulator.core.http import Headers
from emulator.core.redaction.bodies import redact_body
from emulator.core.redaction.credentials import mask
from emulator.core.redaction.names import is_secret_name
from emulator.core.redaction.tokens import find_tokens
from emulator.core.redaction.values import redact, redact_text

_Edit = tuple[int, int, str]
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_LETTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_DOCUMENT = re.compile(r"(?m)^(?:data:[ ]?)?([\[{].*)$")
_MAX_ENCODED = 4  # times that a URL in a URL is percent-encoded
_SHORT = 8  # characters; a shorter credential is not searched elsewhere


@dataclass(slots=True)
class Secrets:
    """Credentials of one call, which are cut wherever else they stand.

    Fields:
        seen: credentials that the call carried in headers and query.
        in_headers: number of credentials cut from credential headers and query parameters.
        elsewhere: number cut from any other place.
        places: names of these places.
    """

    seen: set[str] = field(default_factory=set)
    in_headers: int = 0
    elsewhere: int = 0
    places: list[str] = field(default_factory=list)

    def note(self, place: str, count: int = 1) -> None:
        """Count credentials found outside credential headers."""
        if count:
            self.elsewhere += count
            if place not in self.places:
                self.places.append(place)

    @property
    def total(self) -> int:
        return self.in_headers + self.elsewhere


def note_credentials(headers: Collection[tuple[str, str]], secrets: Secrets) -> None:
    """Remember the credentials of credential headers."""
    for name, value in headers:
        if is_secret_name("header", name):
            secrets.in_headers += 1
            secrets.seen.update(_list_credentials(value))


def redact_headers(headers: Collection[tuple[str, str]], secrets: Secrets, place: str) -> Headers:
    """Return headers without credentials, and remember these."""
    shown: list[tuple[str, str]] = []
    note_credentials(headers, secrets)
    for name, value in headers:
        clean = redact("header", name, value)
        if clean != value and not is_secret_name("header", name):
            secrets.note(f"{place} header {name}")
        shown.append((name, clean))
    return tuple((name, _redact_plain(value, secrets, f"{place} header {name}")) for name, value in shown)


def _list_credentials(value: str) -> Iterator[str]:
    """Yield the credential of a header in the forms in which it may stand elsewhere."""
    scheme, _, rest = value.partition(" ")
    token = rest.strip() if rest else scheme
    if len(token) >= _SHORT:
        yield token
    if scheme.lower() == "basic":
        try:
            yield from (part for part in base64.b64decode(token).decode().split(":", 1) if len(part) >= _SHORT)
        except ValueError:
            return


def redact_target(target: str, secrets: Secrets) -> str:
    """Return path and query without credentials."""
    path, mark, query = target.partition("?")
    found = _list_query_credentials(query)
    secrets.in_headers += len(found)
    secrets.seen.update(found)
    shown = redact_text(f"?{query}")[1:] if query else ""
    path = "/".join(_redact_segment(segment, secrets) if "%" in segment else segment for segment in path.split("/"))
    plain = unquote(path)
    if find_tokens(plain, secrets.seen):
        path = _redact_plain(plain, secrets, "path")
    return _redact_plain(path + mark + shown, secrets, "query")


def _list_query_credentials(query: str) -> list[str]:
    return [value for name, value in parse_qsl(query) if is_secret_name("field", name)]


def _redact_segment(segment: str, secrets: Secrets) -> str:
    """Return a part of a path without the credentials of a URL or query that stands in it percent-encoded."""
    plain = segment
    for times in range(1, _MAX_ENCODED + 1):
        plain = unquote(plain)
        is_query = "&" in plain and "?" not in plain  # `key=report` alone may be any name
        shown = redact_text(f"?{plain}")[1:] if is_query else redact_text(plain)
        if shown != plain:
            secrets.note("path")
            secrets.seen.update(_list_query_credentials(plain if is_query else plain.partition("?")[2]))
            for _ in range(times):
                shown = "…".join(quote(part, safe="") for part in shown.split("…"))
            return shown
    return segment


def _redact_plain(text: str, secrets: Secrets, place: str) -> str:
    spans = find_tokens(text, secrets.seen)
    secrets.note(place, len(spans))
    for start, end in reversed(spans):
        text = text[:start] + mask(text[start:end]) + text[end:]
    return text


def redact_whole(body: bytes, secrets: Secrets, place: str) -> bytes:
    """Return a complete body without credentials."""
    return b"".join(redact_parts([body], secrets, place))


def redact_parts(parts: Sequence[bytes], secrets: Secrets, place: str, *, keep: int = 0) -> list[bytes]:
    """Return redacted parts of a body; the last ones may be left out, which wait for more of the stream.

    Args:
        keep: bytes at the end that wait; a credential may continue in the next part. 0: the stream is over.
    """
    data = b"".join(parts)
    named = redact_body(data)
    cuts = 0
    if named != data:
        edits = list(_compare_lines(data, named))
        cuts += len(edits)
        parts = _edit_parts(parts, edits)
        data = b"".join(parts)
    text = data.decode("utf-8", "surrogateescape")
    groups = [*_find_in_text(text, secrets), *_find_in_strings(text, secrets)]
    limit = _find_boundary(parts, _to_bytes(text, groups), len(data) - keep) if keep else len(parts)
    end = sum(map(len, parts[:limit]))
    chosen = [edit for group in _to_bytes(text, groups) for edit in group if edit[0] < end]
    if cuts or chosen:
        secrets.note(place, max(1, len(groups) if not keep else len(chosen), cuts))
    return _edit_parts(parts[:limit], _drop_overlaps(chosen))


_ByteEdit = tuple[int, int, bytes]


def _compare_lines(before: bytes, after: bytes) -> Iterator[_ByteEdit]:
    """Yield the ranges in which two bodies differ: line by line where they have as many lines."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) != len(new):
        old, new = [before], [after]
    at = 0
    for left, right in zip(old, new, strict=True):
        if left != right:
            start = _count_equal(left, right)
            tail = _count_equal(left[start:][::-1], right[start:][::-1])
            yield at + start, at + len(left) - tail, right[start : len(right) - tail]
        at += len(left)


def _count_equal(left: AnyStr, right: AnyStr) -> int:
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:
        return shorter
    low, high = 0, shorter
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle - 1)
    return low


def _find_in_text(text: str, secrets: Secrets) -> Iterator[list[_Edit]]:
    """Yield an edit for each credential that stands in the text as it is."""
    for start, end in find_tokens(text, secrets.seen):
        yield [(start, end, mask(text[start:end]))]


def _find_in_strings(text: str, secrets: Secrets) -> Iterator[list[_Edit]]:
    """Yield the edits for each credential in the strings of JSON documents, joined by member over all documents."""
    documents = list(_DOCUMENT.finditer(text))
    if _are_clean([document[1] for document in documents], secrets):
        return
    pieces: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for document in documents:
        for path, start, raw in _list_strings(document[1], document.start(1)):
            pieces.setdefault(path, []).append((start, raw))
    for found in pieces.values():
        if len(found) == 1 and "\\" not in found[0][1]:
            continue  # the text itself was searched
        yield from _find_in_pieces([(start, raw, _decode(raw)) for start, raw in found], secrets)


class _Members(tuple[tuple[str, object], ...]):
    """Members of a JSON object in order, also of the same name."""

    __slots__ = ()


_PARSER = json.JSONDecoder(strict=False, object_pairs_hook=_Members)


class _Strings(dict[str, "_Strings"]):
    """Strings of the same member of several documents; below those of its own members, of its items by an empty name.

    ``texts``: the strings in order.
    """

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __missing__(self, name: str) -> "_Strings":
        self[name] = inner = _Strings()
        return inner

    def add(self, value: _Members | list[object]) -> None:
        """Add the strings of a JSON object or array."""
        for name, member in value if isinstance(value, _Members) else [("", item) for item in value]:
            if isinstance(member, str):
                self[name].texts.append(member)
            elif isinstance(member, _Members | list):
                self[name].add(member)

    def joined(self) -> Iterator[str]:
        """Yield the strings of each member as one text."""
        left = [self]
        while left:
            strings = left.pop()
            yield "".join(strings.texts)
            left += strings.values()


def _are_clean(documents: Sequence[str], secrets: Secrets) -> bool:
    """Return whether no credential is in the strings of documents, joined by member over all.

    It takes a tenth of the time of finding where each string stands, which only credentials need.
    """
    strings = _Strings()
    for document in documents:
        try:
            strings.add(_PARSER.decode(document))
        except (ValueError, RecursionError):  # such as `[DONE]`
            for path, _, raw in _list_strings(document, 0):
                reduce(_Strings.__getitem__, path, strings).texts.append(_decode(raw))
    return not any(next(_find_spans(text, secrets), None) for text in strings.joined() if text)


def _find_in_pieces(pieces: Sequence[tuple[int, str, str]], secrets: Secrets) -> Iterator[list[_Edit]]:
    whole = "".join(value for _, _, value in pieces)
    for start, end, shown in _find_spans(whole, secrets):
        group: list[_Edit] = []
        at = 0
        for place, raw, value in pieces:
            first, last = max(start - at, 0), min(end - at, len(value))
            if first < last:
                ends = [0, *(found.end() for found in _LETTER.finditer(raw))]
                if len(ends) != len(value) + 1:  # surrogate pairs: the piece goes as a whole
                    ends = [0] * (len(value)) + [len(raw)]
                    first = 0
                group.append(
                    (
                        place + ends[first],
                        place + ends[last],
                        json.dumps(shown, ensure_ascii=False)[1:-1] if not group else "",
                    )
                )
            at += len(value)
        if group:
            yield group


def _find_spans(whole: str, secrets: Secrets) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and replacement of each credential in a joined text, which may be JSON or a URL itself."""
    spans = find_tokens(whole, secrets.seen)
    masked = whole
    for start, end in reversed(spans):
        masked = masked[:start] + mask(whole[start:end]) + masked[end:]
    shown = redact_text(masked)
    if shown == masked:
        yield from ((start, end, mask(whole[start:end])) for start, end in spans)
        return
    start = _count_equal(whole, shown)  # one range for all, as names may reach over tokens
    tail = _count_equal(whole[start:][::-1], shown[start:][::-1])
    yield start, len(whole) - tail, shown[start : len(shown) - tail]


def _list_strings(text: str, base: int) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield path, position and raw text of each string value of a JSON document."""
    path: list[str] = []
    pending: tuple[int, str] | None = None
    for found in _STRING.finditer(text):
        first = found[0][0]
        if first == '"':
            pending = (base + found.start(1), found[1])
        elif first == ":" and pending is not None and path:
            path[-1], pending = pending[1], None
        else:
            if pending is not None:
                yield tuple(path), *pending
                pending = None
            if first in "{[":
                path.append("")
            elif first in "}]" and path:
                path.pop()


def _decode(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        value: str = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        return raw
    return value


def _to_bytes(text: str, groups: Iterable[Sequence[_Edit]]) -> list[list[_ByteEdit]]:
    """Convert positions of characters to positions of bytes."""
    if text.isascii():
        return [[(start, end, new.encode()) for start, end, new in group] for group in groups]
    return [
        [(_size(text[:start]), _size(text[:end]), new.encode("utf-8", "surrogateescape")) for start, end, new in group]
        for group in groups
    ]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _find_boundary(parts: Sequence[bytes], groups: Sequence[Sequence[_ByteEdit]], end: int) -> int:
    """Return how many parts can be written: complete events up to ``end`` that no credential leaves."""
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    for count in range(len(parts), 0, -1):
        at = ends[count]
        if (
            at <= end
            and parts[count - 1][-1:] == b"\n"
            and not any(group[0][0] < at < group[-1][1] for group in groups if group)
        ):
            return count
    return 0


def _drop_overlaps(edits: Iterable[_ByteEdit]) -> list[_ByteEdit]:
    kept: list[_ByteEdit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
        elif edit[1] > kept[-1][1]:
            kept[-1] = (kept[-1][0], edit[1], kept[-1][2])
    return kept


def _edit_parts(parts: Sequence[bytes], edits: Sequence[_ByteEdit]) -> list[bytes]:
    """Return parts with ranges of the joined text replaced; a replacement belongs to the part where it starts."""
    if not edits:
        return list(parts)
    edited = []
    at = 0
    for part in parts:
        end = at + len(part)
        pieces, start = [], at
        for first, last, new in edits:
            if last <= at or first >= end:
                continue
            pieces.append(part[start - at : max(first, at) - at])
            if first >= at:
                pieces.append(new)
            start = max(start, min(last, end))
        edited.append(b"".join([*pieces, part[start - at :]]))
        at = end
    return edited
