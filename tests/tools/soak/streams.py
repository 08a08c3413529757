"""Ten thousand paced streams on one process: is one lost, and how late do they begin? Run as
``python -m tests.tools.soak.streams``, with a core to itself for the server and one for this.

Streams begin at an even rate, and each lasts longer than it takes to begin all of them, so that all are open at once.
"""

import argparse
import errno
import json
import resource
import select
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.tools.bench.servers import cpu_seconds
from tests.tools.soak.__main__ import read_memory, serving
from tests.tools.soak.load import CHATS

TTFT, ITL, TOKENS = 0.1, 0.5, 40  # seconds, and tokens of an answer
MOST = 0.25  # seconds from the attempt to connect to the first byte
_PATIENCE = 60.0  # seconds without a byte of any stream
_BEGIN, _READ = select.EPOLLOUT, select.EPOLLIN
_TURN = 0.002  # seconds that what has come may be read before it is seen whether another stream should begin


@dataclass(slots=True, eq=False)
class Stream:
    """One connection and what came of it; times by :func:`time.monotonic`; ``end``: what ended it, if not its end."""

    socket: socket.socket
    began: float
    late: float
    first: float = 0.0
    token: float = 0.0
    events: int = 0
    whole: bool = False
    end: str = ""

    def read(self) -> bool:
        """Take what has come; whether more may."""
        try:
            data = self.socket.recv(2**16)
        except BlockingIOError:
            return True
        except OSError as error:
            self.end = errno.errorcode.get(error.errno or 0, "an error")
            return False
        now = time.monotonic()
        self.first = self.first or now
        events = data.count(b"data: {")
        if events and not self.events:
            self.token = now
        self.events += events
        self.whole = b"data: [DONE]" in data
        if not data:
            self.end = "its end before the end of the stream"
        return bool(data) and not self.whole


class Generator:
    """Starts streams at their times, independently of earlier ones, and reads them."""

    def __init__(self, address: tuple[str, int], request: bytes) -> None:
        self._address = address
        self._request = request
        self._poll = select.epoll()
        self._open: dict[int, Stream] = {}
        self.streams: list[Stream] = []

    def begin(self, count: int, rate: float) -> None:
        """Begin so many, so many a second."""
        began = time.monotonic()
        while len(self.streams) < count:
            now = time.monotonic()
            due = began + len(self.streams) / rate
            if due <= now:
                self._connect(now - due)
            self._turn(max(0.0, due - now))

    def finish(self) -> None:
        """Read all to their ends."""
        heard = time.monotonic()
        while self._open and time.monotonic() - heard < _PATIENCE:
            if self._turn(1.0):
                heard = time.monotonic()
        for stream in self._open.values():
            stream.end = "silence"

    def _connect(self, late: float) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        stream = Stream(connection, time.monotonic(), late)
        self.streams.append(stream)
        problem = connection.connect_ex(self._address)
        if problem in (0, errno.EINPROGRESS):
            self._open[connection.fileno()] = stream
            self._poll.register(connection.fileno(), _BEGIN)
        else:
            self._end(stream, errno.errorcode[problem])

    def _turn(self, seconds: float) -> bool:
        """Do what can be done; whether anything could."""
        found = self._poll.poll(seconds)
        ends = time.monotonic() + _TURN
        for number, event in found:
            stream = self._open[number]
            if event & _BEGIN:
                self._send(number, stream)
            elif not stream.read():
                self._end(stream)
            if time.monotonic() > ends:
                break
        return bool(found)

    def _send(self, number: int, stream: Stream) -> None:
        try:
            stream.socket.send(self._request)
            self._poll.modify(number, _READ)
        except OSError as error:
            self._end(stream, errno.errorcode.get(error.errno or 0, "an error"))

    def _end(self, stream: Stream, reason: str = "") -> None:
        stream.end = stream.end or reason
        self._open.pop(stream.socket.fileno(), None)
        stream.socket.close()


def make_request() -> bytes:
    """A streamed chat of so many tokens."""
    target, model = CHATS["databricks"]
    body = {"model": model, "stream": True, "max_tokens": TOKENS, "messages": [{"role": "user", "content": "Why?"}]}
    data = json.dumps(body).encode()
    lines = ("Host: localhost", "Authorization: Bearer soak", "Content-Type: application/json", "Connection: close")
    head = "\r\n".join((f"POST {target} HTTP/1.1", *lines, f"Content-Length: {len(data)}"))
    return f"{head}\r\n\r\n".encode() + data


def run(url: str, pid: int, count: int, rate: float) -> list[Stream]:
    """Begin them all at their times, and wait for their ends."""
    parts = urlsplit(url)
    generator = Generator((parts.hostname or "", parts.port or 80), make_request())
    began, used, own = time.monotonic(), cpu_seconds(pid), time.process_time()
    generator.begin(count, rate)
    took = time.monotonic() - began
    shares = (cpu_seconds(pid) - used) / took, (time.process_time() - own) / took
    print(f"all begun after {took:.1f} s: the server took {shares[0]:.0%} of a core, this {shares[1]:.0%};", end=" ")
    print(f"{read_memory(pid):.0f} MiB")
    generator.finish()
    return generator.streams


def report(streams: list[Stream]) -> int:
    whole = [stream for stream in streams if stream.whole]
    lost = Counter(stream.end for stream in streams if not stream.whole)
    print(f"{len(whole)} of {len(streams)} whole, {sum(stream.events for stream in streams)} events")
    for reason, number in lost.items():
        print(f"{number} lost: {reason}")
    if len(whole) < 2:
        return 1
    for line in _tell_times(whole):
        print(line)
    late = sum(stream.first - stream.began > MOST for stream in whole)
    print(f"{late} began later than {MOST * 1000:.0f} ms")
    return 0 if not lost and not late else 1


def _tell_times(whole: list[Stream]) -> Iterator[str]:
    for name, times in (
        ("connections tried too late", [stream.late for stream in whole]),
        ("first byte", [stream.first - stream.began for stream in whole]),
        ("first token, beyond its time", [stream.token - stream.began - TTFT for stream in whole]),
    ):
        cuts = statistics.quantiles(times, n=1000)
        shown = ", ".join(f"p{part / 10:g} {cuts[part - 1] * 1000:.1f} ms" for part in (500, 990, 999))
        yield f"{name}: {shown}, worst {max(times) * 1000:.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.streams", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1000, help="that begin in a second (default 1000)")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving("--ttft", f"{TTFT * 1000:g}ms", "--itl", f"{ITL * 1000:g}ms") as (pid, urls):
        return report(run(urls["databricks"], pid, options.count, options.rate))


if __name__ == "__main__":
    sys.exit(main())
