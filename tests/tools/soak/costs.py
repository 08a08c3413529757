"""What a quota that is shared costs a call, and what a worker more brings."""

import os
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.http_client import read_answer
from tests.tools.bench.load import Load, loader
from tests.tools.bench.rows import chat
from tests.tools.bench.servers import Running
from tests.tools.soak.processes import CHAT, Serving, serving, write_chat, write_limit

_PAIRS = 15  # of fifty calls with a store and fifty without
_TURNS, _LOADED = 4, 2.0  # of one worker and two, each so many seconds


async def measure_quota(folder: Path, store: str) -> bool:
    """One client, one call after the other, with and without the store; pairs in turn."""
    scenario = "version: 1\nname: cost\nlimits:\n" + write_limit("requests", 10_000_000)
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
    times = []
    for number in range(count):
        request = write_chat(f"{prompt} {number}", 4)
        began = time.perf_counter()
        writer.write(request)
        await read_answer(reader)
        times.append(time.perf_counter() - began)
    writer.close()
    return times[5:]


def measure_workers(folder: Path) -> bool:
    """As many calls as one worker answers, and as two do, by turns.

    By wall two show what they can only if each has a core that the load, a program in C, leaves free; else a note,
    and they are judged by processor time: what two do that have a core each, by what a call of theirs takes of it.
    """
    scenario, runs = "version: 1\nname: workers\n", {1: _Run(), 2: _Run()}
    load = Load(body=chat(64), connections=32, warm=0.0)
    with loader() as client, ExitStack() as stack:
        served = {n: stack.enter_context(serving(folder, scenario, "--workers", str(n))) for n in runs}
        for turn in range(1 + _TURNS):
            for workers, run in runs.items():
                each = served[workers]
                url = urlsplit(each.urls["databricks"])
                assert url.port
                before, began = each.busy, time.perf_counter()
                told = client.run(load, Running(url.port, CHAT, each.process.pid, 0.0), _LOADED)
                if turn:  # after a warm-up
                    run.add(
                        told["answers"] * _LOADED, time.perf_counter() - began, each.busy - before, told["load_cpu"]
                    )
    for workers, run in runs.items():
        print(f"workers, {workers}: {run}")
    by_wall = runs[2].rate / runs[1].rate
    by_work = 2 * runs[2].calls_per_core / runs[1].calls_per_core
    cores = (os.cpu_count() or 1) - runs[2].load
    print(f"  two do x{by_wall:.2f} by wall, x{by_work:.2f} by processor time; the load leaves them {cores:.2f} cores")
    return min(by_work, by_wall if cores >= 2 else by_work) >= 1.6


@dataclass
class _Run:
    """What was answered in some turns: in how many real seconds, and seconds of processor time of server and load."""

    calls: float = 0.0
    seconds: float = 0.0
    busy: float = 0.0
    loads: list[float] = field(default_factory=list)

    def add(self, calls: float, seconds: float, busy: float, load: float) -> None:
        self.calls += calls
        self.seconds += seconds
        self.busy += busy
        self.loads.append(load)

    @property
    def rate(self) -> float:
        return self.calls / self.seconds

    @property
    def calls_per_core(self) -> float:
        return self.calls / self.busy

    @property
    def load(self) -> float:
        """Cores."""
        return statistics.mean(self.loads)

    def __str__(self) -> str:
        shares = f"{self.busy / self.seconds:.2f} cores, the load {self.load:.2f}"
        return f"{self.rate:.0f} calls a second with {shares}; {self.calls_per_core:.0f} for a second of processor time"
