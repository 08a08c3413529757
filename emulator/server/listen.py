"""Ports: one front for all vendors, one bare root for each, and an end without loss."""

import asyncio
import json
import logging
import signal
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

from emulator.control.api import ControlPlane
from emulator.server.player import Played
from emulator.server.runtime import Runtime

log = logging.getLogger("emulator")
_DRAIN = 30.0  # seconds that open answers get after SIGTERM
_CONTROL = "/_emulator"


class PortInUse(Exception):
    """An address that cannot be had; one line for a person."""


class Listeners:
    """All listening sockets of one emulator.

    ``urls``: base URL by name, ``front`` first, once :meth:`open` has returned.
    """

    def __init__(self, runtime: Runtime, control: ControlPlane) -> None:
        self._runtime = runtime
        self._control = control
        self._runners: list[web.ServerRunner] = []
        self._host = ""
        self._ports: Mapping[str, int] = {}
        self._context: ssl.SSLContext | None = None
        self.urls: dict[str, str] = {}
        self._scheme = "http"

    async def open(self, host: str, ports: Mapping[str, int], context: ssl.SSLContext | None = None) -> None:
        """Listen on the front and on the port of each vendor that is served; port 0 takes a free one.

        Raises:
            PortInUse: an address is taken; nothing stays open.
        """
        self._host, self._ports, self._context = host, ports, context
        try:
            await self._open_served()
        except PortInUse:
            await self.close()
            raise
        self._control.urls = self.urls
        self._control.follow = self.follow
        self._control.ready = True

    async def follow(self) -> None:
        """Open what another scenario needs; a vendor whose port cannot be had is served on the front alone."""
        try:
            await self._open_served()
        except PortInUse as error:
            log.warning("%s", error)

    async def _open_served(self) -> None:
        """Open the ports of vendors that the scenario at work serves and none before it did."""
        scheme = "https" if self._context else "http"
        for name, port in self._ports.items():
            if name in self.urls or not (name == "front" or name in self._runtime.active.apps):
                continue
            try:
                taken = await self._listen(name, port)
            except OSError as error:
                reason = error.strerror or str(error)
                raise PortInUse(f"cannot listen on {self._host}:{port} for {name}: {reason}") from None
            self.urls[name] = f"{scheme}://{_visible(self._host)}:{taken}"

    async def _listen(self, name: str, port: int) -> int:
        serve = self._serve_front if name == "front" else _Root(name, self._runtime, self._control).serve
        server = web.Server(serve, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=_DRAIN, handle_signals=False)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, self._host, port, ssl_context=self._context, backlog=2048).start()
        return int(runner.addresses[0][1])

    async def _serve_front(self, http: web.BaseRequest) -> web.StreamResponse:
        path = http.path
        if path.startswith(_CONTROL):
            return await self._control.serve(http)
        name, slash, rest = path[1:].partition("/")
        apps = self._runtime.active.apps
        app = apps.get(name)
        if app is None:
            return await self._control.serve_unknown(http, apps)
        return await app.serve(http, slash + rest or "/", f"{self._scheme}://{http.headers.get('Host', '')}/{name}")

    async def close(self) -> None:
        """Stop accepting, let open answers end, close."""
        self._control.ready = False
        self._runtime.closing.set()
        self._runtime.active.emulator.clock.retire()
        await asyncio.gather(*(runner.cleanup() for runner in self._runners))
        self._runners.clear()


class _Root:
    """A vendor's own port."""

    def __init__(self, name: str, runtime: Runtime, control: ControlPlane) -> None:
        self._name = name
        self._runtime = runtime
        self._control = control

    async def serve(self, http: web.BaseRequest) -> web.StreamResponse | Played:
        path = http.path
        if path.startswith(_CONTROL):
            return await self._control.serve(http)
        apps = self._runtime.active.apps
        app = apps.get(self._name)
        if app is None:
            return await self._control.serve_unknown(http, apps)
        return await app.serve(http, path, f"{http.scheme}://{http.host}")


def _visible(host: str) -> str:
    """An address that a client on this machine can use."""
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def number_ports(vendors: Sequence[str], front: int) -> dict[str, int]:
    """The front port, then one per vendor in order; a vendor that is not served leaves its number free."""
    return {"front": front, **{name: front and front + position for position, name in enumerate(vendors, start=1)}}


def write_port_file(path: Path, urls: Mapping[str, str]) -> None:
    """Write the base URLs whole, never half: a reader that finds the file can trust it."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(urls, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


@asynccontextmanager
async def stop_signals() -> AsyncIterator[asyncio.Future[signal.Signals]]:
    """Done with the first SIGTERM or SIGINT that comes."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[signal.Signals] = loop.create_future()

    def stop(name: signal.Signals) -> None:
        if not stopped.done():
            stopped.set_result(name)

    names = (signal.SIGTERM, signal.SIGINT)
    with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        for name in names:
            loop.add_signal_handler(name, stop, name)
    try:
        yield stopped
    finally:
        with suppress(NotImplementedError):
            for name in names:
                loop.remove_signal_handler(name)
