"""What is read of a control request beside the event loop, because it may take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from emulator.core.work import aside

_QUICK = 16 * 1024  # bytes that are read within some milliseconds, whatever they say
_DEAR = (b"regex", b"&", b"\\")  # expressions, anchors of aliases, and escapes, which may spell either
P = ParamSpec("P")
T = TypeVar("T")


async def at_ease(body: bytes, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what a body asks for."""
    long = len(body) > _QUICK or any(sign in body for sign in _DEAR)
    return await aside(work, *args, **kwargs) if long else work(*args, **kwargs)
