"""Stand ``emulator record`` between clients and a service, and replay what it recorded: what does it add to each event,
how exact are its times, does its memory stay flat? Run as ``python -m tests.tools.soak.recorder``.

The service writes into each event the time at which it sends it. The same streams are read directly, through the
recorder, and from ``emulator serve`` that replays the recording, all by the monotonic clock of this machine. In turns
with the last, the emulator paces as many streams itself: by how much these are late is the share of the machine.
Streams begin and end evenly over the whole time, each with a prompt of its own. ``--hostile`` instead lets services
hang, reset, lie about their length and send ``--size`` bytes, while other streams go on.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import re
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from emulator.recording.exchange import list_files, load_folder
from tests.tools.bench.servers import cpu_seconds
from tests.tools.soak.__main__ import read_memory

PATH = "/v1/chat/completions"
_ALLOWED = 0.001  # seconds at p99
_BEYOND = 1.2  # of the streams that the emulator paces itself
_GROWTH = 1.05
_MOST = 64  # MiB that one call may add for a time
_SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_TEXT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
_BLOCK = 2**16
_EVENT = b'data: {"id": "%d", "at": %d, "choices": [{"index": 0, "delta": {"content": "word "}}]}\n\n'
_FIELD = b'"at": '


# The service, in a process of its own


class Service(asyncio.Protocol):
    """Service that writes events at their times; what it does follows from the ``user`` of a request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._task: asyncio.Future[None] | None = None
        self._received = b""
        self._is_writable = asyncio.Event()
        self._is_writable.set()

    def pause_writing(self) -> None:
        self._is_writable.clear()

    def resume_writing(self) -> None:
        self._is_writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        _, _, body = self._received.partition(b"\r\n\r\n")
        if body.endswith(b"}"):
            self._received = b""
            asked = json.loads(body)
            self._task = asyncio.ensure_future(self._answer(asked["user"], asked["max_tokens"], asked["top_p"]))

    def connection_lost(self, error: Exception | None) -> None:
        self._is_writable.set()
        if self._task is not None:
            self._task.cancel()

    async def _answer(self, kind: str, tokens: int, gap: float) -> None:
        if kind in _HOSTILE:
            await _HOSTILE[kind](self, tokens)
            return
        self._transport.write(_SSE)
        now = asyncio.get_running_loop().time
        due = now()
        for number in range(tokens):
            due += gap * random.uniform(0.5, 1.5)  # load
            await asyncio.sleep(due - now())
            self._write(_EVENT % (number, time.monotonic_ns()))
        self._write(b"data: [DONE]\n\n")
        self._transport.write(b"0\r\n\r\n")

    def _write(self, event: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(event), event))

    async def send_stream(self, size: int) -> None:
        """Send so many bytes as events without a pause."""
        self._transport.write(_SSE)
        events = _EVENT % (0, 0) * (_BLOCK // len(_EVENT))
        for _ in range(size // len(events)):
            self._write(events)
            await self._is_writable.wait()
        self._transport.write(b"0\r\n\r\n")

    async def send_document(self, size: int) -> None:
        """Send so many bytes as one document."""
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // _BLOCK):
            self._transport.write(b" " * _BLOCK)
            await self._is_writable.wait()

    async def send_one_event(self, size: int) -> None:
        """Send so many bytes as one event that has no end before the last."""
        self._transport.write(_SSE)
        for _ in range(size // _BLOCK):
            self._write(b"x" * _BLOCK)
            await self._is_writable.wait()
        self._transport.write(b"0\r\n\r\n")

    async def lie(self, _: int) -> None:
        """Announce more than comes."""
        self._transport.write(_TEXT + b"Content-Length: 500\r\n\r\nhello")
        self._transport.close()

    async def exceed(self, _: int) -> None:
        """Send more than was announced."""
        self._transport.write(_TEXT + b"Content-Length: 5\r\n\r\nhello" + b"!" * 500)

    async def reset(self, _: int) -> None:
        """Reset the connection in the middle of a stream."""
        self._transport.write(_SSE)
        self._write(_EVENT % (0, time.monotonic_ns()))
        await asyncio.sleep(0.05)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._transport.abort()

    async def hang(self, _: int) -> None:
        """Be silent after the first event."""
        self._transport.write(_SSE)
        self._write(_EVENT % (0, time.monotonic_ns()))


_HOSTILE: Mapping[str, Callable[[Service, int], Awaitable[None]]] = {
    "stream": Service.send_stream,
    "document": Service.send_document,
    "one event": Service.send_one_event,
    "lie": Service.lie,
    "exceed": Service.exceed,
    "reset": Service.reset,
    "hang": Service.hang,
}


def _serve(pipe: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def service() -> Iterator[str]:
    """URL of the service."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}"
    finally:
        process.terminate()
        process.join()


@contextmanager
def emulator(*arguments: str) -> Iterator[tuple[int, str]]:
    """Process id and openvino's URL of an emulator that serves or records."""
    with tempfile.TemporaryDirectory() as folder:
        ports, log = Path(folder) / "ports.json", Path(folder) / "log"
        command = [sys.executable, "-m", "emulator", *arguments, "--port", "0", "--port-file", str(ports)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output)
        try:
            while not ports.exists():
                if process.poll() is not None:
                    raise SystemExit(log.read_text(encoding="utf-8"))
                time.sleep(0.01)
            yield process.pid, json.loads(ports.read_text(encoding="utf-8"))["mindie"]
        finally:
            process.terminate()
            process.wait()


# The clients


@dataclass(slots=True)
class Reader:
    """One stream that is read; times by :func:`time.monotonic`."""

    socket: socket.socket
    prompt: str
    asked: float
    mark: bytes  # of an event, before a number
    arrivals: list[tuple[float, float]] = field(default_factory=list)  # number of seconds in the event, when read
    rest: bytes = b""
    is_whole: bool = False

    def read(self) -> bool:
        """Take what has come; return whether more may come."""
        try:
            data = self.socket.recv(_BLOCK)
        except OSError:
            return False
        now = time.monotonic()
        text = self.rest + data
        at = text.find(self.mark)
        while at >= 0 and (end := text.find(b",", at)) >= 0:
            self.arrivals.append((int(text[at + len(self.mark) : end]) / 1e9, now))
            text = text[end:]
            at = text.find(self.mark)
        self.rest = text[-64:] if at < 0 else text
        self.is_whole = b"data: [DONE]" in text
        return bool(data) and not self.is_whole


def _write_request(prompt: str, kind: str, tokens: int, gap: float) -> bytes:
    messages = [{"role": "user", "content": prompt}]
    asked = {"model": "m", "messages": messages, "stream": True, "user": kind, "max_tokens": tokens, "top_p": gap}
    body = json.dumps(asked).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer any\r\nContent-Type: application/json\r\n"
    return f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def read_streams(
    url: str, prompts: Sequence[str], over: float, tokens: int, gap: float, mark: bytes = _FIELD
) -> list[Reader]:
    """Begin a stream for each prompt, evenly over so many seconds, and read all to their ends."""
    parts = urlsplit(url)
    poll, open_, found = select.epoll(), dict[int, Reader](), list[Reader]()
    began = time.monotonic()
    while len(found) < len(prompts) or open_:
        due = began + len(found) * over / len(prompts)
        if len(found) < len(prompts) and due <= time.monotonic():
            connection = socket.create_connection((parts.hostname or "", parts.port or 80))
            connection.sendall(_write_request(prompts[len(found)], "", tokens, gap))
            reader = Reader(connection, prompts[len(found)], time.monotonic(), mark)
            found.append(reader)
            open_[connection.fileno()] = reader
            poll.register(connection.fileno(), select.EPOLLIN)
            continue
        wait = max(0.0, due - time.monotonic()) if len(found) < len(prompts) else 1.0
        for number, _ in poll.poll(wait):
            if not open_[number].read():
                poll.unregister(number)
                open_.pop(number).socket.close()
    return found


# Figures


def _show(name: str, times: Sequence[float]) -> float:
    """Print quantiles; return p99."""
    cuts = statistics.quantiles(times, n=1000)
    shown = "  ".join(f"p{part / 10:g} {cuts[part - 1] * 1e6:7.0f} us" for part in (500, 900, 990, 999))
    print(f"  {name:<44} {shown}  worst {max(times) * 1e6:7.0f} us  ({len(times)} events)")
    return cuts[989]


def _list_latencies(readers: Sequence[Reader]) -> list[float]:
    return [read - sent for reader in readers for sent, read in reader.arrivals]


def _compare_offsets(folder: Path, readers: Sequence[Reader]) -> tuple[list[float], list[float]]:
    """Return by how much the recorded offset of each event differs from what the service did, and what the client saw.

    All are taken from the first event of the stream, as the clocks of service and recorder have no common zero.
    """
    by_prompt = {reader.prompt: reader for reader in readers}
    sent_errors, seen_errors = [], []
    for exchange in load_folder(folder):
        prompt = json.loads(exchange.request_body)["messages"][0]["content"]
        reader = by_prompt[prompt]
        offsets = [w.offset for w in exchange.writes for _ in range(w.data.count(_FIELD))]
        if len(offsets) != len(reader.arrivals):
            print(f"  {exchange.source}: {len(offsets)} of {len(reader.arrivals)} events")
            continue
        rows = list(zip(offsets, reader.arrivals, strict=True))
        zero = statistics.median(sent - offset for offset, (sent, _) in rows)
        sent_errors += [abs(sent - offset - zero) for offset, (sent, _) in rows]
        seen_errors += [abs(seen - offset - reader.asked) for offset, (_, seen) in rows]
    return sent_errors, seen_errors


def _compare_replay(folder: Path, readers: Sequence[Reader]) -> list[float]:
    """Return by how much the arrival of each replayed event differs from its recorded offset."""
    by_prompt = {reader.prompt: reader for reader in readers}
    errors = []
    for exchange in load_folder(folder):
        reader = by_prompt[json.loads(exchange.request_body)["messages"][0]["content"]]
        offsets = [w.offset for w in exchange.writes for _ in range(w.data.count(_FIELD))]
        pairs = zip(offsets, reader.arrivals, strict=True)
        errors += [seen - offset - reader.asked for offset, (_, seen) in pairs]
    return errors


@contextmanager
def _watch(pid: int) -> Iterator[list[float]]:
    """Measure the memory of a process all the time."""
    found, stop = [read_memory(pid)], threading.Event()

    def watch() -> None:
        while not stop.wait(0.2):
            found.append(read_memory(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


def measure(streams: int, seconds: float, tokens: int, gap: float, rounds: int) -> int:
    """Measure; return 1 if a p99 is beyond a millisecond or memory grows.

    Replayed streams may be late where those that the emulator paces itself are, on a machine with other work.
    """
    lasting = tokens * gap
    count = int(streams * seconds / lasting)
    prompts = [f"stream number {number} of the load" for number in range(count)]
    print(f"{count} streams of {tokens} events over {seconds:.0f} s: {streams} at once")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "calls"
        with service() as url:
            direct = read_streams(url, prompts, seconds, tokens, gap)
            with emulator("record", "--to", str(folder), f"mindie={url}") as (pid, through):
                used, began = cpu_seconds(pid), time.monotonic()
                with _watch(pid) as memory:
                    recorded = read_streams(through, prompts, seconds, tokens, gap)
                share = (cpu_seconds(pid) - used) / (time.monotonic() - began)
        lost = sum(not reader.is_whole for reader in [*direct, *recorded])
        print(f"  {lost} streams lost; the recorder took {share:.0%} of a core; memory {memory[0]:.0f} MiB at first,")
        middle = max(memory[len(memory) // 3 : len(memory) * 2 // 3])
        late = max(memory[len(memory) * 2 // 3 :])
        print(f"  {middle:.0f} MiB at most in the second third, {late:.0f} MiB in the last")
        one = _show("direct, from write to read", _list_latencies(direct))
        two = _show("through the recorder", _list_latencies(recorded))
        sent, seen = _compare_offsets(folder, recorded)
        three = _show("recorded offset against the service's write", sent)
        _show("recorded offset against the client's read", seen)
        five, four = _replay(Path(place), prompts, seconds, tokens, gap, rounds)
    print(f"  added at p99: {(two - one) * 1e6:.0f} us")
    is_late = four > _ALLOWED and four > five * _BEYOND
    return int(bool(lost) or max(two - one, three) > _ALLOWED or is_late or late > middle * _GROWTH)


def _replay(
    place: Path, prompts: Sequence[str], seconds: float, tokens: int, gap: float, rounds: int
) -> tuple[float, float]:
    """Measure streams that the emulator paces itself and replayed ones, in turns; return p99 of both."""
    pace = gap * 1.0618  # another than that in which the streams begin, or their events would be due at once
    latency = f"latency: {{ttft: {pace}s, itl: {pace}s}}"
    paced = f"version: 1\nlimits: []\n{latency}\ndeployments: [{{vendor: mindie, name: m}}]\n"
    (place / "paced.yaml").write_text(paced, encoding="utf-8")
    (place / "replay.yaml").write_text("version: 1\nreplay: {from: calls}\nlimits: []\n", encoding="utf-8")
    own, replayed = list[float](), list[float]()
    for _ in range(rounds):  # new processes: each recorded response is replayed for the first time
        with emulator("serve", str(place / "paced.yaml"), "--log-level", "error") as (_, url):
            read_streams(url, prompts[:1], 0.1, 1, gap)  # the first call imports the vendor
            for reader in read_streams(url, prompts, seconds, tokens, gap, b'"index":'):
                arrivals = reader.arrivals[1:]  # the first has the role
                own += [read - reader.asked - pace * number for number, (_, read) in enumerate(arrivals, 1)]
        with emulator("serve", str(place / "replay.yaml"), "--log-level", "error") as (_, url):
            replayed += _compare_replay(place / "calls", read_streams(url, prompts, seconds, tokens, gap))
    return (
        _show("paced arrival against its due time", own),
        _show("replayed arrival against the recorded offset", replayed),
    )


# Hostile services


def _exhaust(url: str, kind: str, size: int) -> str:
    """Send one request, read its response to the end, and describe it."""
    parts = urlsplit(url)
    began, total = time.monotonic(), 0
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=600) as connection:
        connection.sendall(_write_request(kind, kind, size, 0.0))
        try:
            while data := connection.recv(2**20):
                total += len(data)
            end = "closed"
        except ConnectionResetError:
            end = "reset"
    return f"{total} bytes, then {end}, after {time.monotonic() - began:.1f} s"


def attack(sizes: Mapping[str, int]) -> int:
    """Let hostile services answer while other streams go on; return 1 if memory grows or a stream is lost.

    ``sizes``: bytes to send by kind.
    """
    failed = False
    with tempfile.TemporaryDirectory() as place, service() as url:
        folder = Path(place) / "calls"
        with emulator("record", "--silence", "10s", "--to", str(folder), f"mindie={url}") as (pid, through):
            read_streams(through, ["before"], 0.1, 10, 0.01)
            for kind, size in sizes.items():
                failed |= _stand_beside(through, pid, kind, size)
        for file in list_files(folder):
            _show_end(file)
    return int(failed)


def _stand_beside(url: str, pid: int, kind: str, size: int) -> bool:
    """Read other streams while a hostile service answers; return whether memory grew or one was lost."""
    writer = int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])
    result: list[str] = []
    thread = threading.Thread(target=lambda: result.append(_exhaust(url, kind, size)))
    others: list[Reader] = []
    with _watch(pid) as memory, _watch(writer) as writing:
        thread.start()
        while thread.is_alive() or not others:
            others += read_streams(url, [f"beside {kind}"] * 20, 0.5, 20, 0.01)
        thread.join()
    lost = sum(not reader.is_whole for reader in others)
    print(f"{kind}: {result[0]}; {lost} of {len(others)} other streams lost")
    print(f"  memory: {memory[0]:.0f} to {max(memory):.0f} MiB, of the writer {max(writing):.0f} MiB")
    _show("others, from write to read", _list_latencies(others))
    return lost > 0 or max(memory) > memory[0] + _MOST or max(writing) > writing[0] + _MOST


def _show_end(file: Path) -> None:
    """Print how the recording of a hostile service ends."""
    with file.open("rb") as stream:
        found = re.search(rb'"user": ?"([a-z ]+)"', stream.read(2000))
        stream.seek(-min(200, file.stat().st_size), 2)
        lines = stream.read().rpartition(b"===")[2].decode().split("\n")
    if found is not None:
        print(f"{found[1].decode()}: {file.stat().st_size} bytes of file; {', '.join(filter(None, lines)).strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.recorder", description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help="at once (default 200)")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--gap", type=float, default=0.05, help="seconds between events (default 0.05)")
    parser.add_argument("--rounds", type=int, default=3, help="of paced and replayed streams in turn (default 3)")
    parser.add_argument("--hostile", action="store_true", help="let services misbehave instead")
    parser.add_argument("--size", type=int, default=1024**3, help="bytes that they send (default a gigabyte)")
    options = parser.parse_args()
    if options.hostile:
        return attack(dict.fromkeys(_HOSTILE, options.size))
    return measure(options.streams, options.seconds, options.tokens, options.gap, options.rounds)


if __name__ == "__main__":
    sys.exit(main())
