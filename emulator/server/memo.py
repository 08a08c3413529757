"""Requests that came before: an equal one is read the same way, so nothing is read twice."""

from collections.abc import Hashable
from dataclasses import dataclass

from emulator.core.tally import keep_tally
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest

_MOST = 512  # requests
_LARGEST = 8192  # bytes of a body
_TALLY = keep_tally("calls")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What was found out about a request when it came before."""

    identity: bytes
    call: Call


class Memo:
    """The requests of one vendor that came more than once; the oldest is forgotten first.

    ``headers``: those that have a say in how a request is read.
    """

    def __init__(self, headers: tuple[str, ...]) -> None:
        self._headers = headers
        self._known: dict[Hashable, Known] = {}

    def place(self, wire: WireRequest) -> Hashable:
        """All of a request that counts here, but its body and who asks."""
        query = frozenset(wire.query.items()) if wire.query else None
        return (wire.method, wire.path, query, *[wire.headers.get(name) for name in self._headers])

    def find(self, wire: WireRequest, place: Hashable = None) -> Known | None:
        """What is known of an equal request; ``place``, if it was found out before."""
        known = None
        if self._known and len(wire.body) <= _LARGEST:
            known = self._known.get((place or self.place(wire), wire.body, wire.principal))
        if known is None:
            _TALLY.misses += 1
        else:
            _TALLY.hits += 1
        return known

    def remember(self, wire: WireRequest, identity: bytes, call: Call) -> None:
        """Keep a call for equal requests to come, if it is one to keep."""
        if call.repeatable and len(wire.body) <= _LARGEST:
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[self.place(wire), wire.body, wire.principal] = Known(identity, call)
