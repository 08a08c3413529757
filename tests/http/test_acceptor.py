"""Acceptor: all pending connections per loop iteration, on both loops."""

import asyncio
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from emulator.http.listeners import Acceptor, Listeners
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.serve.server import run
from tests.handler.toy import TOY
from tests.serve.test_server import LOOPS

_CLIENTS = 300
_TURNS = 50  # of the loop: far fewer than there are clients


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as sock:
        yield sock


class Guests:
    """Connections that were accepted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> asyncio.Protocol:
        self.count += 1
        return asyncio.Protocol()


async def turn(times: int = _TURNS) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def test_all_pending_connections_are_accepted_at_once(listening: socket.socket) -> None:
    guests = Guests()
    door = Acceptor([listening], guests)
    clients = [socket.create_connection(listening.getsockname()) for _ in range(20)]
    door.on_readable()
    door.on_readable()
    await turn()
    assert guests.count == 20
    door.on_readable()
    await turn()
    assert guests.count == 20
    door.close()
    for client in clients:
        client.close()
    await turn()


async def test_closed_acceptor_accepts_no_connection(listening: socket.socket) -> None:
    guests = Guests()
    door = Acceptor([listening], guests)
    with socket.create_connection(listening.getsockname()):
        door.on_readable()
        door.close()
        await turn()
    assert guests.count == 0
    address = listening.getsockname()
    listening.close()
    socket.create_server(address).close()  # nothing holds the port


@pytest.mark.parametrize("uvloop", LOOPS)
def test_many_connections_are_accepted_within_few_loop_turns(uvloop: bool) -> None:
    async def count() -> int:
        built = create_application(load_text("version: 1\nname: door\n"), vendors={TOY.name: TOY})
        listeners = Listeners(built.runtime, built.control)
        await listeners.open("127.0.0.1", {"front": 0})
        address = urlsplit(listeners.urls["front"])
        clients = [socket.create_connection((address.hostname, address.port)) for _ in range(_CLIENTS)]
        await turn()
        found = len(listeners.clients())
        for client in clients:
            client.close()
        await listeners.close()
        return found

    assert run(count(), uvloop=uvloop) == _CLIENTS
