"""One-shot alarm with the precision of the operating system (Linux timerfd); event loops round timers to milliseconds.

Clocks set it for the next due time.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from math import ceil
from struct import Struct
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ctypes import CDLL

_COARSE = 0.001  # seconds
monotonic = time.monotonic if time.get_clock_info("monotonic").resolution < _COARSE else time.perf_counter
"""Clock of due times; that of Windows has a resolution of 15.6 ms before Python 3.13."""

Ring = Callable[[], None]
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_TIME = Struct("@llll")  # itimerspec: seconds and nanoseconds of the interval and of the first time


class Alarm(Protocol):
    """One-shot timer that calls back in the event loop, never before its time."""

    def set(self, when: float) -> None:
        """Call back at a time of :func:`monotonic`, in the running loop; replaces an earlier setting."""

    def stop(self) -> None:
        """Cancel the timer and release its resources."""


def open_alarm(ring: Ring) -> Alarm:
    """Return the most precise alarm that the platform has."""
    _shorten_tick()
    return SystemAlarm(ring) if has_timers() else LoopAlarm(ring)


@cache
def _shorten_tick() -> None:
    """Shorten Windows' tick from 15.6 ms to 1 ms for this process. Source: Microsoft, "timeBeginPeriod". Untried."""
    if sys.platform == "win32":
        import ctypes

        with suppress(AttributeError, OSError):
            ctypes.windll.winmm.timeBeginPeriod(1)


class LoopAlarm:
    """Alarm on a timer of the event loop, up to a millisecond late; on Windows up to a tick of the system, 15.6 ms."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, when: float) -> None:
        self.stop()
        loop = asyncio.get_running_loop()
        left = ceil(when * 1000) / 1000 - monotonic()  # the loop's own clock may be a coarser one
        self._handle = loop.call_later(left, self._on_time, when)

    def _on_time(self, when: float) -> None:
        """Ring, or wait on: a loop calls back up to the resolution of its clock too early."""
        if monotonic() < when:
            self.set(when)
        else:
            self._ring()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class SystemAlarm:
    """Alarm on a Linux timerfd, which the event loop polls as it polls a socket."""

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
        when = max(when, 0.0)  # a clock that was advanced by more than the machine's uptime is due at once
        seconds = int(when)
        value = _TIME.pack(0, 0, seconds, int((when - seconds) * 1e9) + 1)  # all zeros would disarm the timer
        self._library.timerfd_settime(self._file, _ABSOLUTE, value, None)

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._file)
            self._loop = None
            os.close(self._file)

    def _read(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:  # the timer was set again since it expired
            return
        self._ring()

    def __del__(self) -> None:
        if self._loop is not None:  # the loop was closed before ``stop``
            os.close(self._file)


def has_timers() -> bool:
    """Return whether the platform has timerfd."""
    return _library() is not None


@cache
def _library() -> CDLL | None:
    """Return the C library if it has timerfd; ``os.timerfd_create`` needs Python 3.13."""
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
        raise OSError("timerfd_create failed: the system has no timer left")
    return file
