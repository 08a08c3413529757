"""Stores behind ``core.state.State``, chosen by URL: one file and one row here for each."""

from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, urlsplit

from emulator.core.state import State
from emulator.state.memory import open_memory

DEFAULT = "memory://"
STORES: Mapping[str, Callable[[SplitResult], State]] = {"memory": open_memory}


class StoreError(ValueError):
    """A URL that names no store; one line for a person."""


def open_state(url: str = DEFAULT) -> State:
    """An empty store.

    Raises:
        StoreError: no store has such a URL.
    """
    parts = urlsplit(url)
    opener = STORES.get(parts.scheme)
    if opener is None:
        known = ", ".join(f"{scheme}://" for scheme in STORES)
        raise StoreError(f"no store has the URL {url!r}; there are {known}")
    return opener(parts)
