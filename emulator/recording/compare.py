"""Compare two recordings, for ``emulator diff``: fields, errors, streams and headers of equal requests."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from emulator.core.http import Headers, Mark
from emulator.core.json import JSON, dump_text, parse_json
from emulator.recording.canonical import PARTS, simplify_text
from emulator.recording.content import read_event, split_events
from emulator.recording.exchange import Exchange
from emulator.recording.replay import RecordedExchange

_NOISY_HEADERS = re.compile(
    r"date|content-length|transfer-encoding|connection|keep-alive|set-cookie|age|etag|alt-svc|via|nel|report-to|cf-.*"
    r"|x-emulator-.*|server-timing|.*(?:request|trace|correlation|span|apim)[-_]?(?:id|guid|parent)|traceparent|requestuuid"
    r"|x-ms-.*-id|x-envoy-.*|.*time.*|.*latency.*|strict-transport-security|apim-request-id|x-aml-cluster"
)
_ENUMERATED = frozenset(
    {
        "object", "finish_reason", "finishReason", "role", "type", "code", "error_code", "error_type", "stop_reason",
        "status", "param",
    }
)  # fmt: skip
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_EVENT_NAME = re.compile(rb"(?m)^event: ?([^\r\n]+)")
_EVENT_TYPE = re.compile(rb'(?m)^data: ?\{\s*"type"\s*:\s*"([\w.]+)"')
_ERROR = 400
_MAX_SHOWN = 100  # characters of a text
_MAX_SAMPLES = 2  # one is a constant
_INTEGRAL = "number such as 1.0"
_NUMERIC = frozenset({"integer", "number", _INTEGRAL})


@dataclass(frozen=True, slots=True, order=True)
class Drift:
    """Difference between two recordings.

    Fields:
        kind: ``gone`` (only the first has it), ``added``, ``type``, ``order``, ``value``, ``status``, ``header``,
            ``error text``, ``stream`` or ``ending``.
        place: field, header or event.
        is_error: whether it is in the body of an error.
    """

    operation: str
    kind: str
    place: str
    before: str = ""
    after: str = ""
    is_error: bool = False


@dataclass(slots=True)
class RecordingComparison:
    """Result of a comparison.

    Fields:
        compared: number of pairs of calls.
        drift: differences with the number of pairs that show them.
        unpaired: requests that only one of the recordings has.
        shapes: fields of both sides by operation and role of the event, empty for a document; those of errors are
            left out.
    """

    compared: int = 0
    drift: dict[Drift, int] = field(default_factory=dict)
    unpaired: list[str] = field(default_factory=list)
    shapes: "dict[tuple[str, str], tuple[_Shape, _Shape]]" = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Return 0 if the recordings are equal, 1 with drift, 2 if nothing could be compared."""
        return 2 if not self.compared else int(bool(self.drift))


def compare(first: Iterable[RecordedExchange], second: Iterable[RecordedExchange]) -> RecordingComparison:
    """Compare calls with equal requests, in the order of their recording."""
    result = RecordingComparison()
    named: dict[tuple[str, ...], Drift] = {}
    others: dict[str, list[RecordedExchange]] = {}
    for recorded in second:
        others.setdefault(_key(recorded), []).append(recorded)
    for recorded in first:
        waiting = others.get(_key(recorded))
        if not waiting:
            result.unpaired.append(f"only the first has {recorded.canonical.operation}: {recorded.exchange.source}")
            continue
        other = waiting.pop(0)
        result.compared += 1
        for role, mine, theirs in _pair_shapes(recorded.exchange, other.exchange):
            both = result.shapes.setdefault((recorded.canonical.operation, role), (_Shape(), _Shape()))
            both[0].merge(mine)
            both[1].merge(theirs)
        for key, drift in {_name(each): each for each in _compare_pair(recorded, other)}.items():
            shown = named.setdefault(key, drift)
            result.drift[shown] = result.drift.get(shown, 0) + 1
    left = [each for rows in others.values() for each in rows]
    result.unpaired += [f"only the second has {each.canonical.operation}: {each.exchange.source}" for each in left]
    return result


