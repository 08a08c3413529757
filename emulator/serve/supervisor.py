"""Supervise workers that share ports: start them, restart those that die, drain them at the end."""

import asyncio
import base64
import json
import logging
import pickle
import signal
import socket
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from emulator.core.dataclass import fast_dataclass
from emulator.core.os_errors import explain_address
from emulator.core.processes import name_command
from emulator.http.listeners import PortInUse
from emulator.serve.signals import stop_signals
from emulator.settings import Settings
from emulator.storage import is_memory
from emulator.storage.ipc import HUB_SOCKET, hub_folder, serve_hub

log = logging.getLogger("emulator")
_PAUSE = 0.1  # wall-clock seconds until a worker that died is restarted; doubled each time in a row
_MAX_PAUSE = 5.0
_STEADY = 10.0  # wall-clock seconds after which the pause starts over
_WORKER = "emulator.serve.worker"
_MARGIN = 5.0  # wall-clock seconds a worker gets to end in addition to the drain


@fast_dataclass(frozen=True, slots=True)
class WorkerOrders:
    """Orders for one worker; ``number``: from 0, and worker 0 writes the report."""

    settings: Settings
    ports: Mapping[str, int]
    number: int

    def write(self) -> bytes:
        """Encode the orders as one line."""
        return base64.b64encode(pickle.dumps(self)) + b"\n"


@contextmanager
def reserved(host: str, ports: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Reserve ports for the workers to share; yields them with free ports in place of 0.

    Raises:
        PortInUse: another process holds one.
    """
    with ExitStack() as stack:
        numbers: dict[str, int] = {}
        for name, port in ports.items():
            try:
                family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
                with socket.create_server(address[:2], family=family):
                    pass  # no process listens there; SO_REUSEPORT alone would not reveal one
                holder = stack.enter_context(socket.socket(family))
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                holder.bind(address)
                numbers[name] = int(holder.getsockname()[1])
            except (OSError, UnicodeError) as error:
                raise PortInUse(explain_address(host, port, name, error)) from None
        yield numbers


class Supervisor:
    """Supervisor of a fixed number of workers.

    Args:
        announce: called with the base URLs once all workers listen for the first time.
    """

    def __init__(
        self, settings: Settings, ports: Mapping[str, int], announce: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._settings = settings
        self._ports = ports
        self._announce = announce
        self._running: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._announced = False
        self._stopped: signal.Signals | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Run until a signal, or until a worker cannot start; return the exit code."""
        with hub_folder() as folder:
            hub = folder / HUB_SOCKET
            async with serve_hub(hub), stop_signals() as stops:
                if is_memory(self._settings.state_url):
                    self._settings = replace(self._settings, state_url=f"hub://{hub}")
                listening = asyncio.create_task(self._listen(stops))
                codes = await asyncio.gather(*map(self._keep_running, range(self._settings.workers)))
                listening.cancel()
        if self._stopped is signal.SIGINT:
            return 130
        return 0 if self._stopped else max(map(abs, codes))

    async def _listen(self, stops: asyncio.Queue[signal.Signals]) -> None:
        """Forward each stop signal to the workers; kill those that exceed the drain."""
        self._stopped = await stops.get()
        self._end(signal.SIGTERM)
        limit = asyncio.get_running_loop().call_later(self._settings.drain + _MARGIN, self._end, signal.SIGKILL)
        try:
            while True:
                await stops.get()
                self._end(signal.SIGTERM)
        finally:
            limit.cancel()

    def _end(self, how: signal.Signals) -> None:
        self._stopping.set()
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.send_signal(how)

    async def _keep_running(self, number: int) -> int:
        """Restart one worker until shutdown; return the exit code of the last one."""
        pause = _PAUSE
        while True:
            began = time.monotonic()
            code = await self._work(number)
            if self._stopping.is_set():
                return code
            if not self._announced:  # a worker that cannot start is no transient failure
                self._end(signal.SIGTERM)
                return code
            log.error("worker %d ended with %s; another takes its place", number, _name(code))
            pause = _PAUSE if time.monotonic() - began > _STEADY else min(2 * pause, _MAX_PAUSE)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
                return code

    async def _work(self, number: int) -> int:
        """Run one worker process; it ends with this process, as its stdin closes."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*name_command(_WORKER), stdin=pipe, stdout=pipe, process_group=0)
        self._running[number] = process
        if self._stopping.is_set():
            process.terminate()
        if process.stdin is not None and process.stdout is not None:
            process.stdin.write(WorkerOrders(self._settings, self._ports, number).write())
            line = await process.stdout.readline()
            if line:
                self._on_listening(number, json.loads(line))
        code = await process.wait()
        del self._running[number]
        return code

    def _on_listening(self, number: int, urls: Mapping[str, str]) -> None:
        """Note that a worker listens; announce once all do."""
        self._ready.add(number)
        if not self._announced and len(self._ready) == self._settings.workers:
            self._announced = True
            self._announce(urls)


def _name(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"
