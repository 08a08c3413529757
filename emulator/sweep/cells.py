"""Cells of a sweep, which are what it tries one by one: a class of calls, a fault, and a position of the fault."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, Object
from emulator.faults import AnyFault, Fault
from emulator.sweep.calls import CallClass

_UNASKED = frozenset({ErrorKind.METHOD_NOT_ALLOWED, ErrorKind.PAYLOAD_TOO_LARGE})  # no call of a client's own kind
KINDS = tuple([str(kind) for kind in ErrorKind if kind not in _UNASKED])
"""Errors that a vendor may answer a sound request with."""
BEFORE_HEAD = "before the head"
Position = tuple[str, Object]
_MARKS: Sequence[Position] = (
    ("before finish", {"before": "finish"}),
    ("before usage", {"before": "usage"}),
)
_FIRST: Position = ("first token", {"before": "first_token"})
_SILENCE = "2s"  # less than the shortest time after which a command counts as hanging
_RATE = 2000  # bytes a second
_POSITIONED: Mapping[str, Object] = {
    "disconnect": {},
    "truncate": {},
    "late_error": {},
    "hang": {},
    "stall": {"for": _SILENCE},
    "drip": {"bytes_per_second": _RATE},
}
_WITH_KEYS: Sequence[tuple[str, str, Object]] = (
    ("split", "in bytes", {"writes": "byte"}),
    ("split", "inside characters", {"writes": "utf8"}),
    ("split", "across events", {"writes": "across"}),
    ("split", "in events", {"writes": "event"}),
    ("split", "in lines", {"writes": "line"}),
    ("status", "500", {"status": 500}),
    ("drop", "finish_reason", {"field": "finish_reason"}),
    ("drop", "usage", {"field": "usage"}),
    ("drop", "done", {"field": "done"}),
    ("drop", "id", {"field": "id"}),
)
_MATCHING = frozenset({"name", "when", "times"})
_BREAKAGES = ("truncated", "not_json", "wrong_type", "missing", "extra")


def _list_faults() -> Iterator[type[Fault]]:
    yield from get_args(get_args(AnyFault)[0])


def _name(fault: type[Fault]) -> str:
    name: str = get_args(fault.model_fields["type"].annotation)[0]
    return name


def _needs_nothing(fault: type[Fault]) -> bool:
    return not any(field.is_required() for name, field in fault.model_fields.items() if name != "type")


FAULTS = tuple([_name(fault) for fault in _list_faults()])
TOOL_FAULT = "bad_arguments"
"""Fault that needs a call of a tool."""
_APART = frozenset({*_POSITIONED, *(name for name, _, _ in _WITH_KEYS), "garbage", TOOL_FAULT})
_ANYWHERE = tuple([name for fault in _list_faults() if (name := _name(fault)) not in _APART and _needs_nothing(fault)])
STREAM_FAULTS = frozenset(
    [_name(f) for f in _list_faults() if _name(f) in _ANYWHERE and f.model_validate({"type": _name(f)}).needs_events]
)
"""Faults that need a stream: they leave whole answers as they are."""
UNNOTICEABLE = frozenset([_name(fault) for fault in _list_faults() if not fault.is_noticeable])
"""Faults that no client has to notice: it is not silent about what it cannot see."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault at one position of a call; ``outcome``: keys of its rule."""

    call: CallClass
    fault: str
    position: str
    outcome: Object

    @property
    def key(self) -> tuple[str, str, str]:
        return self.call.name, self.fault, self.position

    @property
    def name(self) -> str:
        return f"{self.fault} {self.position}".strip()

    @property
    def rule(self) -> Object:
        """Return the rule that causes the fault; what it does not change is as the rule has it that takes the call."""
        ordinal, taken = self.call.ordinal, self.call.rule
        times: Object = {"first": 1} if ordinal == 1 else {"nth": ordinal}
        before = taken.get("when")
        when: Object = {**(before if isinstance(before, dict) else {}), **self.call.when}
        rule: Object = {"name": self.name, **({"when": when} if when else {}), "times": times}
        if "error" in self.outcome:
            return {**rule, **self.outcome}
        earlier, added = taken.get("faults", []), self.outcome["faults"]
        faults = [*earlier, *added] if isinstance(earlier, list) and isinstance(added, list) else added
        return {**{key: value for key, value in taken.items() if key not in _MATCHING}, **rule, "faults": faults}

    def write_scenario(self, base: Object) -> str:
        """Return the shortest scenario that shows the fault again; ``base``: what all runs have besides.

        Of a test with a scenario of its own that stands in place of the base.
        """
        import yaml  # here, as coverage runs where it may be missing

        base = self.call.document or base
        rules = base.get("rules", [])
        others = rules if isinstance(rules, list) else []
        document: Object = {"version": 1, "name": "sweep", "clock": "instant", **base, "rules": [self.rule, *others]}
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def list_cells(call: CallClass, body: bytes, *, full: bool = False) -> Iterator[Cell]:
    """Yield every error, and every fault at every position, of a class of calls.

    Args:
        body: body of the answer without a fault.
        full: after every token, in place of the middle of the answer.
    """
    for kind in KINDS:
        yield Cell(call, kind, BEFORE_HEAD, {"error": {"kind": kind}})
    for name in ("disconnect", "hang"):
        yield _fault(call, name, BEFORE_HEAD, {})
    yield from _list_positioned(call, [*_list_positions(call, body, full=full)])
    for name, position, keys in _WITH_KEYS:
        yield _fault(call, name, position, keys)
    for name in _ANYWHERE:
        yield _fault(call, name, "", {})
    for how in _BREAKAGES if call.has_tool_call else ():
        yield _fault(call, TOOL_FAULT, how.replace("_", " "), {"how": how})


def _list_positioned(call: CallClass, positions: Sequence[Position]) -> Iterator[Cell]:
    nowhere: Sequence[Position] = [("", {})]
    for name, keys in _POSITIONED.items():
        is_early = name == "late_error" and not call.stream  # it stands in place of the whole answer
        for position, where in nowhere if is_early else positions:
            yield _fault(call, name, position, {**keys, **where})
    for position, where in (_FIRST, *_MARKS[:1]) if call.stream else nowhere:
        yield _fault(call, "garbage", position, where)


def _list_positions(call: CallClass, body: bytes, *, full: bool) -> Iterator[Position]:
    """Yield the positions in their order in a stream; in a whole body some may have another order."""
    tokens = call.sample.sent_tokens
    if not call.stream:
        yield "start of the body", {"after_bytes": 0}
    yield _FIRST
    if any(byte >= 0x80 for byte in body):
        yield "inside a character", {"before": "first_token", "inside": "utf8"}
    if full:
        for number in range(1, tokens):
            yield f"after token {number}", {"after_tokens": number}
    elif tokens > 1:
        yield "between tokens", {"after_tokens": tokens // 2}
    yield from _MARKS
    yield "before the end", {"before": "done"} if call.stream else {"after_bytes": max(0, len(body) - 1)}


def _fault(call: CallClass, name: str, position: str, keys: Object) -> Cell:
    return Cell(call, name, position, {"faults": [{"type": name, **keys}]})


def join_cells(name: str, cells: Sequence[Cell]) -> Cell:
    """Return a cell with the faults of several cells of a call at once."""
    faults: list[JSON] = []
    for cell in cells:
        found = cell.outcome["faults"]
        faults += [one for one in found if one not in faults] if isinstance(found, list) else []
    return Cell(cells[0].call, f"{name} at once", "", {"faults": faults})
