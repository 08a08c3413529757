"""Listening sockets: one front for all vendors, one port for each vendor, and graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from emulator.control.api import ControlPlane
from emulator.control.models import Problem
from emulator.control.problem import problem_response
from emulator.core.errors import ProblemError
from emulator.core.os_errors import explain_address
from emulator.http.connection import Connection, WriteCoalescer
from emulator.http.head_cache import HeadCache
from emulator.http.sessions import SessionNameError, route_session
from emulator.http.timeouts import TimeoutMonitor, Timeouts, run_housekeeping
from emulator.http.writer import GO_ON
from emulator.runtime.runtime import Runtime
from emulator.runtime.sessions import require_capacity

_GRACE = 1.0  # seconds for what was cancelled to come to its end


class _Request(web.BaseRequest):
    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        """No answer names the framework."""
        response.headers.pop("Server", None)


class ConnectionServer(web.Server):
    """The connections of one listening socket.

    ``own``: its vendor and session, if it is for one; ``came``: told of each client that came in.
    """

    def __init__(
        self,
        serve: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        lane: HeadCache | None = None,
        own: tuple[str, str] = ("", ""),
    ) -> None:
        super().__init__(serve, handler_cancellation=True)
        self.heads = lane
        self.own = own
        self.came: Callable[[], None] | None = None
        self._outbox = WriteCoalescer()

    def __call__(self) -> Connection:
        if self.came is not None:
            self.came()
        return Connection(self, self._loop, self.heads, self._outbox, self.own)

    @property
    def clients(self) -> list[Connection]:
        """Those that are open, or whose answer has not come to its end."""
        return [connection for connection in self.connections if isinstance(connection, Connection)]

    def _make_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return _Request(message, payload, protocol, writer, task, self._loop)

    async def finish(self, seconds: float) -> None:
        """Let answers that are under way end, for so long at most; what is left then, or if cancelled, ends at once."""
        waiting = [asyncio.ensure_future(client.finish()) for client in self.clients]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=seconds)
        finally:
            for waiter in waiting:
                waiter.cancel()
            for client in self.clients:
                client.abort()
        left = [task for client in self.clients if (task := client._task_handler) is not None]
        if left:
            await asyncio.wait(left, timeout=_GRACE)


_MOST = 256  # clients at a time: others have their turn


class Acceptor:
    """The clients that wait at some listening sockets; ``make``: the protocol of each that comes in.

    ``shake``, ``farewell``: seconds for TLS to begin and to end.
    """

    def __init__(
        self,
        sockets: Iterable[socket.socket],
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None = None,
        shake: float | None = None,
        farewell: float | None = None,
    ) -> None:
        self._sockets = [socket.socket(fileno=os.dup(sock.fileno())) for sock in sockets]
        for sock in self._sockets:
            sock.setblocking(False)
        self._make = make
        self._context = context
        self._shake = shake
        self._farewell = farewell
        self._loop = asyncio.get_running_loop()
        self._entering: set[asyncio.Task[object]] = set()
        self._looking = False

    def on_readable(self) -> None:
        """One came in; others may wait."""
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._admit)

    def close(self) -> None:
        """Let nobody in any more."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def _admit(self) -> None:
        self._looking = False
        for sock in self._sockets:
            for _ in range(_MOST):
                try:
                    client, _ = sock.accept()
                except OSError:  # nobody waits; what else may be wrong the event loop meets, too
                    break
                client.setblocking(False)
                task: asyncio.Task[object] = self._loop.create_task(self._enter(client))
                self._entering.add(task)
                task.add_done_callback(self._entering.discard)

    async def _enter(self, client: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._shake,
                ssl_shutdown_timeout=self._farewell,
            )
        except OSError:  # it left, or its TLS does not begin
            client.close()


log = logging.getLogger("emulator")
_BACKLOG = 2048  # connections that wait to be accepted
_LONGEST_SHAKE = 60.0  # seconds for TLS to begin
_FAREWELL = 1.0  # seconds for a client to agree that TLS ends; one that rests in a pool does not listen
DRAIN = 30.0  # seconds that open answers get after SIGTERM
_CONTROL = "/_emulator"
MOST_PORTS_OF_ONE = 100  # ports of one session's own
MOST_PORTS = 1_000  # ports of all sessions' own; each is an open file


