"""Dataclass decorator that type checkers treat as frozen and that creates objects at the cost of an unfrozen one.

``frozen=True`` costs a microsecond per object at run time, and a request creates a dozen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:

    def fast_dataclass(*, frozen: bool, **options: Any) -> Callable[[type[T]], type[T]]:
        """Return ``dataclass`` without the freezing; the class stays hashable."""
        return dataclass(unsafe_hash=frozen and options.get("eq", True), **options)


__all__ = ["fast_dataclass"]
