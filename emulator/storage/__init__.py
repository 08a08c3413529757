"""Stores behind ``core.state``, chosen by URL: one file or folder and one row here for each."""

from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, urlsplit

from emulator.core.storage import Store
from emulator.storage.documents import DEFAULT_LIMITS, StorageLimits
from emulator.storage.memory import open_memory
from emulator.storage.resilient import Loss, ResilientStore

DEFAULT = "memory://"
HUB = "hub://"  # with the path of a socket; without, it is not reached


def _open_redis(url: SplitResult, room: StorageLimits) -> Store:
    from emulator.storage.redis import open_redis  # its client is an extra, and slow to import

    return open_redis(url, room)


def _open_hub(url: SplitResult, room: StorageLimits) -> Store:
    from emulator.storage.ipc import open_hub  # workers alone need it

    return open_hub(url, room)


STORES: Mapping[str, Callable[[SplitResult, StorageLimits], Store]] = {
    "memory": open_memory,
    "redis": _open_redis,
    "rediss": _open_redis,
    "hub": _open_hub,  # of workers, for whom it is chosen
}


__all__ = ["DEFAULT", "HUB", "STORES", "Loss", "StorageLimits", "StoreError", "is_memory", "open_store", "show_url"]


class StoreError(ValueError):
    """A URL that names no store; one line for a person."""


def open_store(url: str = DEFAULT, loss: Loss = "refuse", room: StorageLimits = DEFAULT_LIMITS) -> Store:
    """A store: one of the process's memory is empty, one that others share holds what they put there.

    Args:
        loss: what becomes of calls as long as it cannot be reached.
        room: how much it keeps.

    Raises:
        StoreError: no store has such a URL, or it cannot be used here.
    """
    parts = _split(url)
    opener = STORES.get(parts.scheme)
    if opener is None:
        known = ", ".join(f"{scheme}://" for scheme in STORES if scheme != "hub")
        shown = "a URL like that" if "@" in url else f"the URL {url!r}"  # before it stands a password
        raise StoreError(f"no store has {shown}; there are {known}")
    try:
        store = opener(parts, room)
    except ValueError as error:
        raise StoreError(str(error)) from None
    return store if opener in (open_memory, _open_hub) else ResilientStore(store, loss)


def is_memory(url: str) -> bool:
    """Whether it is that of a process's own memory, however it is written."""
    return url.partition(":")[0].lower() == "memory"


def show_url(url: str) -> str:
    """Where a store is, for a person: without user, password and prefix.

    Raises:
        StoreError: its host and port cannot be read.
    """
    parts = _split(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _split(url: str) -> SplitResult:
    """The parts of a URL whose host and port are right.

    Raises:
        StoreError: they are not; no part of it is told, as it may be of a password.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # found out when it is asked for
    except ValueError:
        raise StoreError(
            "its host and port cannot be read; in a user or password / ? # [ ] @ are written %2F %3F %23 %5B %5D %40"
        ) from None
    return parts