@dataclass(frozen=True, slots=True, eq=False)
class _Socket:
    """One that listens, and the connections that came of it."""

    server: asyncio.Server
    acceptor: Acceptor | None
    web: ConnectionServer
    port: int

    def close(self) -> None:
        """Let nobody in any more."""
        self.server.close()
        if self.acceptor is not None:
            self.acceptor.close()


class PortInUse(Exception):
    """An address that cannot be had; one line for a person."""


class Listeners:
    """All listening sockets of one emulator.

    ``urls``: base URL by name, ``front`` first, once :meth:`open` has returned.
    ``drain``: seconds that open answers get at the end; ``limits``: that clients get.
    ``chores``: done every few seconds. ``shares_ports``: other processes listen on the same.
    """

    def __init__(
        self,
        runtime: Runtime,
        control: ControlPlane,
        drain: float = DRAIN,
        limits: Timeouts | None = None,
        *,
        shares_ports: bool = False,
    ) -> None:
        self.runtime = runtime
        self.control = control
        self._drain = drain
        self._shares_ports = shares_ports
        self._limits = limits or Timeouts()
        self._patience = TimeoutMonitor(self._limits)
        self.chores: list[Callable[[], None]] = [self._look_at_clients, runtime.sessions.forget_idle]
        self._watching: asyncio.Task[None] | None = None
        self._sockets: list[_Socket] = []
        self._host = ""
        self._ports: Mapping[str, int] = {}
        self._context: ssl.SSLContext | None = None
        self._own: dict[tuple[str, str], _Socket] = {}
        self.heads = HeadCache(runtime)
        self._ending: set[asyncio.Future[None]] = set()
        self.urls = runtime.urls
        self.scheme = "http"
        runtime.forgotten.append(self._end)

    async def open(self, host: str, ports: Mapping[str, int], context: ssl.SSLContext | None = None) -> None:
        """Listen on the front and on the port of each vendor that is served; port 0 takes a free one.

        Raises:
            PortInUse: an address is taken; nothing stays open.
        """
        self._host, self._ports, self._context = host, ports, context
        self.scheme = "https" if context else "http"
        try:
            await self._open_served()
        except PortInUse:
            await self.close()
            raise
        self._watching = asyncio.create_task(run_housekeeping(self._limits, self.chores))
        self.control.urls = self.urls
        self.control.follow = self.follow
        self.runtime.open_for = self.open_for
        self.runtime.follow = self.follow
        self.control.ready = True

    async def follow(self) -> None:
        """Open what another scenario needs; a vendor whose port cannot be had is served on the front alone."""
        try:
            await self._open_served()
        except PortInUse as error:
            log.warning("%s", error)

    async def open_for(self, session: str, vendor: str) -> str:
        """The base URL of a vendor on a free port that is a session's own, until the session ends.

        Raises:
            ProblemError: 429, as there are too many.
        """
        key = (session, vendor)
        if key not in self._own:
            require_capacity(self.runtime.sessions, session)
            self._check_ports(session)
            self._own[key] = await self._listen(Port(self, vendor, session), 0)
            self.runtime.sessions.keep(session)
        return self._url(self._own[key].port)

    def _check_ports(self, session: str) -> None:
        of_session = sum(owner == session for owner, _ in self._own)
        for count, most, whose in (
            (of_session, MOST_PORTS_OF_ONE, "this session"),
            (len(self._own), MOST_PORTS, "sessions"),
        ):
            if count >= most:
                raise ProblemError(429, "Too many ports", f"{count:,} ports of {whose} are open, which is the most.")

    def _end(self, session: str) -> None:
        """A session has ended; its ports are closed."""
        for key in [key for key in self._own if key[0] == session]:
            sock = self._own.pop(key)
            sock.close()
            task = asyncio.ensure_future(sock.web.finish(self._drain))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.add_done_callback(lambda _, sock=sock: self._sockets.remove(sock))  # type: ignore[misc]

    def _look_at_clients(self) -> None:
        self._patience.check(self.clients())

    def clients(self) -> list[Connection]:
        """Every connection that is open."""
        return [client for sock in self._sockets for client in sock.web.clients]

    async def _open_served(self) -> None:
        """Open the ports of vendors and planes that the scenario at work serves and none before it did."""
        apps = self.runtime.active.apps
        for name, port in (*self._ports.items(), *apps.planes.items()):
            if name in self.urls or not (name == "front" or name in apps):
                continue
            try:
                sock = await self._listen(Port(self, "" if name == "front" else name), port)
            except (OSError, UnicodeError) as error:
                raise PortInUse(explain_address(self._host, port, name, error)) from None
            self.urls[name] = self._url(sock.port)

    async def _listen(self, port: Port, number: int) -> _Socket:
        web = ConnectionServer(port.serve, self.heads, (port.vendor, port.session))
        loop, context = asyncio.get_running_loop(), self._context
        shake = None if context is None else min(self._limits.head, _LONGEST_SHAKE)
        farewell = None if context is None else _FAREWELL
        server = await loop.create_server(
            web,
            self._host,
            number,
            ssl=context,
            backlog=_BACKLOG,
            reuse_port=self._shares_ports and number > 0,  # a free one is a session's own
            ssl_handshake_timeout=shake,
            ssl_shutdown_timeout=farewell,
        )
        door = None
        if not isinstance(loop, asyncio.BaseEventLoop):  # which takes all who wait
            door = Acceptor(server.sockets, web, context, shake, farewell)
            web.came = door.on_readable
        sock = _Socket(server, door, web, int(server.sockets[0].getsockname()[1]))
        self._sockets.append(sock)
        return sock

    def _url(self, port: int) -> str:
        return f"{self.scheme}://{_visible(self._host)}:{port}"

    @property
    def open_answers(self) -> int:
        """How many have begun and not ended."""
        return sum(metrics.in_flight() for metrics in self.runtime.metrics.values())

    async def close(self) -> None:
        """Stop accepting, let open answers end for a time, close; if cancelled, what is open ends now."""
        self.control.ready = False
        if self._watching is not None:
            self._watching.cancel()
        for sock in self._sockets:
            sock.close()
        await asyncio.sleep(0)  # what has arrived is begun
        self.runtime.close()
        await asyncio.gather(*(sock.web.finish(self._drain) for sock in self._sockets))
        self._sockets.clear()


