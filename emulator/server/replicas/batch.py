"""Calls on their way to the journal of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.control.entry import Attempts, Entry, Recorded
from emulator.core.json import Object, dump_text
from emulator.core.seed import derive
from emulator.server.replicas.pages import AMENDED, write_entry
from emulator.server.short.slip import Slip
from emulator.server.told.trace import Trace


class Pending(Attempts):
    """Of a call that has no place yet among those of all."""

    def __init__(self, identity: bytes) -> None:
        super().__init__(1, None)
        self.identity = identity


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Calls of one session that are entered together, as often as it takes: the store may have them without saying so.

    Fields:
        name: no other of this process has it.
        era: of the journal when they came.
        most: calls that the journal keeps.
        before: what may be amended of each, as it is in ``texts``.
    """

    name: str
    session: str
    era: int
    most: int
    calls: Sequence[Recorded]
    texts: Sequence[bytes]
    before: Sequence[Object]


def write_call(call: Recorded, head: Object, seed: int) -> bytes:
    """What all know of a call by its first line, and the call."""
    entry = call.read()
    identity = entry.attempts.identity if isinstance(entry.attempts, Pending) else b""
    attempt = call.attempt if isinstance(call, Trace | Slip) else -1
    line: Object = {**head, "vendor": entry.vendor or "", "id": entry.id, "identity": identity.hex()}
    line["number"] = attempt + 1
    line["retry_of"] = derive(seed, "answer", identity, attempt - 1).hex() if attempt > 0 else None
    try:
        return f"{dump_text(line)}\n{write_entry(entry, identity)}".encode()
    except ValueError:  # a header that is no text
        entry.forget()
        return f"{dump_text(line)}\n{write_entry(entry, identity)}".encode()


def read_amended(entry: Entry) -> Object:
    """What may become known of a call after it was told."""
    return {name: getattr(entry, name) for name in AMENDED}
