"""A lean load generator: many connections, each with one request after another."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Rate:
    """What one run reached: answers and events (or vectors) a second, and per second of server processor time."""

    answers: float
    answers_per_cpu: float


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as an answer is whole; counts them."""

    def __init__(self, requests: Sequence[bytes], start: int, deadline: float, done: Callable[[int], None]) -> None:
        self._requests = requests
        self._next = start
        self._deadline = deadline
        self._done = done
        self._count = 0
        self._missing = 0
        self._chunked = False
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._send()

    def _send(self) -> None:
        if time.perf_counter() >= self._deadline:
            self._transport.close()
            self._done(self._count)
            return
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        elif self._chunked:
            self._tail = (self._tail + data)[-16:]
            if self._tail.endswith(b"0\r\n\r\n"):
                self._chunked = False
                self._finish()
            return
        else:
            head, _, body = data.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), data[:400]
            lower = head.lower()
            if b"chunked" in lower:
                self._chunked = True
                self._tail = b""
                if body:
                    self.data_received(body)
                return
            self._missing = int(lower.split(b"content-length:")[1].split(b"\r\n")[0]) - len(body)
        if self._missing == 0:
            self._finish()

    def _finish(self) -> None:
        self._count += 1
        self._send()


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; Linux only, else 0."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(url: str, path: str, bodies: Sequence[bytes], *, pid: int, connections: int, seconds: float) -> Rate:
    """Load one route for a while, after a tenth of it as warm-up."""
    parts = urlsplit(url)
    head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer dapi-bench\r\n"
    requests = [
        f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        for body in bodies
    ]
    await _run(parts.hostname or "", parts.port or 80, requests, connections, seconds / 10)
    before, started = cpu_seconds(pid), time.perf_counter()
    count = await _run(parts.hostname or "", parts.port or 80, requests, connections, seconds)
    elapsed, used = time.perf_counter() - started, cpu_seconds(pid) - before
    return Rate(count / elapsed, count / used if used else 0.0)


async def _run(host: str, port: int, requests: Sequence[bytes], connections: int, seconds: float) -> int:
    loop = asyncio.get_running_loop()
    counts: list[int] = []
    finished = loop.create_future()

    def done(count: int) -> None:
        counts.append(count)
        if len(counts) == connections:
            finished.set_result(None)

    deadline = time.perf_counter() + seconds
    for number in range(connections):
        start = number * 7919
        await loop.create_connection(lambda start=start: _Connection(requests, start, deadline, done), host, port)  # type: ignore[misc]
    await finished
    return sum(counts)
