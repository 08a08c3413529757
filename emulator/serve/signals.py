"""What begins and ends with the process: its signals, and the file that says where it listens."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import tempfile
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
        if self._path is not None and self._path.is_file():
            with suppress(OSError):  # what cannot be removed cannot be written either, and is told then
                self._path.unlink()
        return self

    def write(self, urls: Mapping[str, str]) -> None:
        """Write it whole, never half: a reader that finds it can trust it.

        Raises:
            OSError: it cannot be written; what stands there and is no file, such as ``/dev/null``, is left alone.
        """
        if self._path is None:
            return
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "not a file")
        text = json.dumps(urls, indent=1) + "\n"
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        partial = Path(name)  # new, so that no link leads elsewhere
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            partial.chmod(0o666 & ~_read_umask())
            partial.replace(self._path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        self._text = text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            if self._path is not None and self._path.is_file() and self._path.read_text(encoding="utf-8") == self._text:
                self._path.unlink()


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


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


def _name_ends() -> tuple[signal.Signals, ...]:
    """What says that it is over beside SIGINT: also a terminal that was closed, unless ``nohup`` began it."""
    ends = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # Windows has none
        ends.append(signal.SIGHUP)
    return tuple(ends)


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM and its like end what is done before anything listens, too, and let it tidy up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(name, _stop) for name in _name_ends()}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Queue[signal.Signals]]:
    """Every SIGTERM, SIGHUP and SIGINT that comes, in order."""
    loop = asyncio.get_running_loop()
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()
    names = (*_name_ends(), signal.SIGINT)
    with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        for name in names:
            loop.add_signal_handler(name, stops.put_nowait, name)
    try:
        yield stops
    finally:
        with suppress(NotImplementedError):
            for name in names:
                loop.remove_signal_handler(name)
