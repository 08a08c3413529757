"""Listening sockets: one front port for all vendors, one port for each vendor, and graceful shutdown.

``Port`` finds the session and the vendor of each request, and calls that vendor's handler or the control API.
"""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from emulator.control.plane import ControlPlane
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import ProblemError
from emulator.core.http import Response
from emulator.core.os_errors import explain_address
from emulator.core.storage import LocalState
from emulator.handler.context import RequestTarget
from emulator.handler.handler import VendorApp
from emulator.http.connection import Connection, IncomingRequest, RequestHead, WriteCoalescer
from emulator.http.proactor import AcceptLoop, ProactorConnection, is_proactor, watch_resets
from emulator.http.sessions import SessionNameError, route_session
from emulator.http.sockets import BACKLOG, ConnectionStarter, bind_sockets
from emulator.http.timeouts import TimeoutMonitor, Timeouts, run_housekeeping
from emulator.http.writer import write_control
from emulator.runtime.active import ActiveScenario
from emulator.runtime.runtime import Runtime
from emulator.runtime.sessions import require_capacity
from emulator.settings import find_visible_host

_CANCEL_TIMEOUT = 1.0  # seconds for cancelled handlers to end
_TO_CONSOLE = Response(302, b"", (("Location", "/_emulator/"), ("Vary", "Accept")))


def _is_page_view(head: RequestHead) -> bool:
    """Return whether a browser asks for a page, rather than a client for data."""
    return head.method in ("GET", "HEAD") and "text/html" in head.headers.get("Accept", "")


class ConnectionServer:
    """Connections of one listening socket; see :class:`RequestServer`.

    ``came``: called for each new connection.
    """

    def __init__(
        self,
        serve: Callable[[IncomingRequest], Coroutine[Any, Any, bool]],
        is_inline: Callable[[IncomingRequest], bool] = lambda request: False,
    ) -> None:
        self.serve = serve
        self.is_inline = is_inline
        self.came: Callable[[], None] | None = None
        self.connections: set[Connection] = set()
        self.coalescer = WriteCoalescer()
        self.heads: dict[bytes, RequestHead] = {}
        self._loop = asyncio.get_running_loop()
        self._create = ProactorConnection if is_proactor(self._loop) else Connection

    def __call__(self) -> Connection:
        if self.came is not None:
            self.came()
        return self._create(self, self._loop)

    @property
    def clients(self) -> list[Connection]:
        """Return the connections that are open or still write a response."""
        return [*self.connections]

    def forget_heads(self, session: str) -> None:
        """Forget the remembered heads of a session; without a name, all."""
        others = (
            {} if not session else {data: head for data, head in self.heads.items() if not _leads_to(head, session)}
        )
        self.heads.clear()
        self.heads.update(others)

    async def finish(self, seconds: float) -> None:
        """Wait up to ``seconds`` for open responses, then abort the rest; if cancelled, abort at once."""
        waiting = [asyncio.ensure_future(client.finish()) for client in self.clients]
        try:
            if waiting:
                _, late = await asyncio.wait(waiting, timeout=seconds)
                for client in self.clients:
                    client.abort()
                if late:
                    await asyncio.wait(late, timeout=_CANCEL_TIMEOUT)
        finally:
            for waiter in waiting:
                waiter.cancel()
            for client in self.clients:
                client.abort()


_MAX_ACCEPTED = 256  # connections per loop iteration, so that open connections are served too


class Acceptor:
    """Acceptor of all pending connections per loop iteration; uvloop alone accepts one.

    ``make``: creates the protocol of a connection. ``handshake_timeout``, ``shutdown_timeout``: of TLS, in seconds.
    """

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None = None,
        handshake_timeout: float | None = None,
        shutdown_timeout: float | None = None,
    ) -> None:
        self._sockets = [socket.socket(fileno=os.dup(sock.fileno())) for sock in sockets]
        for sock in self._sockets:
            sock.setblocking(False)
        self._starter = ConnectionStarter(make, context, handshake_timeout, shutdown_timeout)
        self._loop = asyncio.get_running_loop()
        self._is_scheduled = False

    def on_readable(self) -> None:
        """Schedule the acceptance of pending connections."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._admit)

    def close(self) -> None:
        """Stop accepting."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def _admit(self) -> None:
        self._is_scheduled = False
        for sock in self._sockets:
            for _ in range(_MAX_ACCEPTED):
                try:
                    client, _ = sock.accept()
                except OSError:  # nothing pending; the event loop reports any other error
                    break
                client.setblocking(False)
                self._starter.start(client)


