"""What a session's own scenario takes of memory, and whether there is room for it."""

from __future__ import annotations

from typing import Protocol

from emulator.control.problem import ProblemError
from emulator.core.json import JSON
from emulator.scenario.loaded import LoadedScenario

_LEAST = 50 * 1024  # bytes of a world whose scenario says nothing
_VALUE = 1536  # bytes of one value of a file once it is a rule and compiled; measured: 600 to 1,900
_LETTER = 2  # bytes of one of a text, as read and as joined


class Crowded(Protocol):
    """The sessions that exist."""

    def explain_full(self, name: str, weight: int = 0) -> str | None: ...


def weigh(loaded: LoadedScenario) -> int:
    """Return the bytes of a scenario at work, roughly."""
    values, letters = _count(loaded.data)
    return _LEAST + _VALUE * values + _LETTER * (letters + sum(map(len, loaded.answers.texts.values())))


def _count(data: JSON) -> tuple[int, int]:
    """Return how many values there are, and the length of all texts."""
    values = letters = 0
    todo: list[JSON] = [data]
    while todo:
        value = todo.pop()
        values += 1
        if isinstance(value, str):
            letters += len(value)
        elif isinstance(value, dict):
            todo += value.values()
            letters += sum(map(len, value))
        elif isinstance(value, list):
            todo += value
    return values, letters


def admit(sessions: Crowded, session: str, weight: int = 0) -> None:
    """Refuse something of its own to a session where there is no room; ``weight``: of its scenario.

    Raises:
        ProblemError: 429, with the reason.
    """
    reason = sessions.explain_full(session, weight) if session else None
    if reason is not None:
        raise ProblemError(
            429, "No room for a session", f"{reason}; end some that are done, or start another emulator."
        )
