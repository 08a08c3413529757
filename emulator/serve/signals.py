"""Stop signals of a server process, and its limit on open files."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import FrameType

_MAX_FILES = 2**20


def allow_connections() -> None:
    """Raise the limit on open files, one per connection, to the maximum for this user."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _list_stop_signals() -> tuple[signal.Signals, ...]:
    """Return the stop signals other than SIGINT: SIGTERM, and SIGHUP unless ``nohup`` ignores it."""
    ends = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # Windows has none
        ends.append(signal.SIGHUP)
    return tuple(ends)


@contextmanager
def stoppable() -> Iterator[None]:
    """Exit cleanly on stop signals before the server handles them itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(name, _stop) for name in _list_stop_signals()}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Queue[signal.Signals]]:
    """Collect each SIGTERM, SIGHUP and SIGINT in a queue."""
    loop = asyncio.get_running_loop()
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()
    names = (*_list_stop_signals(), signal.SIGINT)
    with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        for name in names:
            loop.add_signal_handler(name, stops.put_nowait, name)
    try:
        yield stops
    finally:
        with suppress(NotImplementedError):
            for name in names:
                loop.remove_signal_handler(name)
