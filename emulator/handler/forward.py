"""Forward requests that neither a rule nor a recording answers to the real service, and record them if wanted.

The scenario asks for it (``unmatched: forward`` or ``record``); ``--forward`` or a test names the services.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from emulator.core.http import Response
from emulator.handler.context import RequestContext
from emulator.http.connection import IncomingRequest

if TYPE_CHECKING:
    from emulator.recording.exchange import Ending
    from emulator.recording.folder import ExchangeFolder
    from emulator.recording.observer import Observer, ResponseStart
    from emulator.recording.relay import Relay

_KEPT = 64 * 1024  # bytes of a response in the journal


class Forwarding:
    """Targets of requests that nothing answers, from the command line or a test, never from a scenario.

    Args:
        upstreams: base URL by vendor.
        folder: where forwarded calls are recorded; absent: nowhere.
        authority: certificate to trust besides the system's.
    """

    def __init__(self, upstreams: Mapping[str, str], folder: Path | None = None, authority: Path | None = None) -> None:
        self.upstreams = dict(upstreams)
        self.path = folder
        self.folders: dict[str, Path] = {}
        self.written: dict[str, list[Path]] = {}  # files of these sessions
        self._authority = authority
        self._relay: Relay | None = None
        self._opened: dict[Path, ExchangeFolder] = {}

    def can_forward(self, vendor: str, session: str, *, records: bool) -> bool:
        """Return whether a vendor's requests have a target, and a folder if they are recorded."""
        return vendor in self.upstreams and (not records or self.path is not None or session in self.folders)

    def _open(self) -> Relay:
        if self._relay is None:
            from emulator.recording.relay import Relay

            self._relay = Relay(self.upstreams, authority=self._authority)
        return self._relay

    def _find_folder(self, session: str) -> ExchangeFolder:
        """Return the folder of a session's recordings, numbered on from those it has."""
        path = self.folders.get(session) or self.path or Path()
        folder = self._opened.get(path)
        if folder is None:
            from emulator.recording.folder import ExchangeFolder

            folder = self._opened[path] = ExchangeFolder(path)
            folder.prepare()
        return folder

    async def forward(
        self,
        http: IncomingRequest,
        vendor: str,
        context: RequestContext,
        record: Callable[[RequestContext], None],
        *,
        records: bool,
    ) -> bool:
        """Pass a request on and its response back; return whether the connection may stay open."""
        relay, target, request = self._open(), context.target, context.request
        headers = {
            name: value for name, value in target.headers.items() if not target.encoding or not _is_of_body(name)
        }
        path = http.head.target.removeprefix(urlsplit(target.base_url).path) or "/"
        context.response = None
        observers: list[Observer] = [_JournalObserver(context, record)]
        if records:
            session = "" if request.session in self.folders else request.session
            folder = self._find_folder(request.session)
            recorder = folder.begin(vendor, request.method, path, tuple(headers.items()), session)
            written = self.written.get(request.session)
            if written is not None:
                recorder.on_kept = lambda file, _: written.append(file)
            observers.insert(0, recorder)
        return await relay.pass_on(http, vendor, path, headers, _Observers(observers), request.body)

    async def finish(self, session: str) -> None:
        """Wait until the recordings of a session are written."""
        path = self.folders.pop(session, None)
        self.written.pop(session, None)
        folder = None if path is None else self._opened.pop(path, None)
        if folder is not None:
            await folder.finish()

    async def close(self) -> None:
        """Write the last exchanges and close the connections to services."""
        for folder in self._opened.values():
            await folder.finish()
        if self._relay is not None:
            await self._relay.close()


def _is_of_body(name: str) -> bool:
    """Return whether a header describes the compressed body, which was decompressed."""
    return name.lower() in ("content-encoding", "content-length")


class _JournalObserver:
    """Observer that makes the call record of a forwarded request."""

    def __init__(self, context: RequestContext, record: Callable[[RequestContext], None]) -> None:
        self._context = context
        self._record = record
        self._head: ResponseStart | None = None
        self._body = bytearray()

    def on_request(self, data: bytes) -> None:
        """Do nothing: the call record has the request."""

    def on_sent(self, time: float) -> None:
        """Do nothing: the call record has times of its own."""

    def on_head(self, head: ResponseStart, offset: float) -> None:
        self._head = head
        sent = self._context.sent
        sent.status, sent.first = head.status, self._context.started + offset

    def on_data(self, data: bytes, offset: float) -> None:
        self._context.sent.size += len(data)
        self._body += data[: max(0, _KEPT - len(self._body))]

    def on_end(self, ending: Ending, offset: float, missing: int, excess: int) -> None:
        context, head = self._context, self._head
        context.sent.whole = ending == "whole"
        context.sent.reached = offset
        if head is not None:
            context.response = Response(head.status, bytes(self._body), head.headers)
        if ending != "client left":
            self._record(context)

    def on_failed(self, reason: str) -> None:
        context = self._context
        context.hint, context.error, context.sent.status = reason, "unmatched", 502
        context.sent.whole = True
        self._record(context)


class _Observers:
    """Observer that passes everything on to several."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def on_request(self, data: bytes) -> None:
        for each in self._observers:
            each.on_request(data)

    def on_sent(self, time: float) -> None:
        for each in self._observers:
            each.on_sent(time)

    def on_head(self, head: ResponseStart, offset: float) -> None:
        for each in self._observers:
            each.on_head(head, offset)

    def on_data(self, data: bytes, offset: float) -> asyncio.Future[None] | None:
        behind = [each.on_data(data, offset) for each in self._observers]
        return next((each for each in behind if each is not None), None)

    def on_end(self, ending: Ending, offset: float, missing: int, excess: int) -> None:
        for each in self._observers:
            each.on_end(ending, offset, missing, excess)

    def on_failed(self, reason: str) -> None:
        for each in self._observers:
            each.on_failed(reason)
