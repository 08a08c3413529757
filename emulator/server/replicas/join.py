"""Taking part in what processes share that have the same store."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from emulator.core.state import ApartError, Store, StoreLostError
from emulator.server.replicas.replica import Replica
from emulator.server.replicas.tail import SharedJournal
from emulator.server.world.runtime import Runtime

_TEND = 3.0  # real seconds between two signs of life
_AGAIN = 0.1  # real seconds until a task that goes on is cancelled once more


@asynccontextmanager
async def joined(runtime: Runtime, *, is_patient: bool = False) -> AsyncIterator[None]:
    """Meanwhile the scenario began when it began for the others, and they know that this process lives.

    Args:
        is_patient: a store that is away is joined once it is there.

    Raises:
        StoreLostError: the store cannot be reached, and nobody is patient.
        ApartError: its clock is far from this machine's.
    """
    store = runtime.store
    tasks = []
    if store.commons is not None and isinstance(runtime.journal, SharedJournal):
        runtime.steering = replica = Replica(runtime, store.commons, runtime.journal)
        await _enter(replica, is_patient)
        work = (_tend(store, replica), replica.run(), runtime.journal.run())
        tasks = [asyncio.create_task(each) for each in work]
        await store.tend()
    else:
        await runtime.begin()
    try:
        yield
    finally:
        if isinstance(runtime.journal, SharedJournal):
            with suppress(StoreLostError):
                await runtime.journal.send()
        await end_tasks(tasks)
        await store.close()


async def _enter(replica: Replica, is_patient: bool) -> None:
    try:
        await replica.enter()
    except ApartError:
        raise
    except StoreLostError:
        if not is_patient:
            raise


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until all are over.

    Once is not enough: before Python 3.12 :func:`asyncio.wait_for`, with which the store's client writes, loses a
    cancellation that comes as the write ends (python/cpython#86296).
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN)


async def _tend(store: Store, replica: Replica) -> None:
    while True:
        await asyncio.sleep(_TEND)
        await store.tend()
        with suppress(StoreLostError):
            await replica.forget_idle()
