"""A thousand paced streams at once: when do their tokens come?"""

import asyncio
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

STREAMS, TOKENS = 1000, 64
TTFT, ITL = 0.100, 0.020  # seconds


@dataclass(slots=True)
class Arrival:
    """When the events of one stream came, seconds after its request was sent."""

    times: list[float] = field(default_factory=list)
    whole: bool = False


class _Stream(asyncio.Protocol):
    """Sends one request and notes when each event comes."""

    def __init__(self, request: bytes, arrival: Arrival, done: asyncio.Future[None]) -> None:
        self._request = request
        self._arrival = arrival
        self._done = done
        self._head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._started = time.perf_counter()
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        elapsed = time.perf_counter() - self._started
        if self._head:
            self._head = False
            data = data.partition(b"\r\n\r\n")[2]
        self._arrival.times += [elapsed] * data.count(b"data: {")
        if b"data: [DONE]" in data:
            self._arrival.whole = True
            self._transport.close()
            self._done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


def _itself(stream: _Stream) -> _Stream:
    return stream


async def run(url: str, path: str, body: bytes) -> list[Arrival]:
    """Start all streams spread over one second, wait for all to end."""
    parts = urlsplit(url)
    head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer dapi-bench\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    loop = asyncio.get_running_loop()
    arrivals = []
    endings = []
    began = loop.time()
    for number in range(STREAMS):
        await asyncio.sleep(max(0.0, began + number / STREAMS - loop.time()))
        arrival, done = Arrival(), loop.create_future()
        arrivals.append(arrival)
        endings.append(done)
        stream = _Stream(request, arrival, done)
        await loop.create_connection(partial(_itself, stream), parts.hostname or "", parts.port or 80)
    await asyncio.gather(*endings)
    return arrivals


def report(arrivals: list[Arrival]) -> str:
    """One line: how many ended whole, the mean and worst error of the TTFT, the drift of the last token."""
    whole = [a for a in arrivals if a.whole]
    first = [a.times[0] - TTFT for a in whole]
    drift = [a.times[-1] - a.times[0] - ITL * (TOKENS - 1) for a in whole]
    worst = statistics.quantiles(first, n=100)[-1]
    return (
        f"{len(whole)} of {len(arrivals)} whole, TTFT late by {statistics.mean(first) * 1000:.1f} ms in the mean"
        f" and {worst * 1000:.1f} ms at p99, last token drifts by {statistics.mean(drift) * 1000:.1f} ms"
    )
