"""Connection of a worker to the hub, whose process may be killed at any moment."""

import asyncio
import socket
from pathlib import Path

import pytest

from emulator.core.storage import StoreLostError
from emulator.storage.ipc import _MIN_ORDER, HUB_SOCKET, HubError, InMemoryBus, IpcBus, serve_hub

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the system has no such sockets")


async def test_connection_reset_ends_open_question(tmp_path: Path) -> None:
    """A hub that is killed with unread questions resets the connection instead of closing it."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as hub:
        hub.setblocking(False)
        hub.bind(str(tmp_path / HUB_SOCKET))
        hub.listen()
        bus = IpcBus(str(tmp_path / HUB_SOCKET))
        question = asyncio.create_task(bus.read(0))
        connection, _ = await loop.sock_accept(hub)
        await loop.sock_recv(connection, 1)  # the rest of the question stays unread
        connection.close()
        with pytest.raises(StoreLostError):
            await question
        with pytest.raises(StoreLostError):
            await bus.read(0)
    await bus.close()


async def test_exception_in_hub_is_answered_as_bug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with serve_hub(tmp_path / HUB_SOCKET), asyncio.timeout(20):
        bus = IpcBus(str(tmp_path / HUB_SOCKET))
        with pytest.raises(HubError, match="no such verb"):
            await bus._ask("no such verb")
        with pytest.raises(HubError, match="not an integer"):
            await bus._ask("read", "all")
        assert await bus.read(0) == []
        await bus.close()
    assert [record.message for record in caplog.records] == ["bug in the emulator: a question of a worker"] * 2


async def test_replica_that_joins_again_hears_what_comes_later() -> None:
    bus = InMemoryBus()
    bus.join("one")
    bus.post("before")
    hearing = asyncio.ensure_future(bus.receive("one"))
    await hearing
    hearing = asyncio.ensure_future(bus.receive("one"))
    await asyncio.sleep(0)
    bus.join("one")
    bus.post("after")
    async with asyncio.timeout(20):
        heard = await hearing
    assert heard[1] == "after"


async def test_replica_that_joins_again_hears_nothing_of_before() -> None:
    bus = InMemoryBus()
    bus.join("one")
    bus.post("before")
    bus.join("one")
    bus.post("after")
    assert (await bus.receive("one"))[1] == "after"


def test_order_of_dropped_records_is_forgotten() -> None:
    bus = InMemoryBus()
    for number in range(6_000):
        bus.append(f"s{number % 3}", [f"{number} {place}" for place in range(10)], most=5)
    assert len(bus._order) <= _MIN_ORDER + 10
    assert [text for _, text in bus.read(0)] == [
        f"{number} {place}" for number in (5997, 5998, 5999) for place in range(5, 10)
    ]