log = logging.getLogger("emulator")
_HANDSHAKE_TIMEOUT = 60.0  # seconds
_SHUTDOWN_TIMEOUT = 1.0  # seconds for the client's close_notify; an idle pooled client sends none
DRAIN_TIMEOUT = 30.0  # seconds that open responses get after SIGTERM
_CONTROL = "/_emulator"
MAX_PORTS_OF_SESSION = 100
MAX_PORTS = 1_000  # of all sessions; each is an open file


Listener = asyncio.Server | Acceptor | AcceptLoop
"""What accepts the connections of a listening socket until it is closed."""


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Socket:
    """Listening socket and its connections."""

    listeners: Sequence[Listener]
    web: ConnectionServer
    port: int

    def close(self) -> None:
        """Stop accepting."""
        for listener in self.listeners:
            listener.close()


async def open_listeners(
    web: ConnectionServer,
    host: str,
    port: int,
    context: ssl.SSLContext | None,
    max_handshake: float = _HANDSHAKE_TIMEOUT,
    *,
    shares_port: bool = False,
) -> tuple[list[Listener], int]:
    """Listen on every address of a host; return what accepts connections there, and the port.

    Raises:
        OSError: an address cannot be bound.
    """
    loop = asyncio.get_running_loop()
    handshake_timeout = None if context is None else min(max_handshake, _HANDSHAKE_TIMEOUT)
    shutdown_timeout = None if context is None else _SHUTDOWN_TIMEOUT
    bound = await bind_sockets(host, port, shares_port=shares_port)
    port = int(bound[0].getsockname()[1])
    if is_proactor(loop):
        watch_resets(loop)
        return [AcceptLoop(sock, web, context, handshake_timeout, shutdown_timeout) for sock in bound], port
    listeners: list[Listener] = []
    if not isinstance(loop, asyncio.BaseEventLoop):  # asyncio's own loop accepts all pending connections
        acceptor = Acceptor(bound, web, context, handshake_timeout, shutdown_timeout)
        web.came = acceptor.on_readable
        listeners.append(acceptor)
    for sock in bound:
        server = await loop.create_server(
            web,
            sock=sock,
            ssl=context,
            backlog=BACKLOG,
            ssl_handshake_timeout=handshake_timeout,
            ssl_shutdown_timeout=shutdown_timeout,
        )
        listeners.append(server)
    return listeners, port


class PortInUse(Exception):
    """The address is in use or cannot be bound; the message is one line for the user."""


