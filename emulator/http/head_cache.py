"""Cache of request heads for the fast path, which responds without a task as soon as the last byte arrives.

The fast path handles only requests that :mod:`emulator.handler.app` would answer with the same bytes: calls without
matching rules, limits, faults or stored documents. Timed responses are written by the clock's timer. All other
requests fall through to the general path without side effects.
"""

from __future__ import annotations

import logging

from aiohttp import web

from emulator.core.cache import Cache, create_stats
from emulator.core.errors import EmulatedError
from emulator.handler.app import VendorApp
from emulator.http.cached_head import END, MAX_DIGITS, CachedHead, EncodedResponse, Name, TimedWriter
from emulator.http.sessions import HEADER, PREFIX, SessionRoute
from emulator.runtime.runtime import Runtime

log = logging.getLogger("emulator")
_MAX_HEADS = 512  # cached heads; also names of heads seen once
_MAX_MISSES = 8  # consecutive requests of a head that the fast path does not handle
_LENGTHS = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_FRAMED = (b"\ncontent-length", b"\ntransfer-encoding")
_KEEP_ALIVE = "keep-alive"
_TALLY = create_stats("heads")
_EXCLUDED = ("Expect", "Upgrade", "Content-Encoding", "Transfer-Encoding")


def read_frame(data: bytes) -> tuple[bytes, bytes, int, int] | None:
    """Split a request at its body length; return both parts of the head, and start and end of the body.

    ``None``: the head is incomplete or has no ``Content-Length`` in one of the two common spellings.
    """
    end = data.find(END)
    if end < 0:
        return None
    for name in _LENGTHS:
        at = data.find(name, 0, end)
        if at >= 0:
            start = at + len(name)
            stop = data.find(b"\r", start)
            digits = data[start:stop]
            if stop - start <= MAX_DIGITS and digits.isdigit():
                begin = end + len(END)
                return data[:start], data[stop:end], begin, begin + int(digits)
    return None


def is_bare(data: bytes) -> bool:
    """Return whether ``data`` is exactly one request head without a body."""
    return data.find(END) == len(data) - len(END) and not any(name in data.lower() for name in _FRAMED)


class HeadCache:
    """Cache of request heads for all ports; ``handled``: number of calls that the fast path handled."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.handled = 0
        self._heads: dict[Name, CachedHead] = {}
        self._seen_once: Cache[Name, None] = Cache()
        self._rejected: set[Name] = set()
        runtime.on_change.append(self._forget)

    def recognize(
        self, data: bytes, own: tuple[str, str], latest: CachedHead | None
    ) -> tuple[CachedHead, int, int] | None:
        """Return the cached head of a request, with start and end of the body; ``None`` if the head is unknown.

        ``latest``: head of the connection's last request, as most clients repeat their head.
        """
        heads = self._heads
        if latest is not None and heads.get(latest.name) is latest:
            extent = latest.measure(data)
            if extent is not None:
                _TALLY.hits += 1
                return latest, *extent
        frame = read_frame(data)
        if frame is None:
            return None
        before, after, begin, end = frame
        head = heads.get((*own, before, after))
        if head is None:
            _TALLY.misses += 1
            return None
        _TALLY.hits += 1
        return head, begin, end

    def answer(self, head: CachedHead, body: bytes) -> EncodedResponse | TimedWriter | None:
        """Return the response; ``None`` if the general path must handle the request."""
        runtime, session = self._runtime, head.session
        if runtime.active is not head.server or (session and runtime.find(session) is not head.active):
            self._heads.pop(head.name, None)
            return None
        try:
            answer = head.answers.answer(head, body)
        except EmulatedError:
            answer = None  # the general path renders the error
        except Exception:
            log.exception("bug in the emulator: POST %s", head.path)
            answer = None
        if answer is None:
            head.misses += 1
            if head.misses > _MAX_MISSES:
                self._reject(head)
            return None
        head.misses = 0
        self.handled += 1
        if session:
            runtime.begin_call(session)
        return answer

    def _reject(self, head: CachedHead) -> None:
        """Remove a head and do not cache it again under this scenario."""
        self._heads.pop(head.name, None)
        if len(self._rejected) >= _MAX_HEADS:
            self._rejected.clear()
        self._rejected.add(head.name)

    def learn(
        self, name: Name, http: web.BaseRequest, app: VendorApp, route: SessionRoute, path: str, base: str
    ) -> None:
        """Note the head of a request on the general path; cache the head from its second request on."""
        if name in self._heads or name in self._rejected or not _is_eligible(http, route):
            return
        if name not in self._seen_once:
            if len(self._seen_once) >= _MAX_HEADS:
                self._seen_once.clear()
            self._seen_once[name] = None
            return
        runtime = self._runtime
        scenarios = runtime.active, runtime.find(route.session) if route.session else runtime.active
        head = app.cache_head(name, http, route, path, base, scenarios)
        if head is not None:
            if len(self._heads) >= _MAX_HEADS:
                self._heads.clear()
            self._heads[name] = head

    def _forget(self, session: str) -> None:
        """Drop the heads of a session after a change of its scenario; without a name, all heads."""
        self._rejected.clear()
        if session:
            self._heads = {name: head for name, head in self._heads.items() if head.session != session}
        else:
            self._heads.clear()


def _is_eligible(http: web.BaseRequest, route: SessionRoute) -> bool:
    """Return whether the request asks for a plain response, without upgrades and emulator headers."""
    if http.method != "POST" or http.version < (1, 1) or not http.keep_alive:
        return False
    if any(name in http.headers for name in _EXCLUDED):
        return False
    if http.headers.get("Connection", _KEEP_ALIVE).lower() != _KEEP_ALIVE:
        return False
    return not route.overrides or all(
        name.lower() == HEADER or not name.lower().startswith(PREFIX) for name in route.headers
    )
