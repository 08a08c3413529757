"""Try what replicas promise on processes that are killed, and measure it. Run as ``python -m tests.soak.replicas``.

It takes redis-server or valkey-server. Each trial says what was found and whether that is as it should be:

- sixty a minute and eight at once over three replicas with 64 clients each;
- a replica that is killed in the middle of streams, again and again: what it held comes back with its lease;
- a store that is killed and started again;
- the same requests over one process, workers and replicas: the same bytes;
- what a quota that is shared costs a call, and what a worker more brings, in processor time.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from emulator.state.redis.server import LEASE
from tests.parsed import JSON
from tests.state.servers import KINDS, find_server, free_port, running
from tests.wire import Answer, read_answer

_CHAT = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
_PATIENCE = 60.0  # real seconds
_PAIRS = 15  # of fifty calls with a store and fifty without


@dataclass(frozen=True, slots=True)
class Serving:
    """``emulator serve`` in processes of its own."""

    process: subprocess.Popen[bytes]
    urls: Mapping[str, str]

    async def ask(self, prompt: str, most: int = 4, *, stream: bool = False) -> Answer:
        """A chat on a connection of its own."""
        reader, writer = await self.open(prompt, most, stream=stream)
        try:
            return await asyncio.wait_for(read_answer(reader), _PATIENCE)
        finally:
            writer.close()

    async def open(self, prompt: str, most: int, *, stream: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = urlsplit(self.urls["databricks"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        messages = [{"role": "user", "content": prompt}]
        body = json.dumps({"messages": messages, "max_tokens": most, "stream": stream}).encode()
        writer.write(_head(f"POST {_CHAT}", len(body)) + body)
        return reader, writer

    async def steer(self, method: str, target: str, body: bytes = b"") -> JSON:
        url = urlsplit(self.urls["front"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(_head(f"{method} /_emulator{target}", len(body)) + body)
        answer = await asyncio.wait_for(read_answer(reader), _PATIENCE)
        writer.close()
        return answer.json()

    @property
    def busy(self) -> float:
        """Seconds of processor time of it and of all that it started. Source: proc(5), ``stat``."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        ticks = 0
        for each in (pid, *children):
            fields = Path(f"/proc/{each}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


def _head(line: str, length: int) -> bytes:
    headers = f"Host: localhost\r\nAuthorization: Bearer any\r\nContent-Length: {length}\r\n"
    return f"{line} HTTP/1.1\r\n{headers}Content-Type: application/json\r\n\r\n".encode()


def find_kind() -> str:
    """Which store there is on this machine."""
    kind = next((kind for kind in KINDS if find_server(kind)), None)
    if kind is None:
        raise SystemExit("neither redis-server nor valkey-server is installed")
    return kind


@contextmanager
def serving(folder: Path, scenario: str, *flags: str, log: Path | None = None) -> Iterator[Serving]:
    """One emulator, or its workers; what goes wrong there is told in ``log``."""
    name = f"{time.monotonic_ns()}"
    ports, file = folder / f"{name}.json", folder / f"{name}.yaml"
    file.write_text(scenario, encoding="utf-8")
    command = [sys.executable, "-m", "emulator", "serve", str(file), "--port", "0", "--port-file", str(ports)]
    with open(log or os.devnull, "ab") as told:
        process = subprocess.Popen([*command, "--log-level", "error", *flags], stdout=subprocess.DEVNULL, stderr=told)
    try:
        while not ports.exists():
            if process.poll() is not None:
                raise SystemExit("an emulator did not start")
            time.sleep(0.01)
        yield Serving(process, json.loads(ports.read_text(encoding="utf-8")))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def replicas(folder: Path, scenario: str, store: str, count: int = 3) -> Iterator[list[Serving]]:
    with ExitStack() as stack:
        yield [stack.enter_context(serving(folder, scenario, "--state-url", store)) for _ in range(count)]


def _limit(unit: str, amount: int) -> str:
    window = "" if unit == "concurrency" else ", window: 1h, strategy: sliding"
    return f"  - {{unit: {unit}, amount: {amount}{window}}}\n"


async def try_sixty(folder: Path, store: str) -> bool:
    """As many are admitted as may be, whoever asks whom."""
    scenario = "version: 1\nname: sixty\nlimits:\n  - {unit: requests, amount: 60, window: 60s, strategy: sliding}\n"
    with replicas(folder, scenario, store) as three:
        answers = await asyncio.gather(*(three[n % 3].ask(f"{n}") for n in range(3 * 64)))
    admitted = sum(answer.status == 200 for answer in answers)
    print(f"sixty a minute, 3 x 64 clients: {admitted} admitted")
    return admitted == 60


async def try_eight(folder: Path, store: str) -> bool:
    """Of streams that last, eight run."""
    scenario = "version: 1\nname: eight\nlatency: {ttft: 10ms, itl: 50ms}\nlimits:\n" + _limit("concurrency", 8)
    with replicas(folder, scenario, store) as three:
        answers = await asyncio.gather(*(three[n % 3].ask(f"{n}", 100, stream=True) for n in range(3 * 64)))
        again = await asyncio.gather(*(three[n % 3].ask(f"again {n}", 1) for n in range(8)))
    admitted, free = sum(a.status == 200 for a in answers), sum(a.status == 200 for a in again)
    print(f"eight at once, 3 x 64 clients: {admitted} admitted, and {free} of 8 places free afterwards")
    return (admitted, free) == (8, 8)


async def try_kills(folder: Path, store: str, kills: int) -> bool:
    """Requests that were admitted stay spent; places and tokens that were not sent come back with the lease."""
    limits = _limit("requests", 1000) + _limit("output_tokens", 100_000) + _limit("concurrency", 40)
    scenario = f"version: 1\nname: kills\nlatency: {{ttft: 10ms, itl: 50ms}}\nlimits:\n{limits}"
    admitted = 0
    with replicas(folder, scenario, store, 1) as [stays]:
        for number in range(kills):
            with serving(folder, scenario, "--state-url", store) as dies:
                streams = [await dies.open(f"{number} {n}", 200, stream=True) for n in range(4)]
                heads = await asyncio.gather(*(reader.readuntil(b"\r\n\r\n") for reader, _ in streams))
                admitted += sum(head.startswith(b"HTTP/1.1 200") for head in heads)
                dies.process.send_signal(signal.SIGKILL)
                dies.process.wait()
                for _, writer in streams:
                    writer.close()
        await asyncio.sleep(LEASE + 4.0)
        left = {row["unit"]: row["left"] for row in (await stays.steer("GET", "/limits"))["limits"]}
    print(f"{kills} kills in the middle of streams: {admitted} admitted, left {left}")
    return left == {"requests": 1000 - admitted, "output_tokens": 100_000, "concurrency": 40}


async def try_store(folder: Path, kind: str) -> bool:
    """Meanwhile calls are refused as not ready, and soon after it is back they are answered."""
    port, scenario = free_port(), "version: 1\nname: store\nlimits:\n" + _limit("requests", 1_000_000)
    with ExitStack() as stack:
        first = ExitStack()
        store = first.enter_context(running(kind, folder, port))
        three = stack.enter_context(replicas(folder, scenario, store))
        before = Counter([(await three[n % 3].ask(f"{n}")).status for n in range(9)])
        first.close()
        away = Counter([(await three[n % 3].ask(f"away {n}")).status for n in range(9)])
        stack.enter_context(running(kind, folder, port))
        began, slowest = time.monotonic(), 0.0
        for replica in three:
            while (await replica.ask("back")).status != 200:
                await asyncio.sleep(0.01)
            slowest = max(slowest, time.monotonic() - began)
        after = Counter([(await three[n % 3].ask(f"after {n}")).status for n in range(90)])
    print(f"store killed: {dict(before)} before, {dict(away)} away, back after {slowest:.2f} s, {dict(after)} after")
    return 200 not in away and slowest < 2.0 and set(after) == {200}


async def try_bytes(folder: Path, store: str, count: int) -> bool:
    """Each request is answered with the same bytes wherever it comes."""
    scenario = "version: 1\nname: bytes\nclock: frozen\n"

    async def collect(group: Sequence[Serving]) -> list[bytes]:
        order = sorted(range(count), key=lambda n: (n * 7919) % count)
        found: dict[int, bytes] = {}
        for start in range(0, count, 20):
            part = order[start : start + 20]
            answers = await asyncio.gather(*(group[n % len(group)].ask(f"{n}", 20, stream=n % 2 == 0) for n in part))
            found |= {n: answer.body for n, answer in zip(part, answers, strict=True)}
        return [found[n] for n in range(count)]

    with serving(folder, scenario) as one:
        wanted = await collect([one])
    same = True
    for name, flags in (("2 workers", ["--workers", "2"]), ("4 workers", ["--workers", "4"])):
        with serving(folder, scenario, *flags) as group:
            differ = sum(a != b for a, b in zip(wanted, await collect([group]), strict=True))
            kept = len({call["id"] for call in (await group.steer("GET", f"/requests?limit={count}"))["requests"]})
        print(f"{count} requests over {name}: {differ} differ from one process; the journal has {kept}")
        same &= (differ, kept) == (0, count)
    with replicas(folder, scenario, store) as three:
        differ = sum(a != b for a, b in zip(wanted, await collect(three), strict=True))
        whole = [len((await each.steer("GET", f"/requests?limit={count}"))["requests"]) for each in three]
    print(f"{count} requests over 3 replicas: {differ} differ from one process; their journals have {whole}")
    return same and differ == 0 and whole == [count] * 3


async def measure_quota(folder: Path, store: str) -> bool:
    """One client, one call after the other, with and without the store; pairs in turn."""
    scenario = "version: 1\nname: cost\nlimits:\n" + _limit("requests", 10_000_000)
    times: dict[str, list[float]] = {"memory": [], "store": []}
    with serving(folder, scenario) as near, serving(folder, scenario, "--state-url", store) as far:
        for served in (near, far):
            await _time_calls(served, 200, "warm")
        before = {"memory": near.busy, "store": far.busy}
        for number in range(_PAIRS):
            for name, served in (("memory", near), ("store", far)):
                times[name] += await _time_calls(served, 50, f"{number}")
        spent = {"memory": near.busy - before["memory"], "store": far.busy - before["store"]}
    work = {name: seconds / _PAIRS / 51 * 1000 for name, seconds in spent.items()}
    found = {}
    for what, part in (("p50", 50), ("p10", 10)):
        near_ms, far_ms = (statistics.quantiles(times[name], n=100)[part - 1] * 1000 for name in ("memory", "store"))
        found[what] = far_ms - near_ms
        print(f"a quota, {what}: {near_ms:.3f} ms in memory, {far_ms:.3f} ms in the store: {found[what]:.3f} ms more")
    print(f"  a call takes {work['memory']:.3f} ms of the processor in memory, {work['store']:.3f} ms with the store")
    return found["p50"] < 0.3


async def _time_calls(served: Serving, count: int, prompt: str) -> list[float]:
    """On one connection; the first few are not counted."""
    reader, writer = await served.open(prompt, 4, stream=False)
    await read_answer(reader)
    url = urlsplit(served.urls["databricks"])
    assert url.port
    times = []
    for number in range(count):
        body = json.dumps({"messages": [{"role": "user", "content": f"{prompt} {number}"}], "max_tokens": 4}).encode()
        began = time.perf_counter()
        writer.write(_head(f"POST {_CHAT}", len(body)) + body)
        await read_answer(reader)
        times.append(time.perf_counter() - began)
    writer.close()
    return times[5:]


async def measure_workers(folder: Path) -> bool:
    """Calls for a second of processor time: what two workers do beside one if each has a core."""
    scenario, found = "version: 1\nname: workers\n", {}
    for workers in (1, 2):
        with serving(folder, scenario, "--workers", str(workers)) as served:
            await asyncio.gather(*(_time_calls(served, 100, f"warm {n}") for n in range(8)))
            before, count = served.busy, 0
            for turn in range(10):
                done = await asyncio.gather(*(_time_calls(served, 50, f"{turn} {n}") for n in range(8)))
                count += sum(len(times) + 6 for times in done)
            found[workers] = count / (served.busy - before)
    ratio = 2 * found[2] / found[1]
    print(f"workers: {found[1]:.0f} calls a second of processor time with one, {found[2]:.0f} with two: x {ratio:.2f}")
    return ratio >= 1.6


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.replicas", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="of a replica in the middle of streams (default 50)")
    parser.add_argument("--requests", type=int, default=500, help="of which bytes are compared (default 500)")
    parser.add_argument("--only", help="trials whose names have this word")
    options = parser.parse_args()
    kind = find_kind()
    with tempfile.TemporaryDirectory() as text, running(kind, Path(text)) as store:
        folder = Path(text)
        trials: Mapping[str, Callable[[], Awaitable[bool]]] = {
            "sixty": lambda: try_sixty(folder, f"{store}?prefix=sixty"),
            "eight": lambda: try_eight(folder, f"{store}?prefix=eight"),
            "kills": lambda: try_kills(folder, f"{store}?prefix=kills", options.kills),
            "store": lambda: try_store(folder, kind),
            "bytes": lambda: try_bytes(folder, f"{store}?prefix=bytes", options.requests),
            "quota": lambda: measure_quota(folder, f"{store}?prefix=quota"),
            "workers": lambda: measure_workers(folder),
        }
        failed = [name for name, trial in trials.items() if (options.only or "") in name and not await trial()]
    print(f"not as it should be: {', '.join(failed)}" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
