"""A timer as exact as the system's own: those of event loops are rounded to whole milliseconds."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from math import ceil
from struct import Struct
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ctypes import CDLL

Ring = Callable[[], None]
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_TIME = Struct("@llll")  # itimerspec: seconds and nanoseconds of the interval and of the first time


class Alarm(Protocol):
    """Rings once, in the loop that runs when it is set, at a time of ``time.monotonic``; never before."""

    def set(self, when: float) -> None:
        """Ring then, and no longer when it was set to ring."""

    def stop(self) -> None:
        """Do not ring; hold nothing of the system's."""


def open_alarm(ring: Ring) -> Alarm:
    """The most exact that there is here."""
    return SystemAlarm(ring) if has_timers() else LoopAlarm(ring)


class LoopAlarm:
    """A timer of the event loop, late by a millisecond at most."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, when: float) -> None:
        self.stop()
        self._handle = asyncio.get_running_loop().call_at(ceil(when * 1000) / 1000, self._ring)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class SystemAlarm:
    """A timer that is a file, for which the event loop waits as for a socket."""

    def __init__(self, ring: Ring) -> None:
        library = _library()
        assert library is not None
        self._library = library
        self._ring = ring
        self._loop: asyncio.AbstractEventLoop | None = None
        self._file = -1

    def set(self, when: float) -> None:
        if self._loop is None:
            self._file = _create()
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._file, self._read)
        seconds = int(when)
        value = _TIME.pack(0, 0, seconds, int((when - seconds) * 1e9) + 1)  # all 0 would stop it
        self._library.timerfd_settime(self._file, _ABSOLUTE, value, None)

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._file)
            self._loop = None
            os.close(self._file)

    def _read(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:  # it was set again meanwhile
            return
        self._ring()

    def __del__(self) -> None:
        if self._loop is not None:  # which ended first
            os.close(self._file)


def has_timers() -> bool:
    """The system has timers that are files."""
    return _library() is not None


@cache
def _library() -> CDLL | None:
    """The C library, where it has such timers; of Python's own only releases from 3.13 on know them."""
    if sys.platform != "linux":
        return None
    from ctypes import CDLL, c_int, c_void_p

    library = CDLL(None, use_errno=True)
    if not hasattr(library, "timerfd_settime"):
        return None
    library.timerfd_settime.argtypes = (c_int, c_int, c_void_p, c_void_p)
    return library


def _create() -> int:
    library = _library()
    assert library is not None
    file = int(library.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
    if file < 0:
        raise OSError("the system has no timer left")
    return file
