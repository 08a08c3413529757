"""Work that may take long is done beside the event loop, one piece after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _worker() -> ThreadPoolExecutor:
    """One thread: what is long keeps its order, and never takes more than its share of the processor."""
    return ThreadPoolExecutor(1, thread_name_prefix="emulator-work")


async def aside(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function gives that runs on the thread for long work; the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(_worker(), partial(work, *args, **kwargs))
