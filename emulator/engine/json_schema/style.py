"""How the same schema is filled in different ways."""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["typical", "minimal", "boundary", "adversarial", "invalid"]


@dataclass(frozen=True, slots=True)
class Style:
    """What one mode prefers where the schema leaves it open.

    Fields:
        optional: share of optional properties that are present.
        deepest: levels below which only what is required is present.
        members: values after which only what is required is present.
        items: most items beyond the fewest.
        hints: ``examples`` and ``default`` of the schema are used.
        extreme: numbers, lengths and counts at one of their bounds.
        hostile: texts that trip careless readers.
    """

    optional: float = 0.0
    deepest: int = 0
    members: int = 0
    items: int = 0
    hints: bool = False
    extreme: bool = False
    hostile: bool = False


STYLES: dict[str, Style] = {
    "typical": Style(optional=0.75, deepest=4, members=40, items=2, hints=True),
    "minimal": Style(),
    "boundary": Style(optional=0.5, deepest=4, members=60, items=3, extreme=True),
    "adversarial": Style(optional=1.0, deepest=4, members=80, items=3, hostile=True),
}
