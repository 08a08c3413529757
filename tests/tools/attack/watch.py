"""Measure what other clients notice of an emulator under attack."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Lost

_EVERY = 0.005  # seconds between two questions
_PATIENCE = 20.0  # seconds
_ASKED = b"GET /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Watch:
    """Asks for health again and again while it is open.

    ``worst``: seconds that the slowest answer took; infinite: one did not come. ``grown``: MiB at the worst moment.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.worst = self.grown = 0.0
        self._before = 0.0

    def __enter__(self) -> Self:
        self._before = self._server.begin_peak()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self._server.alive:
            self.grown = max(0.0, self._server.peak() - self._before)

    def _ask(self) -> None:
        try:
            connection = self._server.connect("front", _PATIENCE)
            while not self._over.wait(_EVERY):
                began = time.monotonic()
                connection.send([_ASKED])
                if connection.read().status != 200:
                    raise Lost
                self.worst = max(self.worst, time.monotonic() - began)
        except (Lost, OSError):
            self.worst = float("inf")
