"""Who a rule turns to for the schemas below its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emulator.core.json import JSON
from emulator.engine.budget import Budget
from emulator.engine.json_schema.resolve import Node


class Judge(Protocol):
    """Tells, within a budget, whether values are instances.

    Fields:
        assert_formats: a string that is not of its ``format`` is not valid; unknown formats never matter.
    """

    budget: Budget
    assert_formats: bool

    def valid(self, node: Node, value: JSON) -> bool:
        """Whether ``value`` is an instance.

        Raises:
            Unsatisfiable: finding out goes beyond the bound, or a reference leads nowhere.
        """

    def valid_at(self, node: Node, value: JSON) -> bool:
        """The same for the target of a reference, which many may lead to."""


Rule = Callable[[Judge, Node, JSON, JSON], bool]
"""Whether a value keeps to a keyword: takes the judge, the schema, what the keyword has there, and the value."""
