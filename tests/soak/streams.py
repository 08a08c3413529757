"""Ten thousand paced streams on one process: is one lost, and how late do they begin? Run as
``python -m tests.soak.streams``, with a core to itself for the server and one for this.

Streams begin at an even rate, and each lasts longer than it takes to begin all of them, so that all are open at once.
"""

import argparse
import asyncio
import json
import resource
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.bench.servers import cpu_seconds
from tests.soak.__main__ import read_memory, serving
from tests.soak.load import CHATS

TTFT, ITL, TOKENS = 0.1, 0.5, 40  # seconds, and tokens of an answer
MOST = 0.25  # seconds from request to first byte


@dataclass(slots=True)
class Stream:
    """What came of one; times by :func:`time.perf_counter`."""

    sent: float = 0.0
    first: float = 0.0
    token: float = 0.0
    events: int = 0
    whole: bool = False


@dataclass(slots=True, eq=False)
class Reader(asyncio.Protocol):
    """Sends one request and notes when its answer comes."""

    request: bytes
    stream: Stream
    done: asyncio.Future[None]
    transport: asyncio.WriteTransport | None = field(default=None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport
        self.stream.sent = time.perf_counter()
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        stream = self.stream
        stream.first = stream.first or time.perf_counter()
        events = data.count(b"data: {")
        if events and not stream.events:
            stream.token = time.perf_counter()
        stream.events += events
        if b"data: [DONE]" in data and self.transport is not None:
            stream.whole = True
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def begin(url: str, request: bytes, stream: Stream, done: asyncio.Future[None]) -> None:
    parts = urlsplit(url)
    try:
        await asyncio.get_running_loop().create_connection(
            lambda: Reader(request, stream, done), parts.hostname or "", parts.port or 80
        )
    except OSError:
        done.set_result(None)


async def run(urls: Mapping[str, str], pid: int, count: int, rate: float) -> list[Stream]:
    """Begin them all at their times, and wait for their ends."""
    target, model = CHATS["databricks"]
    body = {"model": model, "stream": True, "max_tokens": TOKENS, "messages": [{"role": "user", "content": "Why?"}]}
    data = json.dumps(body).encode()
    lines = ("Host: soak", "Authorization: Bearer soak", "Content-Type: application/json", "Connection: close")
    head = "\r\n".join((f"POST {target} HTTP/1.1", *lines, f"Content-Length: {len(data)}"))
    request = f"{head}\r\n\r\n".encode() + data
    loop = asyncio.get_running_loop()
    streams = [Stream() for _ in range(count)]
    ends = [loop.create_future() for _ in streams]
    began, used = loop.time(), cpu_seconds(pid)
    begun = []
    for number, (stream, done) in enumerate(zip(streams, ends, strict=True)):
        await asyncio.sleep(max(0.0, began + number / rate - loop.time()))
        begun.append(asyncio.ensure_future(begin(urls["databricks"], request, stream, done)))
    await asyncio.gather(*begun)
    took = loop.time() - began
    share = (cpu_seconds(pid) - used) / took
    print(f"all begun after {took:.1f} s; the server took {share:.0%} of a core and has {read_memory(pid):.0f} MiB")
    await asyncio.wait(ends, timeout=120)
    return streams


def report(streams: list[Stream]) -> int:
    whole = [stream for stream in streams if stream.whole]
    print(f"{len(whole)} of {len(streams)} whole, {sum(stream.events for stream in streams)} events")
    if len(whole) < 2:
        return 1
    for name, times in (
        ("first byte", [stream.first - stream.sent for stream in whole]),
        ("first token, beyond its time", [stream.token - stream.sent - TTFT for stream in whole]),
    ):
        cuts = statistics.quantiles(times, n=1000)
        shown = ", ".join(f"p{part / 10:g} {cuts[part - 1] * 1000:.1f} ms" for part in (500, 990, 999))
        print(f"{name}: {shown}, worst {max(times) * 1000:.1f} ms")
    late = sum(stream.first - stream.sent > MOST for stream in whole)
    print(f"{late} began later than {MOST * 1000:.0f} ms")
    return 0 if len(whole) == len(streams) and not late else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.streams", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1000, help="that begin in a second (default 1000)")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving("--ttft", f"{TTFT * 1000:g}ms", "--itl", f"{ITL * 1000:g}ms") as (pid, urls):
        return report(asyncio.run(run(urls, pid, options.count, options.rate)))


if __name__ == "__main__":
    sys.exit(main())
