"""Every store passes the same tests."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count

import pytest

from emulator.core.storage import State
from emulator.storage import open_store
from emulator.storage.documents import StorageLimits
from tests.storage.servers import KINDS, find_server, running

SMALL = StorageLimits(counters=10, accounts=3, documents=2000, sessions=5)
NewState = Callable[[], AbstractAsyncContextManager[State]]


@pytest.fixture(params=["memory", *KINDS], scope="session")
def store_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kind: str = request.param
    if kind == "memory":
        yield "memory://"
        return
    if find_server(kind) is None:
        pytest.skip(f"{KINDS[kind]} is not installed")
    with running(kind, tmp_path_factory.mktemp(kind)) as url:
        yield url


@pytest.fixture(scope="session")
def new_state(store_url: str) -> NewState:
    """Opens an empty namespace."""
    numbers = count()

    @asynccontextmanager
    async def open_world() -> AsyncIterator[State]:
        store = open_store(store_url)
        yield store.open(f"world{next(numbers)}")
        await store.close()

    return open_world


@pytest.fixture
async def state(new_state: NewState) -> AsyncIterator[State]:
    async with new_state() as state:
        yield state


@pytest.fixture
async def small(store_url: str, request: pytest.FixtureRequest) -> AsyncIterator[State]:
    """Open an empty namespace of a store with small limits."""
    store = open_store(store_url, limits=SMALL)
    yield store.open(f"small{abs(hash(request.node.nodeid))}")
    await store.close()
