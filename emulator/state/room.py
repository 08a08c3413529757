"""How much a store keeps at most."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """Bounds of one world; what was used longest ago goes first.

    Fields:
        counters: of all sessions together; one that has more than its part of them forgets its own.
        accounts: of one session: who asks is up to clients.
        documents: bytes of all sessions' together.
        sessions: that a shared store remembers; each process bounds its own.
    """

    counters: int = 50_000
    accounts: int = 20_000
    documents: int = 32 * 1024**2
    sessions: int = 20_000


USUAL = Room()
