"""What Windows and macOS have not, taken away from this process; a pytest plugin, and the start of a server's process.

``SIMULATED`` in the environment names the system: ``proactor`` and ``selector`` for Windows' two event loops,
``darwin`` for macOS. README.md of this folder says what this cannot show.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib
import io
import os
import shutil
import signal
import socket
import ssl
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from tests.platforms.loops import LOOPS

_SYSTEMS = {"proactor": "win32", "selector": "win32", "darwin": "darwin"}
_ABSENT = {"win32": ("fcntl", "termios", "resource", "pwd", "grp", "pty", "uvloop"), "darwin": ("uvloop",)}
_ASK_PLATFORM = (  # of their imports; they run on Linux all the same
    *("ssl", "subprocess", "multiprocessing.util", "sysconfig", "zoneinfo", "tempfile", "shutil", "platform", "ctypes"),
    *("aiohttp", "aiohttp.web", "numpy", "faker", "re2", "orjson", "multidict", "yarl", "prometheus_client"),
    *("cryptography.x509", "cryptography.hazmat.primitives.serialization", "pydantic", "yaml", "httpx", "openai"),
    *("concurrent.futures.thread", "concurrent.futures.process", "mailbox", "webbrowser", "http.server", "uuid"),
    *("urllib.request", "getpass", "_pytest.pytester", "pytest_asyncio.plugin", "hypothesis", "redis"),
)
_SO_NWRITE = 0x1024  # macOS: bytes that are not acknowledged, from sys/socket.h
PERIODS: list[int] = []  # milliseconds that Windows' tick was asked to last
_MAX_FILES = 10_240  # OPEN_MAX of macOS, beyond which setrlimit(2) refuses


class _Console:
    """Stand-in for the class of Windows' console, of which no stream is one."""


def simulate(name: str) -> None:
    """Make this process one of another system, as far as that can be done."""
    system = _SYSTEMS[name]
    for module in _ASK_PLATFORM:
        with suppress(ImportError):
            importlib.import_module(module)
    if system == "darwin":
        _limit_like_darwin()
    for module in _ABSENT[system]:
        sys.modules[module] = None  # type: ignore[assignment]  # Python's way to say that there is none
    if system == "win32":
        _lack_like_windows(LOOPS[name])
    if name == "proactor":
        asyncio.ProactorEventLoop = LOOPS[name]  # type: ignore[attr-defined]
    sys.platform = system


def _lack_like_windows(make: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Take what Windows has not, and offer what its Python asks for; ``make``: creates the loops of its policy."""
    signal.SIGBREAK = signal.SIGUSR1  # type: ignore[attr-defined]  # its number is no signal's here
    for owner, names in ((signal, ("SIGHUP", "SIGUSR1", "SIGUSR2")), (socket, ("SO_REUSEPORT",))):
        for attribute in names:
            delattr(owner, attribute)
    for attribute in ("memfd_create", "mkfifo"):
        delattr(os, attribute)
    ssl.enum_certificates = lambda store: ()  # type: ignore[attr-defined]
    shutil._winapi = SimpleNamespace(NeedCurrentDirectoryForExePath=lambda mode: False)  # type: ignore[attr-defined]
    io._WindowsConsoleIO = _Console  # type: ignore[attr-defined]
    ctypes.windll = SimpleNamespace(winmm=SimpleNamespace(timeBeginPeriod=PERIODS.append))  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # policies go with Python 3.16

        class Policy(asyncio.DefaultEventLoopPolicy):
            def new_event_loop(self) -> asyncio.AbstractEventLoop:
                return make()

        asyncio.set_event_loop_policy(Policy())


def _limit_like_darwin() -> None:
    """Refuse Linux' count of unacknowledged bytes and a high limit of open files; offer macOS' own count."""
    import fcntl
    import resource
    import termios

    from tests.platforms.loops import count_unacknowledged

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, _MAX_FILES), hard))
    control, option, raise_limit = fcntl.ioctl, socket.socket.getsockopt, resource.setrlimit

    def ioctl(file: int, request: int, *rest: Any) -> Any:
        if request == termios.TIOCOUTQ:
            raise OSError(25, "Inappropriate ioctl for device")
        return control(file, request, *rest)

    def getsockopt(sock: socket.socket, level: int, name: int, *rest: Any) -> Any:
        if (level, name) == (socket.SOL_SOCKET, _SO_NWRITE):
            return count_unacknowledged(sock, control)
        return option(sock, level, name, *rest)

    def setrlimit(kind: int, limits: tuple[int, int]) -> None:
        if kind == resource.RLIMIT_NOFILE and limits[0] > _MAX_FILES:
            raise ValueError("current limit exceeds maximum limit")
        raise_limit(kind, limits)

    fcntl.ioctl, socket.socket.getsockopt, resource.setrlimit = ioctl, getsockopt, setrlimit  # type: ignore[assignment,method-assign]


if os.environ.get("SIMULATED"):
    simulate(os.environ["SIMULATED"])
