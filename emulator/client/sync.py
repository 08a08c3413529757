"""``EmulatorClient``: the synchronous client of a running emulator, which threads may share; ``aio.py`` has the other.

``steps.py`` has what both do, as generators of HTTP requests; this module sends these requests and blocks.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from functools import wraps
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit

from emulator.client import steps
from emulator.client.base import BaseClient, Target, Via
from emulator.client.exposure import warn_of_exposure
from emulator.client.request import DEFAULT_URL, ControlRequest, Reply, Steps, build_token_header
from emulator.core.os_errors import explain_file

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(method: Callable[Concatenate[Target, P], Steps[T]]) -> Callable[Concatenate[EmulatorClient, P], T]:
    """Wrap a step generator as a method that blocks until it has its result."""

    @wraps(method)
    def call(self: EmulatorClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        return self._run(method(self._target, *args, **kwargs))

    return call


class EmulatorClient(BaseClient):
    """Client of the emulator at the URL of its front port; :meth:`session` returns one bound to a session.

    ``token``: control token; absent: the variable ``EMULATOR_CONTROL_TOKEN``.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        session: str = "",
        via: Via | None = None,
        tls: ssl.SSLContext | None = None,
        token: str | None = None,
    ) -> None:
        super().__init__(url, session, via)
        self._connections = _Connections(self.front, tls, build_token_header(token))

    url = _blocking(steps.url)
    env = _blocking(steps.env)
    scenario = _blocking(steps.scenario)
    load = _blocking(steps.load)
    add_rule = _blocking(steps.add_rule)
    reply = _blocking(steps.reply)
    refuse = _blocking(steps.refuse)
    fault = _blocking(steps.fault)
    outage = _blocking(steps.outage)
    reset = _blocking(steps.reset)
    advance = _blocking(steps.advance)
    clock = _blocking(steps.clock)
    requests = _blocking(steps.requests)
    last = _blocking(steps.last)
    explain = _blocking(steps.explain)
    verify = _blocking(steps.verify)
    wait_for = _blocking(steps.wait_for)
    assert_called = _blocking(steps.assert_called)
    assert_not_called = _blocking(steps.assert_not_called)
    assert_order = _blocking(steps.assert_order)
    assert_sound = _blocking(steps.assert_sound)
    usage = _blocking(steps.usage)
    verdict = _blocking(steps.verdict)
    assert_no_unused_rules = _blocking(steps.assert_no_unused_rules)
    metrics = _blocking(steps.metrics)
    report = _blocking(steps.report)
    har = _blocking(steps.har)

    def close(self) -> None:
        """End the client's session, if any, and close its connections."""
        try:
            self._run(steps.end(self._target))
        finally:
            if not self._is_part:
                self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, todo: Steps[T]) -> T:
        __tracebackhide__ = True
        try:
            request = next(todo)
            while True:
                request = todo.send(self._connections.send(request))
        except StopIteration as end:
            value: T = end.value
            return value


class _Connections:
    """Pool of HTTP connections to one server; each carries one request at a time."""

    def __init__(self, url: str, tls: ssl.SSLContext | None, headers: Mapping[str, str]) -> None:
        self._url = url
        self._tls = tls
        self._headers = headers
        self._idle: list[HTTPConnection] = []
        self._is_checked = not headers

    def send(self, request: ControlRequest) -> Reply:
        """Send a request and return the response.

        Raises:
            ConnectionError: no server responds.
        """
        if not self._is_checked:
            warn_of_exposure(self._url)
            self._is_checked = True
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # not asked before: another thread may take the last one meanwhile
                break
            try:
                return self._try(connection, request)
            except (ConnectionError, HTTPException):  # the server closed the idle connection
                connection.close()
        try:
            return self._try(self._open(), request)
        except (ConnectionError, HTTPException) as error:
            reason = explain_file(error) if isinstance(error, OSError) else str(error)
            raise ConnectionError(f"no emulator answers at {self._url}: {reason}") from None

    def _try(self, connection: HTTPConnection, request: ControlRequest) -> Reply:
        connection.timeout = request.timeout
        if connection.sock is not None:
            connection.sock.settimeout(request.timeout)
        connection.request(request.method, request.path, request.body or None, self._headers)
        response = connection.getresponse()
        reply = Reply(response.status, response.read())
        self._idle.append(connection)
        return reply

    def _open(self) -> HTTPConnection:
        url = urlsplit(self._url)
        if url.scheme == "https":
            return HTTPSConnection(url.hostname or "", url.port, context=self._tls)
        return HTTPConnection(url.hostname or "", url.port)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
