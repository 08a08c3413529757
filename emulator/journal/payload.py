"""Request and response of a journal entry.

A module of its own, as compiled classes take no weak references.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emulator.core.http import Headers, Request
from emulator.faults import FaultSite


@dataclass(slots=True, eq=False, weakref_slot=True)
class Payload:
    """Request and response of a journal entry, kept until evicted.

    Fields:
        request: the body may be truncated.
        headers: headers of the response.
        body: body of a response that is no stream; may be truncated.
        text: text that the model generated, as far as it was sent.
        received: text that the client received of a stream that ended early; else ``None``.
        planned: whole text of a response that ended early; else ``None``.
        tool_calls: pairs of name and arguments.
        raw: bytes sent of a body that faults changed; may be truncated.
        fault_sites: positions in ``raw`` that faults changed, in order of the faults.
        encode_stream: returns the bytes of a stream that was sent whole; absent: they cannot be made again.
        writes: pairs of due and actual time of a stream's writes, seconds after admission; at most 200.
        request_cut, response_cut: the body was truncated.
        size: bytes that count against the payload limit.
    """

    request: Request
    headers: Headers = ()
    body: bytes | None = None
    text: str | None = None
    received: str | None = None
    planned: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    fault_sites: tuple[FaultSite, ...] = ()
    encode_stream: Callable[[], bytes] | None = None
    writes: Sequence[tuple[float, float]] = ()
    request_cut: bool = False
    response_cut: bool = False
    size: int = 0

    def measure(self) -> None:
        """Set ``size``, once all fields are set."""
        bodies = len(self.request.body) + len(self.body or b"") + len(self.text or "")
        self.size = bodies + sum(map(len, (*self.request.headers.values(), *self.request.query.values())))
