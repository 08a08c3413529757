"""Receive the bytes of a service with aiohttp's client, and learn of each part in the call that receives it.

aiohttp's parser reads the bytes after a response as another response. If they are none and came together with the
head, it drops the response as well, which every other client reads to its announced end.
"""

import asyncio
import re
from collections.abc import Callable
from functools import partial

from aiohttp import ClientResponse, TCPConnector  # before the next: the server may have deferred the package
from aiohttp.client_proto import ResponseHandler

_HEAD_END = re.compile(rb"[^\r\n]\r?\n\r?\n")  # aiohttp also takes lines without CR, and empty ones before the head
_OVERLAP = 4  # bytes of a head's end that can come before the last one
_INTERIM = b"HTTP/1.1 1"


class ResponseReceiver(ResponseHandler):
    """Receiver of one connection, which gives the parser each head apart from what follows.

    ``after_head``: number of bytes after the head of the last response.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.after_head = 0
        self._start = b""  # of the head
        self._end = b""  # of what has come of it
        self._is_in_head = True
        self._is_held = False

    def set_response_params(self, **options: object) -> None:
        """Begin a response."""
        self.after_head, self._start, self._end, self._is_in_head = 0, b"", b"", True
        super().set_response_params(**options)  # type: ignore[arg-type]  # passed on as they are

    def data_received(self, data: bytes) -> None:
        while data and self._is_in_head:
            head = self._end + data
            end = _HEAD_END.search(head)
            if len(self._start) < len(_INTERIM):
                self._start = (self._start + data).lstrip(b"\r\n")[: len(_INTERIM)]
            if end is None:
                self._end = head[-_OVERLAP:]
                break
            rest = head[end.end() :]
            self._is_in_head = self._start == _INTERIM  # which has no body
            self._start = self._end = b""
            super().data_received(data[: len(data) - len(rest)])
            if not rest or self.exception() is not None:
                return
            data = rest
        if not self._is_in_head:
            self.after_head += len(data)
        super().data_received(data)

    def pause_reading(self) -> None:
        self._is_held = True
        super().pause_reading()

    def resume_reading(self, *options: object, **named: object) -> None:
        """Read on; a reader that is empty asks for it after each part, for which aiohttp runs its parser again."""
        if self._is_held:
            self._is_held = False
            super().resume_reading(*options, **named)  # type: ignore[arg-type]  # not every release has options


class ArrivalNotifier(asyncio.Protocol):
    """Protocol before aiohttp's on the connection of a response, which calls ``on_arrival`` once aiohttp has parsed.

    It calls ``before_loss`` before aiohttp learns that the connection is lost, while what it holds can be read.
    It leaves the connection at the end of the response, as aiohttp uses the connection again. ``is_lost``: there is no
    connection any more. ``after_head``: number of bytes that came after the head until it left.
    """

    def __init__(
        self, response: ClientResponse, on_arrival: Callable[[], None], before_loss: Callable[[], None]
    ) -> None:
        self._on_arrival = on_arrival
        self._before_loss = before_loss
        connection = response.connection  # none once the response is complete
        transport = None if connection is None else connection.transport
        self.is_lost = transport is None
        self._receiver = getattr(response.content, "_protocol", None)
        self.after_head = _count_after_head(self._receiver)
        if connection is not None and connection.protocol is not None and transport is not None:
            self._handler, self._transport = connection.protocol, transport
            self._handler.read_timeout = None  # it would set a timer anew for each part
            self._handler.start_timeout()  # cancels the one that is set, as it has no time now
            transport.set_protocol(self)
            response.content.on_eof(self.remove)

    def remove(self) -> None:
        """Leave the connection to aiohttp."""
        if not self.is_lost and self._transport.get_protocol() is self:
            self.after_head = _count_after_head(self._receiver)
            self._transport.set_protocol(self._handler)

    def data_received(self, data: bytes) -> None:
        self._handler.data_received(data)
        self._on_arrival()

    def eof_received(self) -> None:
        self._handler.eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._before_loss()
        self._handler.connection_lost(exc)
        self.is_lost = True
        self._on_arrival()

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()


def _create_receiver(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return ResponseReceiver(loop)


class ServiceConnector(TCPConnector):
    """Connector whose connections have a :class:`ResponseReceiver`."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # passed on as they are
        self._factory = partial(_create_receiver, self._loop)


def _count_after_head(receiver: object) -> int:
    """Return how many bytes came after the head of the last response; 0 if they are not counted."""
    return receiver.after_head if isinstance(receiver, ResponseReceiver) else 0
