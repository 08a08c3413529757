"""Stores behind ``core.state``, chosen by URL: one file or folder and one row here for each."""

from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, urlsplit

from emulator.core.state import Store
from emulator.state.guarded import Guarded, Loss
from emulator.state.memory import open_memory

DEFAULT = "memory://"
HUB = "hub://"  # with the path of a socket; without, it is not reached


def _open_redis(url: SplitResult) -> Store:
    from emulator.state.redis import open_redis  # its client is an extra, and slow to import

    return open_redis(url)


def _open_hub(url: SplitResult) -> Store:
    from emulator.state.hub import open_hub  # workers alone need it

    return open_hub(url)


STORES: Mapping[str, Callable[[SplitResult], Store]] = {
    "memory": open_memory,
    "redis": _open_redis,
    "rediss": _open_redis,
    "hub": _open_hub,  # of workers, for whom it is chosen
}


__all__ = ["DEFAULT", "HUB", "STORES", "Loss", "StoreError", "open_store"]


class StoreError(ValueError):
    """A URL that names no store; one line for a person."""


def open_store(url: str = DEFAULT, loss: Loss = "refuse") -> Store:
    """A store: one of the process's memory is empty, one that others share holds what they put there.

    Args:
        loss: what becomes of calls as long as it cannot be reached.

    Raises:
        StoreError: no store has such a URL, or it cannot be used here.
    """
    parts = urlsplit(url)
    opener = STORES.get(parts.scheme)
    if opener is None:
        known = ", ".join(f"{scheme}://" for scheme in STORES if scheme != "hub")
        raise StoreError(f"no store has the URL {url!r}; there are {known}")
    try:
        store = opener(parts)
    except ValueError as error:
        raise StoreError(str(error)) from None
    return store if opener in (open_memory, _open_hub) else Guarded(store, loss)