class Port:
    """One listening socket: a vendor's bare root, or the front where each vendor has a prefix.

    ``vendor``: none of the front; ``session``: whose port it is, if a session's own.
    """

    def __init__(self, listeners: Listeners, vendor: str, session: str = "") -> None:
        self._runtime = listeners.runtime
        self._control = listeners.control
        self._scheme = listeners.scheme
        self.vendor = vendor
        self.session = session
        self._lane = listeners.heads

    async def serve(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one request: the control plane's, or that of a vendor in the session it names.

        Raises:
            BadStatusLine: it is one of a version of HTTP that nobody answers in, or of none.
        """
        if http.version[0] != 1:
            raise BadStatusLine
        path = http.path
        if path.startswith(_CONTROL) and path[len(_CONTROL) : len(_CONTROL) + 1] in ("", "/"):
            return await self._control.serve(http)
        try:
            found = route_session(path, http.headers, self._runtime.keys_of, self.session)
        except SessionNameError as error:
            return problem_response(Problem(title="Bad session", status=400, detail=str(error)))
        active = self._runtime.begin_call(found.session)
        name, path, prefix = self.vendor, found.path, found.prefix
        if not name:
            name, slash, rest = path[1:].partition("/")
            path, prefix = slash + rest or "/", f"{prefix}/{name}"
        app = active.apps.get(name)
        if app is None:
            return await self._control.serve_unknown(http, found.session, found.path)
        base = f"{self._scheme}://{http.headers.get('Host', '')}{prefix}"
        connection = http.protocol
        if not isinstance(connection, Connection):
            return await app.serve(http, found, path, base)
        if connection.name is not None:
            self._lane.learn(connection.name, http, app, found, path, base)
        played = await app.serve(http, found, path, base)
        connection.is_free = played is GO_ON
        return played


def _visible(host: str) -> str:
    """An address that a client on this machine can use."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104  # nothing is bound here
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def number_ports(vendors: Iterable[str], front: int) -> dict[str, int]:
    """The front port, then one per vendor in order; a vendor that is not served leaves its number free."""
    return {"front": front, **{name: front and front + position for position, name in enumerate(vendors, start=1)}}
