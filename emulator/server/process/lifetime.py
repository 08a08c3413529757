"""What begins and ends with the process: its signals, and the file that says where it listens."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

_MOST_FILES = 2**20


class PortFile:
    """The base URLs, for whoever waits for them: there only while they answer; one left by others is removed first."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text: str | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            with suppress(OSError):  # what cannot be removed cannot be written either, and is told then
                self._path.unlink()
        return self

    def write(self, urls: Mapping[str, str]) -> None:
        """Write it whole, never half: a reader that finds it can trust it.

        Raises:
            OSError: it cannot be written.
        """
        if self._path is None:
            return
        text = json.dumps(urls, indent=1) + "\n"
        partial = self._path.with_name(self._path.name + ".partial")
        try:
            partial.write_text(text, encoding="utf-8")
            partial.replace(self._path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        self._text = text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            if self._path is not None and self._path.read_text(encoding="utf-8") == self._text:
                self._path.unlink()


def allow_connections() -> None:
    """Open as many files as the system lets this user, instead of the few that are usual: each connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM ends what is done before anything listens, too, and lets it tidy up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Queue[signal.Signals]]:
    """Every SIGTERM and SIGINT that comes, in order."""
    loop = asyncio.get_running_loop()
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()
    names = (signal.SIGTERM, signal.SIGINT)
    with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        for name in names:
            loop.add_signal_handler(name, stops.put_nowait, name)
    try:
        yield stops
    finally:
        with suppress(NotImplementedError):
            for name in names:
                loop.remove_signal_handler(name)
