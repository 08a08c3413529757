"""Types of the Redis client (redis-py) that the store uses, and the error handling of its commands."""

from collections.abc import Awaitable, Sequence
from importlib.resources import files
from typing import NamedTuple, Protocol, TypeVar

from emulator.core.storage import StoreLostError
from emulator.storage.documents import StorageLimits
from emulator.storage.redis.pipeline import is_command_error

T = TypeVar("T")
LEASE = 10.0  # real seconds without a heartbeat after which a replica counts as dead


class Script(Protocol):
    """Lua script that the server runs atomically."""

    def __call__(self, keys: Sequence[str], args: Sequence[str] = ()) -> Awaitable[list[str]]: ...


class Pool(Protocol):
    """Connection pool."""

    async def disconnect(self, inuse_connections: bool = True) -> None: ...


class ServerConnection(Protocol):
    """Open connection."""

    async def disconnect(self) -> None: ...


class BlockingConnection(Protocol):
    """Client bound to a single connection, for commands that block."""

    @property
    def connection(self) -> ServerConnection | None: ...

    def initialize(self) -> "Awaitable[BlockingConnection]": ...

    def blpop(self, keys: Sequence[str], timeout: float) -> Awaitable[Sequence[str] | None]: ...

    async def aclose(self) -> None: ...


class Server(Protocol):
    """Used part of :class:`redis.asyncio.Redis` with decoded responses."""

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
    """Clients with separate connection pools for commands that would block each other.

    Fields:
        commands: one connection, for occasional commands.
        inbox: one connection, for blocking reads of this replica's inbox.
        replies: one connection for each wait for other replicas' replies.
    """

    commands: Server
    inbox: Server
    replies: Server


def read_text(*names: str) -> str:
    """Return the concatenated text of Lua scripts in ``scripts/``."""
    folder = files(__package__) / "scripts"
    return "\n".join(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)


def write_bounds(limits: StorageLimits) -> str:
    """Return Lua definitions of the storage limits, which precede each script."""
    names = {
        "COUNTERS": limits.counters,
        "SHARES": limits.accounts,
        "BYTES": limits.documents,
        "SESSIONS": limits.sessions,
    }
    return "".join(f"local MOST_{name} = {limit}\n" for name, limit in names.items())


async def ask(command: Awaitable[T]) -> T:
    """Return the result of a command.

    Raises:
        StoreLostError: the server is unreachable, cannot run commands now, or is not a Redis server.
        redis.exceptions.ResponseError: the command is wrong.
    """
    from redis.exceptions import RedisError, ResponseError

    try:
        return await command
    except OSError as error:
        raise StoreLostError(str(error)) from None
    except RedisError as error:
        if type(error) is ResponseError and is_command_error(str(error)):  # subclasses lack the code in their text
            raise
        raise StoreLostError(str(error)) from None