def _key(recorded: RecordedExchange) -> str:
    return recorded.canonical.key(PARTS)


def _name(drift: Drift) -> tuple[str, ...]:
    """Return what is equal for the same difference of several pairs, whose ids and numbers differ."""
    return drift.operation, drift.kind, drift.place, _plain(drift.before), _plain(drift.after)


def _compare_pair(first: RecordedExchange, second: RecordedExchange) -> Iterator[Drift]:
    operation, one, two = first.canonical.operation, first.exchange, second.exchange
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
    mine, theirs = _join_headers(one), _join_headers(two)
    for name in sorted(mine.keys() | theirs.keys()):
        if _NOISY_HEADERS.fullmatch(name):
            continue
        before, after = mine.get(name), theirs.get(name)
        if before is None or after is None:
            yield Drift(operation, "gone" if after is None else "added", f"header {name}", _cut(before), _cut(after))
        elif _plain(before) != _plain(after):
            yield Drift(operation, "header", name, *_cut_both(before, after))


def _join_headers(headers: Headers) -> dict[str, str]:
    """Return the values of each header, one after the other, by its name in lower case."""
    joined: dict[str, str] = {}
    for name, value in headers:
        before = joined.get(name.lower())
        joined[name.lower()] = value if before is None else f"{before}, {value}"
    return joined


def _plain(text: str) -> str:
    """Return a text without ids, dates and numbers."""
    return _NUMBERS.sub("0", simplify_text(text))


