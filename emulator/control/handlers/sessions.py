"""Handlers of ``/_emulator/sessions``: list sessions, end one, open a port that serves a vendor to one."""

from collections.abc import Iterable

from emulator.control import models
from emulator.core.errors import ProblemError
from emulator.core.json import as_array
from emulator.runtime.runtime import Runtime


class SessionHandlers:
    """Handlers of sessions; each takes the query, the body and the name at the end of the path."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def list_sessions(self, query: models.NoQuery, body: bytes, name: str) -> models.SessionList:
        found: dict[str, models.SessionState] = {}
        for rows in (await self._runtime.controller.gather("sessions")).values():
            for state in map(models.SessionState.model_validate, as_array(rows)):
                found[state.name] = _join(found.get(state.name), state)
        sessions = sorted(found.values(), key=lambda state: -state.idle_seconds)
        return models.SessionList(sessions=sessions)

    async def end_session(self, query: models.NoQuery, body: bytes, name: str) -> models.SessionEnded:
        if not await self._runtime.controller.end_session(name):
            raise ProblemError(404, "No such session", f"There is no session {name!r}.")
        return models.SessionEnded(name=name)

    async def listen(self, query: models.NoQuery, body: models.Listen, name: str) -> models.Listening:
        try:
            models.check_session(name)
        except ValueError as error:
            raise ProblemError(400, "Bad session", f"{error}, not {name!r}.") from None
        check_vendor(body.vendor, self._runtime.find(name).apps)
        self._runtime.for_session(name)  # creates the session
        return models.Listening(url=await self._runtime.listen(name, body.vendor))


def _join(one: models.SessionState | None, other: models.SessionState) -> models.SessionState:
    """Merge the state of one session in two worker processes."""
    if one is None:
        return other
    idle = min(one.idle_seconds, other.idle_seconds)
    return other.model_copy(update={"calls": one.calls + other.calls, "idle_seconds": idle})


def check_vendor(name: str, served: Iterable[str]) -> None:
    """Raise the problem 404 for a vendor that is not served."""
    known = list(served)
    if name not in known:
        raise ProblemError(404, "No such vendor", f"No vendor {name!r} is served; there are {', '.join(known)}.")
