"""Warm-up after the start, and when garbage is collected: never while requests wait."""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache

import yarl._url

from emulator.core.cache import clear_all, clear_with_all
from emulator.core.vendor import Vendors
from emulator.generation.vocabulary import load_vocabulary

_YOUNG = 20_000  # objects that came and stayed until they are looked through, once
_NEVER = 1_000_000  # looking through all takes a second at ten thousand streams: :class:`CollectionPolicy` says when
_QUIET, _OVERDUE = 15, 60  # times that young ones were looked through since; 10,000 streams that begin are some 45
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # as mallopt(3) numbers what it sets
_LARGE = 256 * 1024  # bytes
_SPARE = 16 * 1024**2  # bytes at the heap's end that it keeps for what comes next


def begin() -> None:
    """What was made before the first request lives as long as the process; what comes is looked at from now on.

    All threads take memory from one heap: one of their own keeps what it freed, and only one thread runs at a time.
    What is large lies outside of it, and is given back at once: left to itself, the C library puts whatever is no
    larger than the largest that was ever freed into the heap, which then has holes for good.
    """
    set_option = _find("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)
        set_option(_MMAP_THRESHOLD, _LARGE)
        set_option(_TRIM_THRESHOLD, _SPARE)
    gc.freeze()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    gc.enable()


def _forget_urls() -> None:
    """The framework remembers the latest URLs with all that was read of them, and has no word for forgetting them."""
    for name in ("encode_url", "pre_encoded_url", "build_pre_encoded_url"):
        remembered = getattr(yarl._url, name, None)
        if remembered is not None:
            remembered.cache_clear()


clear_with_all(_forget_urls)


class CollectionPolicy:
    """Looks through everything once nobody is being answered, or when as many came as there are, and very many.

    So the work stays in proportion to what is made, and memory to what is in use. What is free is given back to the
    system while nobody is being answered; what was found out is forgotten then, once another scenario is at work.
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
        """Another scenario is at work, a session's or without a name the server's, which leaves much behind."""
        self._due = self._due or not session

    def tidy(self) -> None:
        """Look through everything, if it is time."""
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
    """How often those that came were looked through since all were."""
    return gc.get_count()[1]


def _collect() -> int:
    """Look through everything; how many objects stay."""
    gc.collect()
    # Counted in one go: what a thread has begun, such as a tuple that still grows, must not be held for a moment.
    return sum(map(len, map(gc.get_objects, (2,))))


def return_memory() -> None:
    """Give free memory back to the system; some milliseconds.

    The C library does so by itself only at the end of its heap, where a small thing that stays holds all that was freed
    before it. Source: malloc_trim(3), which glibc alone has.
    """
    trim = _find("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _find(name: str) -> Callable[..., int] | None:
    """A function of the C library, if it has it."""
    if not sys.platform.startswith("linux"):
        return None
    from ctypes import CDLL

    function: Callable[..., int] | None = getattr(CDLL(None), name, None)
    return function


_CALM = 0.3  # seconds: who starts a server often asks it at once, and that answer should have the processor
_YIELD = 0.0002  # seconds after which an answer may go first


def warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    """Import the vendors that are served, and read the vocabulary; nobody waits for the end."""
    threading.Thread(target=_warm_up, args=(vendors, tuple(served)), daemon=True).start()


def _warm_up(vendors: Vendors, served: Iterable[str]) -> None:
    time.sleep(_CALM)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_YIELD)
    for name in served:
        _ = vendors[name]
    load_vocabulary()
    gc.collect()
    return_memory()
    gc.freeze()  # what was imported stays; garbage need not be looked for in it
    sys.setswitchinterval(usual)
