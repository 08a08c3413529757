"""A dataclass that type checkers treat as frozen.

At run time it can be assigned to: ``frozen=True`` costs a microsecond for every object, and a request makes a dozen.
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
