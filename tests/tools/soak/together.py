"""Load three replicas of one store for a long time, and kill one again and again.

Run it as ``python -m tests.tools.soak.together``.

Clients do all that they do to a single server (``tests/tools/soak/load.py``), each time to any of the replicas. In
the middle
of every period one of the three is killed and another takes its place; the other two live as long as the load. At quiet
moments, with sessions ended and all reset, each replica's memory, open files and tasks are read, and the store's keys.
1 if a replica grows, if the store keeps anything of a session, or if anything was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from redis import Redis

from emulator.storage.redis.client import LEASE
from tests.storage.servers import running
from tests.tools.soak.__main__ import Moment, judge, load, look_at
from tests.tools.soak.load import Client
from tests.tools.soak.processes import Serving, find_kind, serving

_CLIENTS = 12
_PLAIN = "version: 1\n"
_TOLD = 10  # losses that are shown
_QUIET = 6.0  # seconds; idle connections have ended then, by their timeouts
_LOOKS, _BETWEEN = 5, 0.2  # of each replica: what it asks the store now and then takes a file or a task for a moment
_STANDING = (
    "owners",
    "number",
    "birth",
    "worlds",
    "began",
    "alive",
    "entered",
)  # last parts of keys that are there without a session
_GOING = ("replies", "inbox")  # those that go within half a minute by themselves


@dataclass(eq=False)
class Place:
    """One of three places; ``lives``: how many replicas it has had; ``dies``: the latest is about to be killed."""

    folder: Path
    store: str
    stack: ExitStack = field(default_factory=ExitStack)
    lives: int = 0
    dies: bool = False
    moments: list[Moment] = field(default_factory=list)

    def start(self) -> None:
        limits = ("--head-timeout", "5s", "--body-timeout", "5s", "--idle-timeout", "5s")
        self.serving: Serving = self.stack.enter_context(
            serving(self.folder, _PLAIN, "--state-url", self.store, *limits, log=self.folder / "log")
        )
        self.lives += 1
        self.dies = False

    async def kill(self) -> None:
        """End it without a word, and have another in its place a moment later."""
        self.dies = True
        self.serving.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self.stack.close)
        await asyncio.sleep(1)
        await asyncio.to_thread(self.start)


@dataclass(eq=False)
class Roamer:
    """A client that goes to any of the places; what a killed replica owes it is not lost."""

    places: Sequence[Place]
    draw: random.Random
    done: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    async def act(self) -> None:
        place = self.draw.choice(self.places)
        life = place.lives
        client = Client(place.serving.urls, self.draw, self.done)
        await client.act()
        if place.lives == life and not place.dies:
            self.lost += client.lost


async def rest(places: Sequence[Place], began: float) -> None:
    """Have everything ended and cleared that can be, then look at each."""
    first = places[0].serving
    await first.steer("PUT", "/scenario", _PLAIN.encode())
    listed = await first.steer("GET", "/sessions")
    for session in listed["sessions"]:
        await first.steer("DELETE", f"/sessions/{session['name']}")
    await first.steer("POST", "/reset")
    await asyncio.sleep(_QUIET)
    for number, place in enumerate(places):
        served = place.serving
        looks = []
        for _ in range(_LOOKS):
            await asyncio.sleep(_BETWEEN)
            looks.append(look_at(served.process.pid, (await served.steer("GET", "/status"))["tasks"], began))
        moment = replace(looks[-1], files=min(look.files for look in looks), tasks=min(look.tasks for look in looks))
        place.moments.append(moment)
        print(f"replica {number}  {moment}", flush=True)


def list_keys(store: str) -> Mapping[str, int]:
    """The keys that are there for a session or a call, by what they are."""
    with Redis.from_url(store, decode_responses=True) as server:
        keys = [key for key in server.scan_iter() if key.rpartition(":")[2] not in _STANDING]
        found = Counter(key.partition(":")[2] for key in keys if not set(key.split(":")) & {*_GOING})
    return found


async def soak(seconds: float, warm_up: float, rate: float, seed: int, pauses: int) -> int:
    """Load, kill, look, load again; print a line for each look, and what was found."""
    with tempfile.TemporaryDirectory() as text, running(find_kind(), Path(text)) as store, ExitStack() as stack:
        folder = Path(text)
        places = [Place(folder, store) for _ in range(3)]
        for place in places:
            stack.callback(place.stack.close)
            place.start()
        clients = [Roamer(places, random.Random(f"{seed} {number}")) for number in range(_CLIENTS)]
        began = time.monotonic()
        for period in (warm_up, *[seconds / pauses] * pauses):
            await load(clients, period / 2, rate)
            killed = asyncio.create_task(places[-1].kill())
            await load(clients, period / 2, rate)
            await killed
            await rest(places, began)
            print(f"keys of sessions and calls in the store: {len(list_keys(store))}", flush=True)
        await asyncio.sleep(LEASE + 4)  # what the last one that was killed held has come back
        kept = list_keys(store)
        said = (folder / "log").read_text(encoding="utf-8")
    done: Counter[str] = sum((client.done for client in clients), Counter())
    lost = [loss for client in clients for loss in client.lost]
    print(f"{done.total()} actions: {', '.join(f'{count} {name}' for name, count in done.most_common())}")
    grown = [f"replica {number}: {line}" for number, place in enumerate(places) for line in judge(place.moments)]
    bugs = [line for line in said.splitlines() if "bug in the emulator" in line or line.startswith("Traceback")]
    losses, keys = [f"lost: {loss}" for loss in lost], [f"kept: {key}" for key in kept]
    for line in (*grown, *losses[:_TOLD], *keys[:_TOLD], *bugs[:_TOLD]):
        print(line)
    away = sum("the store does not answer" in line for line in said.splitlines())
    flat = f"{away} times a replica had no answer of the store; {'not flat' if grown else 'flat'}"
    print(f"{flat}; {len(lost)} lost; {len(kept)} keys left; {len(bugs)} bugs told; seed {seed}")
    return 1 if grown or lost or kept or bugs else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.together", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="of load, after the warm-up (default 1800)")
    parser.add_argument(
        "--warm-up", type=float, default=480, help="seconds of load before the first look (default 480)"
    )
    parser.add_argument("--rate", type=float, default=40, help="actions a second (default 40)")
    parser.add_argument("--pauses", type=int, default=10, help="how often it kills and looks (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return asyncio.run(soak(options.seconds, options.warm_up, options.rate, options.seed, options.pauses))


if __name__ == "__main__":
    sys.exit(main())
