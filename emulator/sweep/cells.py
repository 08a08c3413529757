"""Cells of a sweep: a class of calls, a fault, and a position of the fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from emulator.control.models import RequestDetail
from emulator.core.errors import ErrorKind
from emulator.core.json import JSON, Object, dump_text
from emulator.faults import AnyFault, Fault

_UNASKED = frozenset({ErrorKind.METHOD_NOT_ALLOWED, ErrorKind.PAYLOAD_TOO_LARGE})  # no call of a client's own kind
_ENDINGS = ("disconnect", "truncate", "late_error")
_POSITIONS: Sequence[tuple[str, Object]] = (
    ("first token", {"before": "first_token"}),
    ("inside a character", {"after_tokens": 1, "inside": "utf8"}),
    ("before finish", {"before": "finish"}),
    ("before usage", {"before": "usage"}),
    ("before the end", {"before": "done"}),
)
_OF_BODIES: Sequence[tuple[str, Object]] = (
    ("start of the body", {"after_bytes": 0}),
    ("half of the body", {"at": 0.5}),
)
_WITH_KEYS: Sequence[tuple[str, str, Object]] = (
    ("split", "inside characters", {"writes": "utf8"}),
    ("status", "500", {"status": 500}),
    ("drop", "finish_reason", {"field": "finish_reason"}),
    ("drop", "usage", {"field": "usage"}),
    ("drop", "done", {"field": "done"}),
)


def list_faults() -> Iterator[type[Fault]]:
    """Yield every fault."""
    yield from get_args(get_args(AnyFault)[0])


def _name(fault: type[Fault]) -> str:
    name: str = get_args(fault.model_fields["type"].annotation)[0]
    return name


def _needs_nothing(fault: type[Fault]) -> bool:
    return not any(field.is_required() for name, field in fault.model_fields.items() if name != "type")


_ANYWHERE = tuple([name for fault in list_faults() if (name := _name(fault)) not in _ENDINGS and _needs_nothing(fault)])
UNNOTICEABLE = frozenset([_name(fault) for fault in list_faults() if not fault.is_noticeable])
"""Faults that no client has to notice: it is not silent about what it cannot see."""


@dataclass(frozen=True, slots=True)
class CallClass:
    """Calls that are alike, and the first of them."""

    vendor: str
    operation: str
    stream: bool
    sample: RequestDetail

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.operation}{' stream' if self.stream else ''}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault at one position of the first call of a class; ``outcome``: keys of its rule."""

    call: CallClass
    fault: str
    position: str
    outcome: Object

    @property
    def key(self) -> tuple[str, str, str]:
        return self.call.name, self.fault, self.position

    @property
    def rule(self) -> Object:
        """Return the rule that causes the fault."""
        when: Object = {"vendor": self.call.vendor, "endpoint": self.call.sample.path, "stream": self.call.stream}
        return {"name": "sweep", "when": when, "times": {"first": 1}, **self.outcome}

    @property
    def scenario(self) -> str:
        """Return the shortest scenario that shows the fault again."""
        document: JSON = {"version": 1, "name": "sweep", "clock": "instant", "rules": [self.rule]}
        return dump_text(document)


def list_classes(calls: Sequence[RequestDetail]) -> list[CallClass]:
    """Return the classes of the calls to models, in the order of their first calls."""
    found: dict[tuple[str, str, bool], CallClass] = {}
    for call in calls:
        if call.vendor is not None and call.operation is not None and call.status < 400:
            key = call.vendor, call.operation, call.stream
            found.setdefault(key, CallClass(*key, call))
    return [*found.values()]


def list_cells(call: CallClass) -> Iterator[Cell]:
    """Yield every error, and every fault at every position, of a class of calls."""
    for kind in ErrorKind:
        if kind not in _UNASKED:
            yield Cell(call, str(kind), "before the head", {"error": {"kind": str(kind)}})
    yield _fault(call, "disconnect", "before the head", {})
    for name in _ENDINGS:
        for position, keys in _POSITIONS if call.stream else _OF_BODIES:
            if call.stream or name != "late_error":
                yield _fault(call, name, position, keys)
    for name in _ANYWHERE:
        yield _fault(call, name, "", {})
    for name, position, keys in _WITH_KEYS:
        yield _fault(call, name, position, keys)


def _fault(call: CallClass, name: str, position: str, keys: Object) -> Cell:
    return Cell(call, name, position, {"faults": [{"type": name, **keys}]})
