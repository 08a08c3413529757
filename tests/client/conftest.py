"""Fixtures: an emulator in this process, and both clients."""

import asyncio
import inspect
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator

import pytest

from emulator import start
from emulator.client import AsyncEmulatorClient, EmulatorClient


@pytest.fixture(scope="session")
def server() -> Iterator[EmulatorClient]:
    """Emulator shared by tests with sessions."""
    with start() as client:
        yield client


@pytest.fixture
def session(server: EmulatorClient) -> Iterator[EmulatorClient]:
    """Client bound to a session of this test."""
    with server.session(f"test-{uuid.uuid4()}") as client:
        yield client


class Driver:
    """Asynchronous client with the interface of the synchronous one."""

    def __init__(self, client: AsyncEmulatorClient, run: Callable[[Coroutine[None, None, object]], object]) -> None:
        self._client = client
        self._run = run

    def __getattr__(self, name: str) -> object:
        method = getattr(self._client, name)
        if not inspect.iscoroutinefunction(method):
            return method
        return lambda *args, **kwargs: self._run(method(*args, **kwargs))


@pytest.fixture(params=["blocking", "awaiting"])
def client(request: pytest.FixtureRequest, session: EmulatorClient) -> Iterator[EmulatorClient]:
    """Each client in turn, bound to a session of this test."""
    if request.param == "blocking":
        yield session
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(todo: Coroutine[None, None, object]) -> object:
        return asyncio.run_coroutine_threadsafe(todo, loop).result(30)

    awaiting = AsyncEmulatorClient(session.front, session=session.session_name)
    yield Driver(awaiting, run)  # type: ignore[misc]  # it has the same methods, as another test shows
    run(awaiting.close())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