class Listeners:
    """Listening sockets of one emulator.

    ``urls``: base URL by name, ``front`` first, once :meth:`open` has returned.
    ``drain``: seconds that open responses get at shutdown; ``limits``: client timeouts.
    ``housekeeping``: functions called every few seconds. ``shares_ports``: other processes listen on the same ports.
    """

    def __init__(
        self,
        runtime: Runtime,
        control: ControlPlane,
        drain: float = DRAIN_TIMEOUT,
        limits: Timeouts | None = None,
        *,
        shares_ports: bool = False,
    ) -> None:
        self.runtime = runtime
        self.control = control
        self._drain = drain
        self._shares_ports = shares_ports
        self._limits = limits or Timeouts()
        self._timeouts = TimeoutMonitor(self._limits)
        self.housekeeping: list[Callable[[], None]] = [
            self._check_timeouts,
            runtime.sessions.evict_idle,
            runtime.history.sample,
        ]
        self._watching: asyncio.Task[None] | None = None
        self._sockets: list[_Socket] = []
        self._host = ""
        self._ports: Mapping[str, int] = {}
        self._context: ssl.SSLContext | None = None
        self._own: dict[tuple[str, str], _Socket] = {}
        self._opening = asyncio.Lock()  # two requests for one port open it once
        self._ending: set[asyncio.Future[None]] = set()
        self.urls = runtime.urls
        self.scheme = "http"
        runtime.on_session_end.append(self._close_session)
        runtime.on_change.append(self._forget_heads)

    async def open(self, host: str, ports: Mapping[str, int], context: ssl.SSLContext | None = None) -> None:
        """Listen on the front port and on one port for each served vendor; port 0 picks a free one.

        Raises:
            PortInUse: an address is taken; all sockets are closed again.
        """
        self._host, self._ports, self._context = host, ports, context
        self.scheme = "https" if context else "http"
        try:
            await self._open_served()
        except PortInUse:
            await self.close()
            raise
        self._watching = asyncio.create_task(run_housekeeping(self._limits, self.housekeeping))
        self.control.urls = self.urls
        self.control.follow = self.follow
        self.runtime.open_for = self.open_for
        self.runtime.follow = self.follow
        self.control.ready = True

    async def follow(self) -> None:
        """Open the ports a new scenario needs; a vendor without its port is served on the front port only."""
        try:
            await self._open_served()
        except PortInUse as error:
            log.warning("%s", error)

    async def open_for(self, session: str, vendor: str) -> str:
        """Return the base URL of a vendor on a free port of the session, open until the session ends.

        Raises:
            ProblemError: 429 if too many ports are open.
        """
        key = (session, vendor)
        async with self._opening:
            if key not in self._own:
                require_capacity(self.runtime.sessions, session)
                self._check_ports(session)
                self._own[key] = await self._listen(Port(self, vendor, session), 0)
                self.runtime.sessions.keep(session)
            return self._url(self._own[key].port)

    def _check_ports(self, session: str) -> None:
        of_session = sum(name == session for name, _ in self._own)
        for count, maximum, owner in (
            (of_session, MAX_PORTS_OF_SESSION, "this session"),
            (len(self._own), MAX_PORTS, "sessions"),
        ):
            if count >= maximum:
                raise ProblemError(429, "Too many ports", f"{count:,} ports of {owner} are open, which is the maximum.")

    def _close_session(self, session: str) -> None:
        """Close the ports of a session that has ended."""
        for key in [key for key in self._own if key[0] == session]:
            sock = self._own.pop(key)
            sock.close()
            task = asyncio.ensure_future(sock.web.finish(self._drain))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.add_done_callback(lambda _, sock=sock: self._drop(sock))  # type: ignore[misc]

    def _drop(self, sock: _Socket) -> None:
        if sock in self._sockets:  # not if the server has closed in the meantime
            self._sockets.remove(sock)

    def _forget_heads(self, session: str) -> None:
        """Forget the heads of a session after a change of its scenario, which they refer to; without a name, all."""
        for sock in self._sockets:
            sock.web.forget_heads(session)

    def _check_timeouts(self) -> None:
        self._timeouts.check(self.clients())

    def clients(self) -> list[Connection]:
        """Return every open connection."""
        return [client for sock in self._sockets for client in sock.web.clients]

    async def _open_served(self) -> None:
        """Open the ports of served vendors and planes that are not open yet."""
        apps = self.runtime.active.apps
        for name, port in (*self._ports.items(), *apps.planes.items()):
            if name in self.urls or not (name == "front" or name in apps):
                continue
            try:
                sock = await self._listen(Port(self, "" if name == "front" else name), port)
            except (OSError, UnicodeError) as error:
                raise PortInUse(explain_address(self._host, port, name, error)) from None
            self.urls[name] = self._url(sock.port)

    async def _listen(self, port: "Port", number: int) -> _Socket:
        web = ConnectionServer(port.serve, port.is_inline)
        shares = self._shares_ports and number > 0  # a port of a session is not shared
        listeners, chosen = await open_listeners(
            web, self._host, number, self._context, self._limits.head, shares_port=shares
        )
        sock = _Socket(listeners, web, chosen)
        self._sockets.append(sock)
        return sock

    def _url(self, port: int) -> str:
        return f"{self.scheme}://{find_visible_host(self._host)}:{port}"

    @property
    def open_answers(self) -> int:
        """Return the number of open responses."""
        return sum(metrics.in_flight() for metrics in self.runtime.metrics.values())

    async def close(self) -> None:
        """Stop accepting, let open responses drain, close; if cancelled, abort them at once."""
        self.control.ready = False
        if self._watching is not None:
            self._watching.cancel()
        for sock in self._sockets:
            sock.close()
        await asyncio.sleep(0)  # requests that have arrived begin
        self.runtime.close()
        await asyncio.gather(*(sock.web.finish(self._drain) for sock in self._sockets))
        self._sockets.clear()


