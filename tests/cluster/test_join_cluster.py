"""Joining and leaving a cluster."""

import asyncio
import socket
from pathlib import Path
from typing import cast

import pytest

from emulator.cluster.replica import end_tasks, join_cluster
from emulator.core.storage import StoreLostError
from emulator.journal.entry import JournalEntry
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.storage.ipc import HUB_SOCKET, serve_hub
from tests.handler.toy import TOY


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


class Broken:
    """Record that no journal can encode."""

    id = session = ""

    def load(self) -> JournalEntry:
        raise RuntimeError("a bug")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no such sockets")
async def test_replica_leaves_though_its_last_records_fail(tmp_path: Path) -> None:
    async def join_and_leave() -> None:
        async with join_cluster(runtime):
            runtime.journal.add(cast(JournalEntry, Broken()))

    async with asyncio.timeout(20), serve_hub(tmp_path / HUB_SOCKET):
        url = f"hub://{tmp_path / HUB_SOCKET}"
        runtime = create_application(load_text("version: 1"), state_url=url, vendors={"toy": TOY}).runtime
        with pytest.raises(RuntimeError, match="a bug"):
            await join_and_leave()
        assert runtime.store.bus is not None
        with pytest.raises(StoreLostError):  # the connection is closed, and after the tasks
            await runtime.store.bus.read(0)
