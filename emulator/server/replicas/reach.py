"""Waiting for a store that is away when a process starts."""

import asyncio
import logging
import time

from emulator.core.state import ApartError, StoreLostError
from emulator.server.world.runtime import Runtime

log = logging.getLogger("emulator")
_AGAIN = 0.25  # real seconds until it is asked once more


async def await_store(runtime: Runtime, address: str, wait: float) -> None:
    """Return once the store answers.

    Args:
        address: what it is called before people.
        wait: real seconds that it gets.

    Raises:
        StoreLostError: it has not answered by then.
        ApartError: it answers, and its clock is far from this machine's.
    """
    ends = time.monotonic() + wait
    is_known = False
    while True:
        try:
            await runtime.begin()
            return
        except ApartError:
            raise
        except StoreLostError as error:
            await runtime.store.let_go()
            left = ends - time.monotonic()
            if left <= 0:
                raise StoreLostError(f"{address} has not answered within {wait:g} s: {error}") from None
            if not is_known:
                log.warning("waiting up to %g s for the store %s: %s", wait, address, error)
            is_known = True
        await asyncio.sleep(min(_AGAIN, left))
