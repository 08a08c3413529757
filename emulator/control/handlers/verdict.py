"""Handlers of ``/_emulator/verdict`` and ``/usage``: the rules that a session's client broke, the tokens it spent."""

from emulator.control import models
from emulator.runtime.runtime import Runtime


class VerdictHandlers:
    """Handlers of verdicts; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def get_verdict(self, query: models.SessionQuery, body: bytes, name: str) -> models.Verdict:
        from emulator.control.verdict import find_verdict  # not needed before somebody asks

        return await find_verdict(self._runtime, query.session)

    async def get_usage(self, query: models.UsageQuery, body: bytes, name: str) -> models.Usage:
        from emulator.control.verdict import find_usage

        return await find_usage(self._runtime, None if query.all == "true" else query.session)
