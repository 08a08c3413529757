"""Open the store of a URL (``--state-url``): memory, Redis, or the hub of several workers."""

from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, urlsplit

from emulator.core.storage import Store
from emulator.storage.documents import DEFAULT_LIMITS, StorageLimits
from emulator.storage.memory import open_memory
from emulator.storage.resilient import Loss, ResilientStore

DEFAULT_URL = "memory://"
HUB_PREFIX = "hub://"  # followed by the path of a Unix socket


def _open_redis(url: SplitResult, limits: StorageLimits) -> Store:
    from emulator.storage.redis import open_redis  # the client library is an optional extra and slow to import

    return open_redis(url, limits)


def _open_hub(url: SplitResult, limits: StorageLimits) -> Store:
    from emulator.storage.ipc import open_hub  # only workers need it

    return open_hub(url, limits)


STORES: Mapping[str, Callable[[SplitResult, StorageLimits], Store]] = {
    "memory": open_memory,
    "redis": _open_redis,
    "rediss": _open_redis,
    "hub": _open_hub,  # set by the supervisor for its workers; users cannot select it
}


class StoreError(ValueError):
    """Invalid store URL; the message is one line for the user."""


def open_store(url: str = DEFAULT_URL, loss: Loss = "refuse", limits: StorageLimits = DEFAULT_LIMITS) -> Store:
    """Open the store of a URL; a memory store starts empty.

    Args:
        loss: while a remote store is unreachable, refuse calls or count in this process.
        limits: storage limits.

    Raises:
        StoreError: the URL has an unknown scheme or is invalid, or the store's client library is missing.
    """
    parts = _split(url)
    opener = STORES.get(parts.scheme)
    if opener is None:
        known = ", ".join(f"{scheme}://" for scheme in STORES if scheme != "hub")
        shown = "a URL like that" if "@" in url else f"the URL {url!r}"  # a password may precede the @
        raise StoreError(f"no store has {shown}; there are {known}")
    try:
        store = opener(parts, limits)
    except ValueError as error:
        raise StoreError(str(error)) from None
    return store if opener in (open_memory, _open_hub) else ResilientStore(store, loss)


def is_memory(url: str) -> bool:
    """Return whether a URL selects the memory store, in any case."""
    return url.partition(":")[0].lower() == "memory"


def show_url(url: str) -> str:
    """Return a store's URL for display, without user, password and key prefix.

    Raises:
        StoreError: its host and port are invalid.
    """
    parts = _split(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _split(url: str) -> SplitResult:
    """Split a URL and validate host and port.

    Raises:
        StoreError: host or port is invalid; the message quotes no part of the URL, which may be a password.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # the property validates the port
    except ValueError:
        raise StoreError(
            "its host and port cannot be read; in a user or password / ? # [ ] @ are written %2F %3F %23 %5B %5D %40"
        ) from None
    return parts
