"""Taking part in what processes share that have the same store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from emulator.core.state import Store
from emulator.server.runtime import Runtime

_TEND = 3.0  # real seconds between two signs of life


@asynccontextmanager
async def joined(runtime: Runtime) -> AsyncIterator[None]:
    """Meanwhile the scenario began when it began for the others, and they know that this process lives.

    Raises:
        StoreLostError: the store cannot be reached.
    """
    store, active = runtime.store, runtime.active
    active.emulator.started = await store.begin(active.world, active.emulator.started)
    await store.tend()
    task = asyncio.create_task(_tend(store))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()


async def _tend(store: Store) -> None:
    while True:
        await asyncio.sleep(_TEND)
        await store.tend()
