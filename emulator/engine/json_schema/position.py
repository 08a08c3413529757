"""Where in an instance a value goes, and who makes it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from emulator.core.json import JSON
from emulator.core.seed import derive
from emulator.engine.budget import Budget
from emulator.engine.json_schema.check import Checker
from emulator.engine.json_schema.resolve import Node
from emulator.engine.json_schema.style import Style


class Position(NamedTuple):
    """Where in the instance a value goes.

    Fields:
        key: for its draws.
        depth: levels above it.
        name: of the property it is, or is in.
        spare: only what is required: what is optional was tried before, and in vain.
    """

    key: bytes
    depth: int = 0
    name: str = ""
    spare: bool = False

    def below(self, step: str | int, name: str) -> Position:
        return Position(derive(self.key, step), self.depth + 1, name, self.spare)


class Solver(Protocol):
    """Makes the values below an array or an object, which are asked for one by one."""

    root: Node
    style: Style
    budget: Budget
    checker: Checker

    def frugal(self, place: Position) -> bool:
        """Only what is required from here on."""

    def solve(self, nodes: tuple[Node, ...], place: Position) -> JSON:
        """A value that is an instance of every node.

        Raises:
            Unsatisfiable: there is none.
            Exhausted: none was found within the bound.
        """
