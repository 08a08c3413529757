"""The default store: one process, nothing shared."""

from collections import defaultdict

_MOST_COUNTERS = 200_000


class MemoryState:
    """Counters in a dictionary per session; the oldest are forgotten past a bound."""

    def __init__(self, most: int = _MOST_COUNTERS) -> None:
        self._most = most
        self._sessions: dict[str, dict[tuple[str, bytes], int]] = defaultdict(dict)

    async def count(self, session: str, scope: str, key: bytes) -> int:
        counters = self._sessions[session]
        before = counters.get((scope, key), 0)
        counters[scope, key] = before + 1
        if len(counters) > self._most:
            del counters[next(iter(counters))]
        return before

    async def reset(self, session: str | None = None) -> None:
        if session is None:
            self._sessions.clear()
        else:
            self._sessions.pop(session, None)
