"""Handle stop signals of a server process, and raise its limit on open files.

Every program that serves uses it: ``emulator serve``, its workers and ``emulator record``.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType

log = logging.getLogger("emulator")
_MAX_FILES = 2**20
_MIN_FILES = 1024  # fewer than any Linux gives; macOS begins with 256


def allow_connections() -> None:
    """Raise the limit on open files, one per connection, as far as the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted and not _allow(wanted, hard):
        _find_most(lambda number: _allow(number, hard), soft, wanted)


def _allow(number: int, hard: int) -> bool:
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    except (OSError, ValueError):  # macOS refuses more than kern.maxfilesperproc even where the hard limit is none
        return False
    return True


def _find_most(allow: Callable[[int], bool], allowed: int, refused: int) -> None:
    """Allow the highest number below the refused one."""
    while refused - allowed > 1:
        middle = (allowed + refused) // 2
        if allow(middle):
            allowed = middle
        else:
            refused = middle


def warn_of_few_files() -> None:
    """Warn in the log if the limit on open files is low."""
    try:
        import resource
    except ImportError:
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _MIN_FILES:
        log.warning("the system allows %d open files, one per connection; raise them with: ulimit -n %d", soft, 10_240)


def _list_stop_signals() -> tuple[signal.Signals, ...]:
    """Return the stop signals other than SIGINT: SIGTERM, Ctrl-Break, and SIGHUP unless ``nohup`` ignores it."""
    ends = [signal.SIGTERM]
    if hasattr(signal, "SIGBREAK"):  # Windows alone has it, and no SIGHUP
        ends.append(signal.SIGBREAK)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        ends.append(signal.SIGHUP)
    return tuple(ends)


@contextmanager
def stoppable() -> Iterator[None]:
    """Exit cleanly on stop signals before the server handles them itself."""
    names = _list_stop_signals()
    with _restored(names):
        _handle(names, _stop)
        yield


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Queue[signal.Signals]]:
    """Collect each SIGTERM, SIGHUP, SIGINT and SIGBREAK in a queue; ``server.py`` drains after one."""
    loop = asyncio.get_running_loop()
    stops: asyncio.Queue[signal.Signals] = asyncio.Queue()
    names = (*_list_stop_signals(), signal.SIGINT)
    with _restored(names):
        try:
            for name in names:
                loop.add_signal_handler(name, stops.put_nowait, name)
        except NotImplementedError:  # the loops of Windows
            _handle(names, lambda number, _: loop.call_soon_threadsafe(stops.put_nowait, signal.Signals(number)))
            yield stops
            return
        try:
            yield stops
        finally:
            for name in names:
                loop.remove_signal_handler(name)  # the loop leaves the system's default, not the handler of before


def _handle(names: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]) -> None:
    """Handle signals; only the main thread can."""
    if _is_main_thread():
        for name in names:
            signal.signal(name, handler)


@contextmanager
def _restored(names: Iterable[signal.Signals]) -> Iterator[None]:
    """Handle signals after a block as before it."""
    before = {name: signal.getsignal(name) for name in names}
    try:
        yield
    finally:
        if _is_main_thread():
            for name, handler in before.items():
                if handler is not None:  # one that Python did not install cannot be restored
                    signal.signal(name, handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