@fast_dataclass(frozen=True, slots=True, eq=False)
class _Destination:
    """Target of the requests with one head, as long as neither the server's nor the session's scenario changes."""

    server: ActiveScenario
    active: ActiveScenario
    app: VendorApp
    target: RequestTarget

    def is_valid(self, runtime: Runtime) -> bool:
        """Return whether the scenarios are still those that the target was found under."""
        session, server = self.target.session, runtime.active
        return self.server is server and self.active is (runtime.find(session) if session else server)


def _leads_to(head: RequestHead, session: str) -> bool:
    return isinstance(head.destination, _Destination) and head.destination.target.session == session


class Port:
    """Request dispatch of one port: a vendor's root, or the front port with a prefix per vendor.

    ``vendor``: empty on the front port; ``session``: the session that owns the port, if one does.
    """

    def __init__(self, listeners: Listeners, vendor: str, session: str = "") -> None:
        self._runtime = listeners.runtime
        self._control = listeners.control
        self._scheme = listeners.scheme
        self.vendor = vendor
        self.session = session
        is_local = isinstance(listeners.runtime.active.emulator.state, LocalState)
        self._is_local = is_local and listeners.runtime.forwarding is None

    def is_inline(self, request: IncomingRequest) -> bool:
        """Return whether the request may run without a task: neither store, control API nor services use timeouts."""
        return self._is_local and not request.head.path.startswith(_CONTROL)

    def serve(self, request: IncomingRequest) -> Coroutine[Any, Any, bool]:
        """Serve one request: of the control API, or of a vendor within a session; it returns whether to keep alive."""
        runtime, found = self._runtime, request.head.destination
        if isinstance(found, _Destination) and found.is_valid(runtime):
            runtime.begin_call(found.target.session)
            return found.app.serve(request, found.target)
        path = request.head.path
        if path.startswith(_CONTROL) and path[len(_CONTROL) : len(_CONTROL) + 1] in ("", "/"):
            return self._serve_control(request)
        return self._route(request)

    async def _serve_control(self, request: IncomingRequest) -> bool:
        return await write_control(request, await self._control.api.serve(request))

    async def _route(self, request: IncomingRequest) -> bool:
        """Find the session and the vendor of a request, and have the vendor answer it."""
        head, runtime = request.head, self._runtime
        try:
            route = route_session(head.path, head.headers, runtime.credentials_for, self.session)
        except SessionNameError as error:
            return await write_control(request, self._control.api.refuse_session(str(error)))
        active = runtime.begin_call(route.session)
        name, path, prefix = self.vendor, route.path, route.prefix
        if not name:
            name, slash, rest = path[1:].partition("/")
            path, prefix = slash + rest or "/", f"{prefix}/{name}"
        app = active.apps.get(name)
        if app is None and path == "/" and not name and _is_page_view(head):
            return await write_control(request, _TO_CONSOLE)
        if app is None:
            answer = await self._control.api.serve_unknown(head.method, route.session, route.path)
            return await write_control(request, answer)
        base = f"{self._scheme}://{head.headers.get('Host', '')}{prefix}"
        target = app.find_target(head, route, path, base)
        head.destination = _Destination(runtime.active, active, app, target)
        return await app.serve(request, target)


def number_ports(vendors: Iterable[str], front: int) -> dict[str, int]:
    """Assign the front port, then one port per vendor in order; a vendor that is not served leaves its port unused."""
    return {"front": front, **{name: front and front + position for position, name in enumerate(vendors, start=1)}}
