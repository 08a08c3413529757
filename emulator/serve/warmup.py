"""Import vendors and vocabulary soon after the start, and collect garbage only while no request is open.

``server.py`` calls it once all ports are open.
"""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module

import yarl._url

from emulator.core.cache import clear_all, clear_with_all
from emulator.core.vendor import Vendors
from emulator.generation.vocabulary import load_vocabulary

# Net new objects until a collection of generation 0. It takes as long as there are new objects alive: with a full
# journal, in which each request replaces an old one, that is four times as many.
_YOUNG = 1_000
_NEVER = 1_000_000  # a full collection takes a second at ten thousand streams: :class:`CollectionPolicy` starts it
_QUIET, _OVERDUE = 300, 1200  # young collections since the last full one; starting 10,000 streams takes about 900
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # option numbers of mallopt(3)
_LARGE = 512 * 1024  # bytes; asyncio allocates 256 KiB for each read, which must not be mapped every time
_SPARE = 16 * 1024**2  # free bytes that the top of the heap keeps


def begin() -> None:
    """Freeze the objects made so far, enable garbage collection and tune the C library's allocator.

    All threads share one arena: a thread's own arena keeps the memory it frees, and only one thread runs at a time.
    Large blocks are mapped outside the heap and returned at once: with glibc's dynamic threshold, blocks up to the
    largest ever freed go to the heap, which then stays fragmented.
    """
    set_option = _find("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)
        set_option(_MMAP_THRESHOLD, _LARGE)
        set_option(_TRIM_THRESHOLD, _SPARE)
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    gc.enable()


def _clear_url_caches() -> None:
    """Clear yarl's URL caches, for which it has no public function."""
    for name in ("encode_url", "pre_encoded_url", "build_pre_encoded_url"):
        remembered = getattr(yarl._url, name, None)
        if remembered is not None:
            remembered.cache_clear()


clear_with_all(_clear_url_caches)


class CollectionPolicy:
    """Policy for full garbage collections: when no request is open, or when very many objects are new.

    Work stays proportional to allocations and memory to live objects. While no request is open, free memory is returned
    to the system, and after a change of the scenario all caches are cleared.
    """

    def __init__(
        self,
        is_busy: Callable[[], bool],
        count: Callable[[], int] | None = None,
        collect: Callable[[], int] | None = None,
        give_back: Callable[[], None] | None = None,
        forget: Callable[[], None] = clear_all,
    ) -> None:
        self._is_busy = is_busy
        self._count = count or _count
        self._collect = collect or _collect
        self._give_back = give_back or return_memory
        self._forget = forget
        self._stayed = 0
        self._due = False

    def expect(self, session: str) -> None:
        """Schedule a collection after a change of the server's scenario, which leaves much garbage."""
        self._due = self._due or not session

    def tidy(self) -> None:
        """Run a full collection if it is due."""
        if self._is_busy():
            if self._count() >= max(_OVERDUE, self._stayed // _YOUNG):
                self._stayed = self._collect()
        elif self._due or self._count() >= _QUIET:
            if self._due:
                self._due = False
                self._forget()
            self._stayed = self._collect()
            self._give_back()


def _count() -> int:
    """Return the number of young collections since the last full one."""
    return gc.get_count()[1]


def _collect() -> int:
    """Run a full collection; return the number of objects that stay."""
    gc.collect()
    # One expression: a reference to another thread's unfinished object, such as a growing tuple, must not be held.
    return sum(map(len, map(gc.get_objects, (2,))))


def return_memory() -> None:
    """Return free memory to the system, which takes some milliseconds.

    The C library trims only the end of its heap by itself, where one small live block retains all free memory below it.
    Source: malloc_trim(3), glibc only.
    """
    trim = _find("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _find(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; ``None`` if it has none of that name."""
    if not sys.platform.startswith("linux"):
        return None
    from ctypes import CDLL

    function: Callable[..., int] | None = getattr(CDLL(None), name, None)
    return function


_DELAY = 0.3  # seconds; leaves the processor to the first requests, which often follow the start at once
_SWITCH_INTERVAL = 0.0002  # seconds after which a request may preempt the warm-up


def warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    """Import the served vendors and load the vocabulary in a background thread."""
    threading.Thread(target=_warm_up, args=(vendors, tuple(served)), daemon=True).start()


def _warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    time.sleep(_DELAY)
    previous = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    import_module("emulator.control.api")  # a request under way would wait for it, and without files it would fail
    for name in served:
        for module in vendors[name].late_modules:
            import_module(module)
    load_vocabulary()
    gc.collect()
    return_memory()
    gc.freeze()  # imported modules stay, so collections skip them
    sys.setswitchinterval(previous)
