"""Joining and leaving a cluster."""

import asyncio

from emulator.cluster.replica import end_tasks


async def test_end_tasks_cancels_again_after_swallowed_cancellation() -> None:
    lost = 0

    async def deaf() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost += 1
                if lost == 2:
                    raise

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(asyncio.sleep(60))]
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await end_tasks(tasks)
    assert lost == 2
    assert all(task.cancelled() for task in tasks)
