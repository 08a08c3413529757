"""Observer of a call that ``relay.py`` passes on; ``folder.py`` records by it, forwarded requests enter the journal."""

import asyncio
from dataclasses import dataclass
from typing import Literal, Protocol

from emulator.core.http import Headers
from emulator.recording.exchange import Ending

Framing = Literal["length", "chunked", "close", "none"]


@dataclass(frozen=True, slots=True)
class ResponseStart:
    """Head of a response, as the service sent it."""

    status: int
    reason: str
    headers: Headers
    framing: Framing
    length: int | None


class Observer(Protocol):
    """Receiver of the parts of a call while they pass; offsets are seconds after the request was complete."""

    def on_request(self, data: bytes) -> None:
        """Take a part of the request's body."""

    def on_sent(self, time: float) -> None:
        """Take the Unix time when the request was complete."""

    def on_head(self, head: ResponseStart, offset: float) -> None:
        """Take the head of the response."""

    def on_data(self, data: bytes, offset: float) -> asyncio.Future[None] | None:
        """Take a part of the response's body; return what has to be done before the service may send more."""

    def on_end(self, ending: Ending, offset: float, missing: int, excess: int) -> None:
        """Take the end of the response, before its last bytes are written.

        ``missing``: bytes that Content-Length announced and that never came; ``excess``: bytes that came after these.
        """

    def on_failed(self, reason: str) -> None:
        """Take the reason why the service could not be reached."""
