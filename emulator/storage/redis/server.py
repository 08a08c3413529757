"""The server that replicas share, as far as it is used, and how it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from importlib.resources import files
from typing import NamedTuple, Protocol, TypeVar

from emulator.core.storage import StoreLostError
from emulator.storage.documents import StorageLimits
from emulator.storage.redis.pipeline import is_command_error

T = TypeVar("T")
LEASE = 10.0  # real seconds after which a process that says nothing is taken to be dead


class Script(Protocol):
    """Runs on the server, whole before anybody else has a turn."""

    def __call__(self, keys: Sequence[str], args: Sequence[str] = ()) -> Awaitable[list[str]]: ...


class Pool(Protocol):
    """Connections that are open."""

    async def disconnect(self, inuse_connections: bool = True) -> None: ...


class Connection(Protocol):
    """One that is open."""

    async def disconnect(self) -> None: ...


class BlockingConnection(Protocol):
    """A server over one connection."""

    @property
    def connection(self) -> Connection | None: ...

    def initialize(self) -> Awaitable[BlockingConnection]: ...

    def blpop(self, keys: Sequence[str], timeout: float) -> Awaitable[Sequence[str] | None]: ...

    async def aclose(self) -> None: ...


class Server(Protocol):
    """What is used of :class:`redis.asyncio.Redis` with decoded answers."""

    @property
    def connection_pool(self) -> Pool: ...

    def client(self) -> BlockingConnection: ...

    def register_script(self, script: str) -> Script: ...

    def hgetall(self, name: str) -> Awaitable[dict[str, str]]: ...

    def srem(self, name: str, *values: str) -> Awaitable[int]: ...

    def get(self, name: str) -> Awaitable[str | None]: ...

    def set(self, name: str, value: str, *, px: int | None = None, nx: bool = False) -> Awaitable[bool]: ...

    def delete(self, *names: str) -> Awaitable[int]: ...

    def blpop(self, keys: Sequence[str], timeout: float) -> Awaitable[Sequence[str] | None]: ...

    async def aclose(self) -> None: ...


class Connections(NamedTuple):
    """The server over connections of their own, so that nobody keeps more open than are used.

    Fields:
        asking: one connection, for what is asked now and then.
        hearing: one, for what others say.
        waiting: one for each who waits for what others reply.
    """

    asking: Server
    hearing: Server
    waiting: Server


def read_text(*names: str) -> str:
    """Scripts of this folder, one after the other."""
    folder = files(__package__) / "scripts"
    return "\n".join(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)


def write_bounds(room: StorageLimits) -> str:
    """How much there may be, as the scripts call it."""
    names = {"COUNTERS": room.counters, "SHARES": room.accounts, "BYTES": room.documents, "SESSIONS": room.sessions}
    return "".join(f"local MOST_{name} = {most}\n" for name, most in names.items())


async def ask(question: Awaitable[T]) -> T:
    """What the server says.

    Raises:
        StoreLostError: it says nothing, or that it cannot, or what no such server says.
    """
    from redis.exceptions import RedisError, ResponseError

    try:
        return await question
    except OSError as error:
        raise StoreLostError(str(error)) from None
    except RedisError as error:
        if type(error) is ResponseError and is_command_error(str(error)):  # of kinds that it knows it cuts off the code
            raise
        raise StoreLostError(str(error)) from None
