"""Load one server for a long time, and report whether it leaks anything. Run as ``python -m tests.tools.soak``.

At quiet moments, with nothing under way, sessions ended and the journal cleared, its memory, open files and tasks are
read: what it has then it does not give back. The first such moment comes after a warm-up, once everything that is
imported, cached and pooled is there. 1 if a later one is beyond it by more than 5 %, or if anything was lost.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tests.tools.soak.load import Client

_ALLOWED = 1.05  # of what there was at first
_CLIENTS = 16
_TOLD = 10  # losses that are shown


@dataclass(frozen=True, slots=True)
class Moment:
    """Resources of an idle server; ``at``: seconds since the beginning."""

    at: float
    memory: float
    files: int
    tasks: int

    def __str__(self) -> str:
        return f"{self.at:6.0f} s  {self.memory:7.1f} MiB  {self.files:4d} files  {self.tasks:4d} tasks"


@contextmanager
def serving(*more: str, log: IO[bytes] | None = None) -> Iterator[tuple[int, Mapping[str, str]]]:
    """``emulator serve`` in a process of its own: its id, and its base URLs; ``log``: where its log goes."""
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports.json"
        command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--port-file", str(ports)]
        limits = ["--log-level", "error", "--head-timeout", "5s", "--body-timeout", "10s", "--idle-timeout", "30s"]
        process = subprocess.Popen([*command, *limits, *more], stdout=subprocess.DEVNULL, stderr=log)
        try:
            while not ports.exists():
                if process.poll() is not None:
                    raise SystemExit("the server did not start")
                time.sleep(0.01)
            yield process.pid, json.loads(ports.read_text())
        finally:
            process.terminate()
            process.wait()


class Acting(Protocol):
    """Does something to a server, again and again."""

    async def act(self) -> None: ...


async def load(clients: Sequence[Acting], seconds: float, rate: float) -> None:
    """So many actions a second, by whichever client is free."""
    ends = time.monotonic() + seconds

    async def work(client: Acting) -> None:
        while time.monotonic() < ends:
            began = time.monotonic()
            await client.act()
            await asyncio.sleep(max(0.0, len(clients) / rate - (time.monotonic() - began)))

    await asyncio.gather(*map(work, clients))


async def rest(client: Client, pid: int, began: float) -> Moment:
    """Have everything ended and cleared that can be, then look."""
    await client._control("PUT", "/scenario", "version: 1\n")
    for session in (await client._control("GET", "/sessions")).json()["sessions"]:
        await client._control("DELETE", f"/sessions/{session['name']}")
    await client._control("POST", "/reset")
    await asyncio.sleep(2)  # connections that were hung up on end
    return look_at(pid, (await client._control("GET", "/status")).json()["tasks"], began)


def look_at(pid: int, tasks: int, began: float) -> Moment:
    """Return the system's figures of a process."""
    return Moment(time.monotonic() - began, read_memory(pid), len(os.listdir(f"/proc/{pid}/fd")), tasks)


def read_memory(pid: int) -> float:
    """Resident MiB. Source: proc(5), ``VmRSS`` of ``status``."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def judge(moments: list[Moment]) -> list[str]:
    """Return what grew: the last third of the measurements compared with the first."""
    first, last = moments[0], moments[-max(1, len(moments) // 3) :]
    found = {
        "memory": (first.memory, statistics.median(moment.memory for moment in last), _ALLOWED),
        "files": (first.files, statistics.median(moment.files for moment in last), _ALLOWED),
        "tasks": (first.tasks, statistics.median(moment.tasks for moment in last), _ALLOWED),
    }
    return [f"{name} grew from {a:g} to {b:g}" for name, (a, b, most) in found.items() if b > a * most]


async def soak(seconds: float, warm_up: float, rate: float, seed: int, pauses: int) -> int:
    """Load, look, load again; print a line for each look, and what was found."""
    moments: list[Moment] = []
    with serving() as (pid, urls):
        clients = [Client(urls, random.Random(f"{seed} {number}")) for number in range(_CLIENTS)]
        began = time.monotonic()
        for period in (warm_up, *[seconds / pauses] * pauses):
            await load(clients, period, rate)
            moments.append(await rest(clients[0], pid, began))
            print(moments[-1], flush=True)
    done: Counter[str] = sum((client.done for client in clients), Counter())
    lost = [loss for client in clients for loss in client.lost]
    print(f"{done.total()} actions: {', '.join(f'{count} {name}' for name, count in done.most_common())}")
    grown = judge(moments)
    for line in (*grown, *(f"lost: {loss}" for loss in lost[:_TOLD])):
        print(line)
    print(f"{'flat' if not grown else 'not flat'}; {len(lost)} lost; seed {seed}")
    return 1 if grown or lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="of load, after the warm-up (default 1800)")
    parser.add_argument(
        "--warm-up",
        type=float,
        default=600,  # until most words of the language were generated once: each is cached from then on
        help="seconds of load before the first look (default 600)",
    )
    parser.add_argument("--rate", type=float, default=40, help="actions a second (default 40)")
    parser.add_argument("--pauses", type=int, default=10, help="how often it looks (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return asyncio.run(soak(options.seconds, options.warm_up, options.rate, options.seed, options.pauses))


if __name__ == "__main__":
    sys.exit(main())
