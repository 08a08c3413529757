"""``AsyncEmulatorClient``: the asynchronous client of a running emulator; ``sync.py`` has the other.

It belongs to the event loop on which it is first used.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from emulator.client import steps
from emulator.client.base import BaseClient, Target, Via
from emulator.client.exposure import warn_of_exposure_async
from emulator.client.request import DEFAULT_URL, ControlRequest, Reply, Steps, build_token_header

if TYPE_CHECKING:
    import aiohttp

P = ParamSpec("P")
T = TypeVar("T")


def _awaiting(
    method: Callable[Concatenate[Target, P], Steps[T]],
) -> Callable[Concatenate[AsyncEmulatorClient, P], Coroutine[None, None, T]]:
    """Wrap a step generator as a coroutine method."""

    @wraps(method)
    async def call(self: AsyncEmulatorClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        return await self._run(method(self._target, *args, **kwargs))

    return call


class AsyncEmulatorClient(BaseClient):
    """Asynchronous client of the emulator at the URL of its front port; :meth:`session` returns one bound to a session.

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
        self._connections = _AsyncConnections(self.front, tls, build_token_header(token))

    url = _awaiting(steps.url)
    env = _awaiting(steps.env)
    scenario = _awaiting(steps.scenario)
    load = _awaiting(steps.load)
    add_rule = _awaiting(steps.add_rule)
    reply = _awaiting(steps.reply)
    refuse = _awaiting(steps.refuse)
    fault = _awaiting(steps.fault)
    outage = _awaiting(steps.outage)
    reset = _awaiting(steps.reset)
    advance = _awaiting(steps.advance)
    clock = _awaiting(steps.clock)
    requests = _awaiting(steps.requests)
    last = _awaiting(steps.last)
    explain = _awaiting(steps.explain)
    verify = _awaiting(steps.verify)
    wait_for = _awaiting(steps.wait_for)
    assert_called = _awaiting(steps.assert_called)
    assert_not_called = _awaiting(steps.assert_not_called)
    assert_order = _awaiting(steps.assert_order)
    assert_sound = _awaiting(steps.assert_sound)
    usage = _awaiting(steps.usage)
    verdict = _awaiting(steps.verdict)
    assert_no_unused_rules = _awaiting(steps.assert_no_unused_rules)
    metrics = _awaiting(steps.metrics)
    report = _awaiting(steps.report)
    har = _awaiting(steps.har)

    async def close(self) -> None:
        """End the client's session, if any, and close its connections."""
        try:
            await self._run(steps.end(self._target))
        finally:
            if not self._is_part:
                await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, todo: Steps[T]) -> T:
        __tracebackhide__ = True
        try:
            request = next(todo)
            while True:
                request = todo.send(await self._connections.send(request))
        except StopIteration as end:
            value: T = end.value
            return value


class _AsyncConnections:
    """HTTP connections to one server."""

    def __init__(self, url: str, tls: ssl.SSLContext | None, headers: Mapping[str, str]) -> None:
        self._url = url
        self._tls = tls
        self._headers = headers
        self._http: aiohttp.ClientSession | None = None
        self._is_checked = not headers

    async def send(self, request: ControlRequest) -> Reply:
        """Send a request and return the response.

        Raises:
            ConnectionError: no server responds.
        """
        import aiohttp  # slow to import, and not needed by the synchronous client

        if not self._is_checked:
            await warn_of_exposure_async(self._url)
            self._is_checked = True
        if self._http is None:
            self._http = aiohttp.ClientSession()
        try:
            async with self._http.request(
                request.method,
                self._url + request.path,
                data=request.body or None,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(request.timeout),
                ssl=self._tls or True,
                allow_redirects=False,  # the token must not reach another server
            ) as response:
                return Reply(response.status, await response.read())
        except aiohttp.ClientConnectionError as error:
            raise ConnectionError(f"no emulator answers at {self._url}: {error}") from None

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None
