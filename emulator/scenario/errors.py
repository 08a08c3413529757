"""A scenario that cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.scenario.loaded import LoadedScenario
from emulator.scenario.mistakes import Row


class ScenarioError(Exception):
    """Everything that is wrong with a scenario; its text has one line per row.

    ``parts``: what can be read of it all the same, so that others can add what they find wrong with theirs.
    """

    def __init__(self, rows: Iterable[Row], parts: Iterable[LoadedScenario] = ()) -> None:
        self.rows = tuple(rows)
        self.parts = tuple(parts)
        super().__init__("\n".join(map(str, self.rows)))
