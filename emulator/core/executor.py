"""Run long work in a single worker thread, or in slices, so that the event loop stays responsive."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

_SLICE = 0.01  # real seconds of work between two yields to the event loop
_SLICE_ITEMS = 100
P = ParamSpec("P")
T = TypeVar("T")


async def cooperative(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate over items, and yield to the event loop every 10 ms or 100 items."""
    now = asyncio.get_running_loop().time
    ends = now() + _SLICE
    for number, item in enumerate(items, 1):
        yield item
        if number % _SLICE_ITEMS == 0 or now() > ends:
            await asyncio.sleep(0)
            ends = now() + _SLICE


@cache
def _worker() -> ThreadPoolExecutor:
    """Return the shared executor; one thread keeps the order of work and limits its share of the CPU."""
    return ThreadPoolExecutor(1, thread_name_prefix="emulator-work")


async def run_in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in the worker thread and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_worker(), partial(work, *args, **kwargs))


_MAX_INLINE = 16 * 1024  # bytes of YAML or JSON that parse within a few milliseconds
_EXPENSIVE = (b"regex", b"&", b"\\")  # regular expressions, YAML anchors, and escapes that may spell either


async def run_parsing(body: bytes, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that parses ``body``, in the worker thread if the body is long or expensive to parse."""
    is_long = len(body) > _MAX_INLINE or any(sign in body for sign in _EXPENSIVE)
    return await run_in_thread(work, *args, **kwargs) if is_long else work(*args, **kwargs)
