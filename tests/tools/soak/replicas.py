"""Try what replicas promise on processes that are killed, and measure it.

Run it as ``python -m tests.tools.soak.replicas``.

It takes redis-server or valkey-server. Each trial prints what was found and whether that is correct:

- sixty a minute and eight at once over three replicas with 64 clients each;
- a replica that is killed in the middle of streams, again and again: what it held comes back with its lease;
- a store that is killed and started again;
- the same requests over one process, workers and replicas: the same bytes;
- what a quota that is shared costs a call, and what a worker more brings, in processor time.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from emulator.storage.redis.client import LEASE
from tests.storage.servers import free_port, running
from tests.tools.soak.costs import measure_quota, measure_workers
from tests.tools.soak.processes import PATIENCE, Serving, find_kind, replicas, serving, write_limit

_LATE = 5.0  # real seconds after a lease is over until all was surely taken back


async def try_sixty(folder: Path, store: str) -> bool:
    """Check that exactly the quota is admitted, over all replicas."""
    scenario = "version: 1\nname: sixty\nlimits:\n  - {unit: requests, amount: 60, window: 60s, strategy: sliding}\n"
    with replicas(folder, scenario, store) as three:
        answers = await asyncio.gather(*(three[n % 3].ask(f"{n}") for n in range(3 * 64)))
    admitted = sum(answer.status == 200 for answer in answers)
    print(f"sixty a minute, 3 x 64 clients: {admitted} admitted")
    return admitted == 60


async def try_eight(folder: Path, store: str) -> bool:
    """Of streams that last, eight run."""
    scenario = "version: 1\nname: eight\nlatency: {ttft: 10ms, itl: 50ms}\nlimits:\n" + write_limit("concurrency", 8)
    with replicas(folder, scenario, store) as three:
        answers = await asyncio.gather(*(three[n % 3].ask(f"{n}", 100, stream=True) for n in range(3 * 64)))
        again = await asyncio.gather(*(three[n % 3].ask(f"again {n}", 1) for n in range(8)))
    admitted, free = sum(a.status == 200 for a in answers), sum(a.status == 200 for a in again)
    print(f"eight at once, 3 x 64 clients: {admitted} admitted, and {free} of 8 places free afterwards")
    return (admitted, free) == (8, 8)


async def try_kills(folder: Path, store: str, kills: int) -> bool:
    """Requests that were admitted stay spent; places and tokens that were not sent come back with the lease.

    A stream has its first token at once and the next after hours, so that none is over before its server is killed.
    """
    limits = write_limit("requests", 1000) + write_limit("output_tokens", 100_000) + write_limit("concurrency", 40)
    scenario = f"version: 1\nname: kills\nlatency: {{ttft: 10ms, itl: 1h}}\nlimits:\n{limits}"
    admitted, slowest = 0, 0.0
    with replicas(folder, scenario, store, 1) as [stays]:
        for number in range(kills):
            with serving(folder, scenario, "--state-url", store) as dies:
                streams = [await dies.open(f"{number} {n}", 200, stream=True) for n in range(4)]
                admitted += sum(await asyncio.gather(*(is_under_way(reader) for reader, _ in streams)))
                dies.process.send_signal(signal.SIGKILL)
                dies.process.wait()
                for _, writer in streams:
                    writer.close()
        wanted = {"requests": 1000 - admitted, "output_tokens": 100_000, "concurrency": 40}
        died, left = time.monotonic(), dict[str, int]()
        while left != wanted and slowest < LEASE + _LATE:
            await asyncio.sleep(0.1)
            left = {row["unit"]: row["left"] for row in (await stays.steer("GET", "/limits"))["limits"]}
            slowest = time.monotonic() - died
    print(f"{kills} kills in the middle of streams: {admitted} admitted, left {left} {slowest:.1f} s after the last")
    return left == wanted


async def is_under_way(reader: asyncio.StreamReader) -> bool:
    """A stream was admitted, and the client has its first token."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    admitted = head.startswith(b"HTTP/1.1 200")
    if admitted:
        await asyncio.wait_for(reader.readuntil(b"data: "), PATIENCE)
    return admitted


async def try_store(folder: Path, kind: str) -> bool:
    """Meanwhile calls are refused as not ready, and soon after it is back they are answered."""
    port, scenario = free_port(), "version: 1\nname: store\nlimits:\n" + write_limit("requests", 1_000_000)
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


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.replicas", description=__doc__)
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
            "workers": lambda: asyncio.to_thread(measure_workers, folder),
        }
        failed = [name for name, trial in trials.items() if (options.only or "") in name and not await trial()]
    print(f"not as it should be: {', '.join(failed)}" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
