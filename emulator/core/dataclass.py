"""Dataclass decorator that type checkers treat as frozen and that creates objects at the cost of an unfrozen one.

``frozen=True`` costs a microsecond per object at run time, and a request creates a dozen. ``dataclass`` also compiles
each method of each class anew, for which the server's start took a seventh longer: here only the constructor is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:

    def fast_dataclass(
        *, frozen: bool = False, eq: bool = True, unsafe_hash: bool = False, **options: Any
    ) -> Callable[[type[T]], type[T]]:
        """Return ``dataclass`` without the freezing; a frozen class that compares by value is hashable."""

        def decorate(cls: type[T]) -> type[T]:
            own = {*vars(cls)}
            cls.__doc__ = cls.__doc__ or cls.__name__  # else ``dataclass`` inspects the constructor for it
            made = dataclass(eq=False, repr=False, **options)(cls)
            methods = {"__repr__": _format, **(_compare(made, frozen or unsafe_hash) if eq else {})}
            for name, method in methods.items():
                if name not in own:
                    setattr(made, name, method)
            return made

        return decorate


@recursive_repr("...")
def _format(self: object) -> str:
    all_fields = fields(self)  # type: ignore[arg-type]  # the method of a dataclass
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in all_fields if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _compare(cls: type, is_hashable: bool) -> Mapping[str, Callable[..., object] | None]:
    """Return the methods that compare objects by the values of their fields."""
    names = [field.name for field in fields(cls) if field.compare]

    def read_few(each: object) -> tuple[object, ...]:
        return tuple(getattr(each, name) for name in names)

    read: Callable[[object], object] = attrgetter(*names) if len(names) > 1 else read_few  # a tuple in each case

    def is_equal(self: object, other: object) -> bool:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": is_equal, "__hash__": (lambda self: hash(read(self))) if is_hashable else None}


__all__ = ["fast_dataclass"]
