"""Run long work in a worker thread, one piece after another, so that the event loop stays free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

_TURN = 0.01  # real seconds of work before others have their turn
_AT_ONCE = 100
P = ParamSpec("P")
T = TypeVar("T")


async def cooperative(items: Iterable[T]) -> AsyncIterator[T]:
    """One after the other; others have their turn after a time, and after so many."""
    now = asyncio.get_running_loop().time
    ends = now() + _TURN
    for number, item in enumerate(items, 1):
        yield item
        if number % _AT_ONCE == 0 or now() > ends:
            await asyncio.sleep(0)
            ends = now() + _TURN


@cache
def _worker() -> ThreadPoolExecutor:
    """One thread: what is long keeps its order, and never takes more than its share of the processor."""
    return ThreadPoolExecutor(1, thread_name_prefix="emulator-work")


async def run_in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function gives that runs on the thread for long work; the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(_worker(), partial(work, *args, **kwargs))


_QUICK = 16 * 1024  # bytes that are read within some milliseconds, whatever they say
_DEAR = (b"regex", b"&", b"\\")  # expressions, anchors of aliases, and escapes, which may spell either


async def run_parsing(body: bytes, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what a body asks for."""
    long = len(body) > _QUICK or any(sign in body for sign in _DEAR)
    return await run_in_thread(work, *args, **kwargs) if long else work(*args, **kwargs)
