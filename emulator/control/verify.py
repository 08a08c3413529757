"""``POST /_emulator/verify``: check that the journal has the requests that a test expects, now or within a timeout."""

import asyncio
from collections.abc import Sequence

from emulator.control.assertion_messages import RequestsMade, describe_count, describe_order
from emulator.control.call_pattern import Pattern
from emulator.control.models import CallCount, Calls, Verified, Verify
from emulator.control.watcher import JournalWatcher
from emulator.core.errors import ProblemError
from emulator.core.executor import cooperative, run_in_thread
from emulator.core.units import parse_duration
from emulator.journal.entry import JournalEntry
from emulator.runtime.runtime import Runtime

_MAX_UNPAUSED = 1000  # records; a larger journal is read again at most every _PAUSE
_PAUSE = 0.05  # real seconds


class Verification:
    """One expectation, checked against the journal."""

    def __init__(self, runtime: Runtime, expected: Verify, session: str | None) -> None:
        self._runtime = runtime
        self._session = session
        self._count = expected.times or CallCount()
        self._single = expected.order is None
        wanted = [expected.calls or Calls()] if expected.order is None else expected.order
        self._patterns = [Pattern(calls) for calls in wanted]
        self._within = parse_duration(expected.within) if expected.within else 0.0

    async def run(self) -> Verified:
        """Return the expected requests, once they are in the journal.

        Raises:
            ProblemError: 406, with what was found instead.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._within
        with JournalWatcher(self._runtime) as watcher:
            while True:
                entries = await self._entries()
                found = await self._find(entries)
                left = 0.0 if watcher.over else end - loop.time()
                if self._settled(found, left):
                    break
                await watcher.wait(left)
                if len(entries) > _MAX_UNPAUSED:
                    await asyncio.sleep(_PAUSE)
        if self._holds(found):
            ids = [entry.id for entry in found]
            return Verified(count=len(found), ids=ids, timing_invalid=self._runtime.timing.invalid)
        raise ProblemError(406, "Not as expected", await self._describe(entries, found))

    async def _entries(self) -> list[JournalEntry]:
        """Return the entries of the session, in the order of their requests."""
        entries = [call.load() async for call in cooperative(self._runtime.journal.list_calls(self._session))]
        return sorted(entries, key=lambda entry: entry.start_seq)

    async def _find(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the entries that match the pattern; for an order, those of its first steps."""
        found: list[JournalEntry] = []
        async for entry in cooperative(entries):
            pattern = self._patterns[0] if self._single else self._patterns[len(found)]
            await _count(pattern, entry)
            if pattern.holds(entry):
                found.append(entry)
                if not self._single and len(found) == len(self._patterns):
                    break
        return found

    def _holds(self, found: Sequence[JournalEntry]) -> bool:
        if not self._single:
            return len(found) == len(self._patterns)
        most = self._count.most
        return self._count.least <= len(found) and (most is None or len(found) <= most)

    def _settled(self, found: Sequence[JournalEntry], left: float) -> bool:
        """Return whether waiting is over: the outcome is final, or no time is left.

        An expectation of no request is final only at the end.
        """
        most = self._count.most
        if left <= 0 or (self._single and most is not None and len(found) > most):
            return True
        return self._holds(found) and not (self._single and most == 0)

    async def _describe(self, entries: Sequence[JournalEntry], found: Sequence[JournalEntry]) -> str:
        pattern = self._patterns[0 if self._single else len(found)]
        async for entry in cooperative(entries):  # fill the cache of the pattern before the message is built
            await _count(pattern, entry)
        made = RequestsMade(self._session, entries, self._count_by_session() if not entries else {})
        if self._single:
            return await run_in_thread(describe_count, pattern, self._count, found, made, self._within)
        return await run_in_thread(describe_order, self._patterns, found, made, self._within)

    def _count_by_session(self) -> dict[str, int]:
        """Count the requests of each session."""
        counts: dict[str, int] = {}
        for call in self._runtime.journal.list_calls():
            counts[call.session] = counts.get(call.session, 0) + 1
        return counts


async def _count(pattern: Pattern, entry: JournalEntry) -> None:
    """Match a request and cache the result in the pattern; slow searches run in a thread."""
    if pattern.takes_long(entry):
        await run_in_thread(pattern.count, entry)
    else:
        pattern.count(entry)
