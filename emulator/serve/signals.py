"""Process resources of the server: port file, file limit and stop signals."""

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

_MAX_FILES = 2**20


class PortFile:
    """File with the base URLs; it exists only while they respond, and a stale one is removed first."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._text: str | None = None

    def __enter__(self) -> Self:
        if self._path is not None and self._path.is_file():
            with suppress(OSError):  # writing it fails later with a message
                self._path.unlink()
        return self

    def write(self, urls: Mapping[str, str]) -> None:
        """Write the file atomically, so that a reader never sees a partial one.

        Raises:
            OSError: the file cannot be written; a path that is no file, such as ``/dev/null``, is left alone.
        """
        if self._path is None:
            return
        if self._path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if self._path.exists() and not self._path.is_file():
            raise OSError(errno.EINVAL, "not a file")
        text = json.dumps(urls, indent=1) + "\n"
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        partial = Path(name)  # a new file, so that no symbolic link is followed
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
