"""Receive the bytes of a service that sends more than its Content-Length announces.

aiohttp's parser reads the bytes after a response as another response. If they are none and came together with the
head, it drops the response as well, which every other client reads to its announced end.
"""

from __future__ import annotations

import asyncio
from functools import partial

import aiohttp
from aiohttp.client_proto import ResponseHandler

_HEAD_END = b"\r\n\r\n"


class ResponseReceiver(ResponseHandler):
    """Receiver of one connection, which gives the parser each head apart from what follows.

    ``after_head``: number of bytes after the head of the last response.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.after_head = 0
        self._head = b""
        self._is_in_head = True

    def set_response_params(self, **options: object) -> None:
        """Begin a response."""
        self.after_head, self._head, self._is_in_head = 0, b"", True
        super().set_response_params(**options)  # type: ignore[arg-type]  # passed on as they are

    def data_received(self, data: bytes) -> None:
        while data and self._is_in_head:
            head = self._head + data
            end = head.find(_HEAD_END, max(0, len(self._head) - len(_HEAD_END)))
            if end < 0:
                self._head = head
                break
            rest = head[end + len(_HEAD_END) :]
            self._head, self._is_in_head = b"", head.startswith(b"HTTP/1.1 1")  # an interim response has no body
            super().data_received(data[: len(data) - len(rest)])
            if not rest or self.exception() is not None:
                return
            data = rest
        if not self._is_in_head:
            self.after_head += len(data)
        super().data_received(data)


def _create_receiver(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return ResponseReceiver(loop)


class ServiceConnector(aiohttp.TCPConnector):
    """Connector whose connections have a :class:`ResponseReceiver`."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # passed on as they are
        self._factory = partial(_create_receiver, self._loop)


def count_excess(response: aiohttp.ClientResponse, length: int) -> int:
    """Return how many bytes came after the announced end of a response."""
    receiver = getattr(response.content, "_protocol", None)
    return max(0, receiver.after_head - length) if isinstance(receiver, ResponseReceiver) else 0
