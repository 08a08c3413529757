"""Compare recordings of one service, or of a service and the emulator: fields, errors, streams, headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from emulator.core.http import Headers, Mark
from emulator.core.json import JSON, parse_json
from emulator.recording.ask import PARTS, simplify_text
from emulator.recording.content import read_event, split_events
from emulator.recording.exchange import Exchange
from emulator.recording.replay import Recorded

_NOISY_HEADERS = re.compile(
    r"date|content-length|transfer-encoding|connection|keep-alive|set-cookie|age|etag|alt-svc|via|nel|report-to|cf-.*"
    r"|x-emulator-.*|server-timing|.*(?:request|trace|correlation|span|apim)[-_]?(?:id|guid|parent)|traceparent|requestuuid"
    r"|x-ms-.*-id|x-envoy-.*|.*time.*|.*latency.*|strict-transport-security|apim-request-id|x-aml-cluster"
)
_ENUMERATED = frozenset(
    {"object", "finish_reason", "role", "type", "code", "error_code", "error_type", "stop_reason", "status", "param"}
)
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_ERROR = 400
_MAX_SHOWN = 100  # characters of a text


@dataclass(frozen=True, slots=True, order=True)
class Drift:
    """Difference between two recordings.

    Fields:
        kind: ``gone`` (only the first has it), ``added``, ``type``, ``order``, ``value``, ``status``, ``header``,
            ``error text``, ``stream`` or ``ending``.
        place: field, header or event.
    """

    operation: str
    kind: str
    place: str
    before: str = ""
    after: str = ""


@dataclass(slots=True)
class Comparison:
    """Result of a comparison.

    Fields:
        compared: number of pairs of calls.
        drift: differences with the number of pairs that show them.
        unpaired: requests that only one of the recordings has.
    """

    compared: int = 0
    drift: dict[Drift, int] = field(default_factory=dict)
    unpaired: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """Return 0 if the recordings are equal, 1 with drift, 2 if nothing could be compared."""
        return 2 if not self.compared else int(bool(self.drift))


def compare(first: Iterable[Recorded], second: Iterable[Recorded]) -> Comparison:
    """Compare calls with equal requests, in the order of their recording."""
    result = Comparison()
    others: dict[str, list[Recorded]] = {}
    for recorded in second:
        others.setdefault(_key(recorded), []).append(recorded)
    for recorded in first:
        waiting = others.get(_key(recorded))
        if not waiting:
            result.unpaired.append(f"only the first has {recorded.ask.operation}: {recorded.exchange.source}")
            continue
        other = waiting.pop(0)
        result.compared += 1
        for drift in set(_compare_pair(recorded.ask.operation, recorded.exchange, other.exchange)):
            result.drift[drift] = result.drift.get(drift, 0) + 1
    left = [each for rows in others.values() for each in rows]
    result.unpaired += [f"only the second has {each.ask.operation}: {each.exchange.source}" for each in left]
    return result


def _key(recorded: Recorded) -> str:
    return recorded.ask.key(PARTS)


def _compare_pair(operation: str, one: Exchange, two: Exchange) -> Iterator[Drift]:
    if one.status != two.status:
        yield Drift(operation, "status", "status", str(one.status), str(two.status))
        yield from _compare_error(operation, one, two)
        return
    yield from _compare_headers(operation, one.headers, two.headers)
    if one.ending != two.ending:  # what one of them does not hold says nothing
        yield Drift(operation, "ending", "end", one.ending, two.ending)
        return
    if one.is_streamed and two.is_streamed:
        yield from _compare_streams(operation, one, two)
    elif one.is_streamed != two.is_streamed:
        yield Drift(operation, "stream", "body", _name_kind(one), _name_kind(two))
    else:
        yield from _compare_bodies(operation, _parse(one.body), _parse(two.body), is_error=one.status >= _ERROR)


def _name_kind(exchange: Exchange) -> str:
    return "a stream" if exchange.is_streamed else "one document"


def _compare_error(operation: str, one: Exchange, two: Exchange) -> Iterator[Drift]:
    """Compare the bodies of two errors; an error and an answer have nothing in common."""
    if one.status >= _ERROR and two.status >= _ERROR:
        yield from _compare_bodies(operation, _parse(one.body), _parse(two.body), is_error=True)


def _parse(body: bytes) -> JSON:
    try:
        return parse_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _compare_headers(operation: str, one: Headers, two: Headers) -> Iterator[Drift]:
    mine, theirs = ({name.lower(): value for name, value in headers} for headers in (one, two))
    for name in sorted(mine.keys() | theirs.keys()):
        if _NOISY_HEADERS.fullmatch(name):
            continue
        before, after = mine.get(name), theirs.get(name)
        if before is None or after is None:
            yield Drift(operation, "gone" if after is None else "added", f"header {name}", _cut(before), _cut(after))
        elif _plain(before) != _plain(after):
            yield Drift(operation, "header", name, _cut(before), _cut(after))


def _plain(text: str) -> str:
    """Return a text without ids, dates and numbers."""
    return _NUMBERS.sub("0", simplify_text(text))


def _cut(text: str | None) -> str:
    return "" if text is None else text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


# Bodies


def _compare_bodies(operation: str, one: JSON, two: JSON, *, is_error: bool) -> Iterator[Drift]:
    mine, theirs = _read_shape(one), _read_shape(two)
    yield from _compare_shapes(operation, "", mine, theirs)
    yield from _compare_values(operation, "", mine, theirs, is_error=is_error)


@dataclass(slots=True)
class _Shape:
    """Fields of documents: types and values by path, and the order of the members of each object."""

    types: dict[str, set[str]] = field(default_factory=dict)
    values: dict[str, set[str]] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _read_shape(*documents: JSON) -> _Shape:
    shape = _Shape()
    waiting = [("", document) for document in documents]
    while waiting:
        path, value = waiting.pop()
        shape.types.setdefault(path, set()).add(_name_type(value))
        if isinstance(value, dict):
            shape.orders.setdefault(path, tuple(value))
            waiting += [(f"{path}.{name}".lstrip("."), item) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[]", item) for item in value]
        elif isinstance(value, str):
            shape.values.setdefault(path, set()).add(value)
    return shape


def _name_type(value: JSON) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list", dict: "object"}
    return names.get(type(value), "text")


def _compare_shapes(operation: str, event: str, one: _Shape, two: _Shape) -> Iterator[Drift]:
    for path in sorted(one.types.keys() | two.types.keys()):
        before, after = one.types.get(path), two.types.get(path)
        place = f"{event}{path or 'body'}"
        if before is None or after is None:
            parent = path.removesuffix("[]") if path.endswith("[]") else path.rpartition(".")[0]
            mine, theirs = one.types.get(parent), two.types.get(parent)
            if mine and theirs and not _differ(mine, theirs):  # else what holds it is reported
                yield Drift(operation, "gone" if after is None else "added", place, _join(before), _join(after))
        elif _differ(before, after):
            yield Drift(operation, "type", place, _join(before), _join(after))
    for path in sorted(one.orders.keys() & two.orders.keys()):
        orders = one.orders[path], two.orders[path]
        common = set(orders[0]) & set(orders[1])
        before_order, after_order = ([name for name in names if name in common] for names in orders)
        if before_order != after_order:
            place = f"{event}{path or 'body'}"
            yield Drift(operation, "order", place, _cut(", ".join(before_order)), _cut(", ".join(after_order)))


def _differ(one: set[str], two: set[str]) -> bool:
    """Return whether types differ; an integer is a number, and null stands where nothing was said."""
    numbers = {"integer", "number"}
    mine, theirs = ({"number" if name in numbers else name for name in names} for names in (one, two))
    return mine != theirs and not (mine <= numbers and theirs <= numbers)


def _join(types: set[str] | None) -> str:
    return " or ".join(sorted(types)) if types else ""


def _compare_values(operation: str, event: str, one: _Shape, two: _Shape, *, is_error: bool) -> Iterator[Drift]:
    for path in sorted(one.values.keys() & two.values.keys()):
        name = path.rpartition(".")[2].removesuffix("[]")
        if not is_error and name not in _ENUMERATED:
            continue
        mine, theirs = ({_plain(value) for value in shape.values[path]} for shape in (one, two))
        if mine != theirs:
            kind = "error text" if is_error and name not in _ENUMERATED else "value"
            shown = [_cut(" or ".join(sorted(shape.values[path]))) for shape in (one, two)]
            yield Drift(operation, kind, f"{event}{path or 'body'}", *shown)


# Streams


def _compare_streams(operation: str, one: Exchange, two: Exchange) -> Iterator[Drift]:
    mine, theirs = _read_stream(one.body), _read_stream(two.body)
    for name in ("framing", "roles"):
        before, after = getattr(mine, name), getattr(theirs, name)
        if before != after:
            yield Drift(operation, "stream", name, _cut(before), _cut(after))
    for role in [role for role in mine.shapes if role in theirs.shapes]:
        event = f"{role} event: "
        yield from _compare_shapes(operation, event, mine.shapes[role], theirs.shapes[role])
        yield from _compare_values(operation, event, mine.shapes[role], theirs.shapes[role], is_error=False)


@dataclass(slots=True)
class _Stream:
    """Habits of a stream: how events are framed, the order of their roles, and the fields of each role."""

    framing: str
    roles: str
    shapes: dict[str, _Shape]


def _read_stream(body: bytes) -> _Stream:
    documents: dict[str, list[JSON]] = {}
    roles: list[str] = []
    names: set[str] = set()
    for event in split_events(body):
        role = _name_role(event)
        if not roles or roles[-1] != role:
            roles.append(role)
        for line in event.splitlines():
            name, _, rest = line.partition(b":")
            names.add(f"{name.decode('utf-8', 'replace')}:{' ' if rest[:1] == b' ' else ''}" if line else "")
            if name == b"data" and rest.strip()[:1] == b"{":
                documents.setdefault(role, []).append(_parse(rest.strip()))
    ends = "CRLF" if b"\r\n" in body else "LF"
    shapes = {role: _read_shape(*found) for role, found in documents.items()}
    return _Stream(f"{' '.join(sorted(filter(None, names)))} {ends}", " ".join(roles), shapes)


def _name_role(event: bytes) -> str:
    content = read_event(event)
    if content.mark & Mark.DONE:
        return "done"
    if content.mark & Mark.FINISH:
        return "finish"
    if content.text:
        return "text"
    return "usage" if b'"choices":[]' in event.replace(b" ", b"") else "other"


# Results


def format_table(comparison: Comparison, *, colour: bool = False) -> Iterator[str]:
    """Yield the lines of a readable table, by operation."""
    shades = {"gone": "31", "added": "32"}
    by_operation: dict[str, list[tuple[Drift, int]]] = {}
    for drift, count in sorted(comparison.drift.items()):
        by_operation.setdefault(drift.operation, []).append((drift, count))
    for operation, rows in by_operation.items():
        yield f"\x1b[1m{operation}\x1b[0m" if colour else operation
        width = max(len(drift.place) for drift, _ in rows)
        for drift, count in rows:
            sides = [side for side in (drift.before, drift.after) if side]
            kind = f"{drift.kind:<10}"
            shade = shades.get(drift.kind, "33")
            shown = f"\x1b[{shade}m{kind}\x1b[0m" if colour else kind
            yield f"  {shown}  {drift.place:<{width}}  {' -> '.join(sides)}  ({count} of {comparison.compared})"
    yield from comparison.unpaired
    differences = len(comparison.drift)
    unpaired = len(comparison.unpaired)
    yield f"{comparison.compared} pairs of calls compared, {differences} differences, {unpaired} unpaired"


def to_json(comparison: Comparison) -> Mapping[str, JSON]:
    """Return a comparison as JSON."""
    rows: list[JSON] = [
        {
            "operation": drift.operation,
            "kind": drift.kind,
            "place": drift.place,
            "before": drift.before,
            "after": drift.after,
            "pairs": count,
        }
        for drift, count in sorted(comparison.drift.items())
    ]
    return {"compared": comparison.compared, "drift": rows, "unpaired": list(comparison.unpaired)}


def build_overlay(comparison: Comparison, vendor: str) -> tuple[list[dict[str, JSON]], list[str]]:
    """Return rules that make the second recording's vendor like the first's, and the drift that no rule expresses.

    The emulator is the second; a field that it adds is dropped.
    """
    fields: dict[str, set[str]] = {}
    left = []
    for drift in sorted(comparison.drift):
        name = drift.place.partition(": ")[2] or drift.place
        if drift.kind == "added" and not drift.place.startswith("header "):
            fields.setdefault(drift.operation, set()).add(name.replace("[]", ""))
        else:
            left.append(f"{drift.operation}: {drift.kind} {drift.place}")
    rules: list[dict[str, JSON]] = []
    for operation, names in fields.items():
        _, path, *others = operation.split()
        when: dict[str, JSON] = {"vendor": vendor, "endpoint": re.sub(r"\{[^}]*\}", "*", path)}
        when["stream"] = "stream" in others
        dropped: list[JSON] = list(sorted(names))
        rules.append(
            {"name": f"as recorded: {operation}", "when": when, "faults": [{"type": "drop", "field": dropped}]}
        )
    return rules, left
