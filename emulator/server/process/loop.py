"""The event loop under the server: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import TypeVar

T = TypeVar("T")


def has_uvloop() -> bool:
    """The extra ``speed`` is installed."""
    return find_spec("uvloop") is not None


def run(main: Coroutine[object, object, T], *, uvloop: bool | None = None) -> T:
    """Run to the end; ``uvloop``: on which loop, absent: on the faster one that there is."""
    with asyncio.Runner(loop_factory=_factory(has_uvloop() if uvloop is None else uvloop)) as runner:
        return runner.run(main)


def _factory(uvloop: bool) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if not uvloop:
        return None
    from uvloop import new_event_loop

    return new_event_loop
