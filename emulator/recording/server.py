"""Server of ``emulator record``: listen for clients, pass their calls on to the real services, record them."""

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from functools import partial

from emulator.core.os_errors import explain_address
from emulator.http.connection import Connection, IncomingRequest
from emulator.http.listeners import ConnectionServer, Listener, PortInUse, open_listeners
from emulator.http.sessions import SessionNameError, route_session
from emulator.http.timeouts import TimeoutMonitor, Timeouts, run_housekeeping
from emulator.recording.folder import ExchangeFolder
from emulator.recording.relay import Relay
from emulator.settings import find_visible_host

_OWN = "/_emulator"
_DRAIN = 5.0  # seconds


class RecordServer:
    """Listening sockets of ``emulator record``: a front port, and one port for each service.

    ``urls``: base URL by name, ``front`` first, once :meth:`open` has returned.
    """

    def __init__(self, relay: Relay, folder: ExchangeFolder, limits: Timeouts | None = None) -> None:
        self._relay = relay
        self._folder = folder
        self._limits = limits or Timeouts()
        self._servers: list[tuple[Sequence[Listener], ConnectionServer]] = []
        self._watching: asyncio.Task[None] | None = None
        self.urls: dict[str, str] = {}

    async def open(self, host: str, ports: Mapping[str, int], context: ssl.SSLContext | None = None) -> None:
        """Listen; port 0 takes a free one.

        Raises:
            PortInUse: an address is taken.
        """
        scheme = "https" if context else "http"
        for name in ("front", *self._relay.upstreams):
            web = ConnectionServer(partial(self.serve, vendor="" if name == "front" else name))
            try:
                listeners, number = await open_listeners(web, host, ports.get(name, 0), context)
            except (OSError, UnicodeError) as error:
                await self.close()
                raise PortInUse(explain_address(host, ports.get(name, 0), name, error)) from None
            self._servers.append((listeners, web))
            self.urls[name] = f"{scheme}://{find_visible_host(host)}:{number}"
        monitor = TimeoutMonitor(self._limits)
        self._watching = asyncio.create_task(run_housekeeping(self._limits, [lambda: monitor.check(self.clients())]))

    def clients(self) -> list[Connection]:
        """Return every open connection."""
        return [client for _, web in self._servers for client in web.clients]

    async def close(self) -> None:
        """Stop accepting, let open responses end, write the last exchanges."""
        if self._watching is not None:
            self._watching.cancel()
        for listeners, _ in self._servers:
            for listener in listeners:
                listener.close()
        await asyncio.gather(*(web.finish(_DRAIN) for _, web in self._servers))
        await self._folder.finish()
        await self._relay.close()

    async def serve(self, request: IncomingRequest, vendor: str) -> bool:
        """Pass one request on; ``vendor``: of the port, empty on the front port."""
        head = request.head
        target = head.target if head.target.startswith("/") else head.path
        try:
            route = route_session(target, head.headers)
        except SessionNameError as error:
            return _answer(request, 400, str(error))
        target = route.path
        if not vendor:
            name, slash, rest = target[1:].partition("/")
            if f"/{name}" == _OWN:
                return _answer_own(request, rest.partition("?")[0])
            vendor, target = name.partition("?")[0], slash + rest or "/"
        if vendor not in self._relay.upstreams:
            there = ", ".join(f"/{name}" for name in self._relay.upstreams)
            return _answer(request, 404, f"No service is recorded here; there are {there}.")
        recorder = self._folder.begin(vendor, head.method, target, tuple(route.headers.items()), route.session)
        return await self._relay.pass_on(request, vendor, target, route.headers, recorder)


def _answer(request: IncomingRequest, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> bool:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}\r\nContent-Type: {kind}\r\n"
    request.connection.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    return False


def _answer_own(request: IncomingRequest, path: str) -> bool:
    """Answer the health checks that ``emulator health`` makes; there is no control API."""
    if path in ("health", "ready"):
        return _answer(request, 200, json.dumps({"status": "recording"}), "application/json")
    return _answer(request, 404, "A recording has no control API.")
