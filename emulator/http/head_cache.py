"""The short road: a usual call whose head has come before is answered as soon as its last byte is there.

No task and no framework: where it takes its time, the clock's timer writes it. It takes only what the long road of
:mod:`emulator.handler.app` would answer with the same bytes: calls that no rule, limit, fault or kept document has a
say in. All else, and whatever it cannot answer, it leaves alone before anything has happened.
"""

from __future__ import annotations

import logging

from aiohttp import web

from emulator.core.cache import Cache, create_stats
from emulator.core.errors import EmulatedError
from emulator.handler.app import VendorApp
from emulator.http.cached_head import END, MOST_DIGITS, CachedHead, DelayedWriter, Name, Written
from emulator.http.sessions import HEADER, PREFIX, SessionRoute
from emulator.runtime.runtime import Runtime

log = logging.getLogger("emulator")
_MOST = 512  # heads that are known, and names of those that came once
_PATIENCE = 8  # calls in a row that it was not for
_LENGTHS = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_FRAMED = (b"\ncontent-length", b"\ntransfer-encoding")
_GO_ON = "keep-alive"
_TALLY = create_stats("heads")
_UNUSUAL = ("Expect", "Upgrade", "Content-Encoding", "Transfer-Encoding")


def read_frame(data: bytes) -> tuple[bytes, bytes, int, int] | None:
    """A head before and after the length of its body, where the body begins and where it ends.

    ``None``: the head is not whole, or says its body's length in no usual way.
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
            if stop - start <= MOST_DIGITS and digits.isdigit():
                begin = end + len(END)
                return data[:start], data[stop:end], begin, begin + int(digits)
    return None


def is_bare(data: bytes) -> bool:
    """It is one whole head of a request without a body."""
    return data.find(END) == len(data) - len(END) and not any(name in data.lower() for name in _FRAMED)


class HeadCache:
    """The heads that have come before, of all ports; ``taken``: calls that were answered here."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.taken = 0
        self._heads: dict[Name, CachedHead] = {}
        self._once: Cache[Name, None] = Cache()
        self._left: set[Name] = set()
        runtime.changed.append(self._forget)

    def recognize(
        self, data: bytes, own: tuple[str, str], latest: CachedHead | None
    ) -> tuple[CachedHead, int, int] | None:
        """The head of a request, if it has come before, and where its body begins and ends.

        ``latest``: of the connection's last request; most send the same one all the time.
        """
        heads = self._heads
        if latest is not None and heads.get(latest.name) is latest:
            found = latest.measure(data)
            if found is not None:
                _TALLY.hits += 1
                return latest, *found
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

    def answer(self, head: CachedHead, body: bytes) -> Written | DelayedWriter | None:
        """The answer; ``None``: it takes the long road."""
        runtime, session = self._runtime, head.session
        if runtime.active is not head.server or (session and runtime.find(session) is not head.active):
            self._heads.pop(head.name, None)
            return None
        try:
            answer = head.answers.answer(head, body)
        except EmulatedError:
            answer = None  # it is worded on the long road
        except Exception:
            log.exception("bug in the emulator: POST %s", head.path)
            answer = None
        if answer is None:
            head.misses += 1
            if head.misses > _PATIENCE:
                self._leave(head)
            return None
        head.misses = 0
        self.taken += 1
        if session:
            runtime.begin_call(session)
        return answer

    def _leave(self, head: CachedHead) -> None:
        """Know a head no longer, and never again under this scenario: it is not worth the while to try."""
        self._heads.pop(head.name, None)
        if len(self._left) >= _MOST:
            self._left.clear()
        self._left.add(head.name)

    def learn(
        self, name: Name, http: web.BaseRequest, app: VendorApp, found: SessionRoute, path: str, base: str
    ) -> None:
        """A request takes the long road; from its second coming on, its head is known."""
        if name in self._heads or name in self._left or not _is_usual(http, found):
            return
        if name not in self._once:
            if len(self._once) >= _MOST:
                self._once.clear()
            self._once[name] = None
            return
        runtime = self._runtime
        worlds = runtime.active, runtime.find(found.session) if found.session else runtime.active
        head = app.cache_head(name, http, found, path, base, worlds)
        if head is not None:
            if len(self._heads) >= _MOST:
                self._heads.clear()
            self._heads[name] = head

    def _forget(self, session: str) -> None:
        """Another scenario is at work for a session; without a name, the server's."""
        self._left.clear()
        if session:
            self._heads = {name: head for name, head in self._heads.items() if head.session != session}
        else:
            self._heads.clear()


def _is_usual(http: web.BaseRequest, found: SessionRoute) -> bool:
    """Neither the connection nor the emulator is asked for anything but an answer."""
    if http.method != "POST" or http.version < (1, 1) or not http.keep_alive:
        return False
    if any(name in http.headers for name in _UNUSUAL) or http.headers.get("Connection", _GO_ON).lower() != _GO_ON:
        return False
    return not found.overrides or all(
        name.lower() == HEADER or not name.lower().startswith(PREFIX) for name in found.headers
    )