def _cut(text: str | None) -> str:
    return "" if text is None else text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _cut_both(one: str, two: str) -> tuple[str, str]:
    """Cut two long texts to the part where they begin to differ."""
    pairs = zip(one, two, strict=False)
    at = next((place for place, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(two)))
    start = max(0, at - _MAX_SHOWN // 2) if max(len(one), len(two)) > _MAX_SHOWN else 0
    before, after = (("…" if start else "") + _cut(text[start:]) for text in (one, two))
    return before, after


# Bodies


def _compare_bodies(operation: str, one: JSON, two: JSON, *, is_error: bool) -> Iterator[Drift]:
    mine, theirs = _read_shape(one), _read_shape(two)
    for drift in _compare_shapes(operation, "", mine, theirs):
        yield replace(drift, is_error=is_error)
    for drift in _compare_values(operation, "", mine, theirs, is_error=is_error):
        yield replace(drift, is_error=is_error)


@dataclass(slots=True)
class _Shape:
    """Fields of documents: types and values by path, and the order of the members of each object.

    Fields:
        counts: how often a path occurs.
        samples: the values of a field, by what counts of them.
    """

    types: dict[str, set[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    values: dict[str, set[str]] = field(default_factory=dict)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    samples: dict[str, dict[str, JSON]] = field(default_factory=dict)

    def is_always(self, path: str) -> bool:
        """Whether each object of the path's parent, of which there are several, has the member."""
        return self.counts[path] == self.counts[path.rpartition(".")[0]] > 1

    def is_sometimes(self, path: str) -> bool:
        """Whether some object of the path's parent lacks the member; one of another type lacks none."""
        parent = path.rpartition(".")[0]
        return self.types.get(parent) == {"object"} and self.counts[path] < self.counts[parent]

    def merge(self, other: "_Shape") -> None:
        """Add the fields of another."""
        for path, types in other.types.items():
            self.types.setdefault(path, set()).update(types)
        for path, values in other.samples.items():
            found = self.samples.setdefault(path, {})
            for key, value in values.items():
                if len(found) < _MAX_SAMPLES:
                    found.setdefault(key, value)


def _read_shape(*documents: JSON) -> _Shape:
    shape = _Shape()
    waiting = [("", document) for document in documents]
    while waiting:
        path, value = waiting.pop()
        shape.types.setdefault(path, set()).add(_name_type(value))
        shape.counts[path] += 1
        samples = shape.samples.setdefault(path, {})
        if len(samples) < _MAX_SAMPLES:
            samples.setdefault(_plain(dump_text(value)), value)
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
    if isinstance(value, float) and value.is_integer():
        return _INTEGRAL
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
        else:
            yield from _compare_presence(operation, place, path, one, two)
    for path in sorted(one.orders.keys() & two.orders.keys()):
        orders = one.orders[path], two.orders[path]
        common = set(orders[0]) & set(orders[1])
        before_order, after_order = ([name for name in names if name in common] for names in orders)
        if before_order != after_order:
            place = f"{event}{path or 'body'}"
            yield Drift(operation, "order", place, *_cut_both(", ".join(before_order), ", ".join(after_order)))


def _compare_presence(operation: str, place: str, path: str, one: _Shape, two: _Shape) -> Iterator[Drift]:
    """Compare whether each or only some of several objects have a member that both sides have."""
    if one.is_always(path) and two.is_sometimes(path):
        yield Drift(operation, "gone", place, "always", "sometimes")
    elif one.is_sometimes(path) and two.is_always(path):
        yield Drift(operation, "added", place, "sometimes", "always")


def _differ(one: set[str], two: set[str]) -> bool:
    """Return whether types differ; an integer is a number, unless the other writes whole numbers with a fraction."""
    mine, theirs = ({"number" if name in _NUMERIC else name for name in names} for names in (one, two))
    written = one & {"integer", _INTEGRAL}, two & {"integer", _INTEGRAL}
    return mine != theirs or bool(written[0] and written[1] and not written[0] & written[1])


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
            shown = (" or ".join(sorted(shape.values[path])) for shape in (one, two))
            yield Drift(operation, kind, f"{event}{path or 'body'}", *_cut_both(*shown))


def _pair_shapes(one: Exchange, two: Exchange) -> Iterator[tuple[str, _Shape, _Shape]]:
    """Yield role and fields of what two responses have in common."""
    if one.is_streamed and two.is_streamed:
        mine, theirs = _read_stream(one.body).shapes, _read_stream(two.body).shapes
        yield from ((role, mine[role], theirs[role]) for role in mine if role in theirs)
    elif one.status == two.status < _ERROR and one.is_streamed == two.is_streamed:
        yield "", _read_shape(_parse(one.body)), _read_shape(_parse(two.body))


# Streams


def _compare_streams(operation: str, one: Exchange, two: Exchange) -> Iterator[Drift]:
    mine, theirs = _read_stream(one.body), _read_stream(two.body)
    for name in ("framing", "roles", *(("last_line",) if one.ending == "whole" else ())):
        before, after = getattr(mine, name), getattr(theirs, name)
        if before != after:
            yield Drift(operation, "stream", name.replace("_", " "), *_cut_both(before, after))
    for role in [role for role in mine.shapes if role in theirs.shapes]:
        event = f"{role} event: "
        yield from _compare_shapes(operation, event, mine.shapes[role], theirs.shapes[role])
        yield from _compare_values(operation, event, mine.shapes[role], theirs.shapes[role], is_error=False)


@dataclass(slots=True)
class _Stream:
    """Form of a stream: how events are framed, the order of their roles, its last line, and the fields of each role."""

    framing: str
    roles: str
    last_line: str
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
    last_line = "blank" if body.endswith((b"\n\n", b"\n\r\n")) else "ended" if body.endswith(b"\n") else "open"
    return _Stream(f"{' '.join(sorted(filter(None, names)))} {ends}", " ".join(roles), last_line, shapes)


def _name_role(event: bytes) -> str:
    """Return the name of an event, or its type, as the Responses API and Anthropic have them; else its role."""
    named = _EVENT_NAME.search(event) or _EVENT_TYPE.search(event)
    if named:
        return named[1].decode("utf-8", "replace")
    content = read_event(event)
    if content.mark & Mark.DONE:
        return "done"
    if content.mark & Mark.FINISH:
        return "finish"
    if content.text:
        return "text"
    return "usage" if b'"choices":[]' in event.replace(b" ", b"") else "other"


# Results


def format_table(comparison: RecordingComparison, *, colour: bool = False) -> Iterator[str]:
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


def to_json(comparison: RecordingComparison) -> Mapping[str, JSON]:
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


def build_overlay(comparison: RecordingComparison, vendor: str) -> tuple[list[dict[str, JSON]], list[str]]:
    """Return rules that make the second recording's vendor like the first's, and the drift that no rule expresses.

    The emulator is the second. A field that only it has is dropped; one that only the first has is added if its value
    is the same in all calls, ids, dates and numbers aside. A field of another type or value is both.
    """
    faults: dict[str, dict[str, list[JSON]]] = {}
    left = []
    for drift in sorted(comparison.drift):
        path = drift.place.rpartition(" event: ")[2]
        reason = _explain_refusal(comparison, drift, path)
        if reason:
            left.append(f"{drift.operation}: {drift.kind} {drift.place}: {reason}")
            continue
        dropped, added = (faults.setdefault(drift.operation, {"drop": [], "add": []})[name] for name in ("drop", "add"))
        name = path.replace("[]", "")
        if drift.kind != "gone" and name not in dropped:
            dropped.append(name)
        if drift.kind != "added":
            fault = _build_addition(comparison, drift.operation, path)
            if fault not in added:
                added.append(fault)
    return [_build_rule(operation, vendor, found) for operation, found in faults.items()], left


def _list_roles(comparison: RecordingComparison, operation: str) -> list[tuple[_Shape, _Shape]]:
    return [both for (name, _), both in comparison.shapes.items() if name == operation]


def _explain_refusal(comparison: RecordingComparison, drift: Drift, path: str) -> str:
    """Return why no rule expresses a difference; empty if one does."""
    if drift.is_error:
        return "no rule changes a refusal"
    if drift.kind not in ("added", "gone", "type", "value", "error text") or drift.place.startswith("header "):
        return "a rule changes the fields of a body alone"
    roles = _list_roles(comparison, drift.operation)
    if drift.kind != "added":
        return _explain_value(roles, path)
    is_common = any(path in mine.types and path in theirs.types for mine, theirs in roles)
    return "other events or answers of the operation have the field" if is_common else ""


def _explain_value(roles: Sequence[tuple[_Shape, _Shape]], path: str) -> str:
    """Return why a field of the first recording cannot be added; empty if it can."""
    if path.endswith("[]") or not path or path == "body":
        return "it is no member of an object"
    samples: dict[str, JSON] = {}
    for mine, _ in roles:
        samples |= mine.samples.get(path, {})
    if len(samples) != 1:
        return "its value varies"
    parent = path.rpartition(".")[0]
    if any(path not in mine.types and "object" in mine.types.get(parent, ()) for mine, _ in roles):
        return "other events or answers of the operation lack the field"
    return ""


def _build_addition(comparison: RecordingComparison, operation: str, path: str) -> JSON:
    values = [value for mine, _ in _list_roles(comparison, operation) for value in mine.samples.get(path, {}).values()]
    parent, _, name = path.rpartition(".")
    return {"type": "extra_fields", "fields": {name: values[0]}, "at": parent.replace("[]", "") or "."}


def _build_rule(operation: str, vendor: str, faults: Mapping[str, list[JSON]]) -> dict[str, JSON]:
    _, path, *others = operation.split()
    when: dict[str, JSON] = {"vendor": vendor, "endpoint": re.sub(r"\{[^}]*\}", "*", path)}
    when["stream"] = "stream" in others
    dropped: list[JSON] = [{"type": "drop", "field": list(faults["drop"])}] if faults["drop"] else []
    return {"name": f"as recorded: {operation}", "when": when, "faults": [*dropped, *faults["add"]]}
