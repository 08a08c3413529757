"""What replicas must agree on."""

from typing import Protocol


class State(Protocol):
    """Counters shared by every process that answers as one. Every method is atomic."""

    async def count(self, session: str, scope: str, key: bytes) -> int:
        """Add one to a counter and return what it was before."""

    async def reset(self, session: str | None = None) -> None:
        """Forget one session's counters, or all."""
