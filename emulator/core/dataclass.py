"""Records: dataclasses that nobody changes once they are made.

The type checker holds everyone to that. At run time they are plain: freezing costs a microsecond for
every object, and a request makes a dozen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, **options: Any) -> Callable[[type[T]], type[T]]:
        """``dataclass`` without the freezing, and hashable all the same."""
        return dataclass(unsafe_hash=frozen and options.get("eq", True), **options)


__all__ = ["record"]
