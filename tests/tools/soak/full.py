"""Load a server above its capacity while clients disconnect at random: run as ``python -m tests.tools.soak.full``.

Every client sends its next request after each response, mostly a new one. As in :mod:`tests.tools.soak`,
memory, files and tasks are read at quiet moments, and must be at the end what they were after the warm-up; nothing may
be answered wrongly, and the server may log nothing.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from urllib.parse import urlsplit

from tests.tools.bench.servers import cpu_seconds
from tests.tools.soak.__main__ import Moment, judge, rest, serving
from tests.tools.soak.load import CHATS, Client

_WORKERS = 2
_CONNECTIONS = 24  # of each
_TOKENS = 64
_KINDS, _WEIGHTS = ("unary", "stream", "hang up"), (70, 27, 3)
_LAST_CHUNK = b"0\r\n\r\n"


def _word_request(vendor: str, *, stream: bool) -> bytes:
    """A request with a place for its topic."""
    target, model = CHATS[vendor]
    content = "Please tell me in a few words what I should know about topic %020d before I start."
    asked = {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": _TOKENS}
    body = json.dumps({**asked, "stream": True} if stream else asked)
    head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer soak\r\napi-key: soak\r\n"
    length = len(body % 0)
    return f"{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}".encode()


def _is_whole(answer: bytes) -> bool:
    if answer.endswith(_LAST_CHUNK):
        return True
    end = answer.find(b"\r\n\r\n")
    _, found, length = answer[: max(0, end)].lower().partition(b"content-length:")
    return bool(found) and len(answer) >= end + 4 + int(length.split(b"\r\n", 1)[0])


class Caller(asyncio.Protocol):
    """One connection that asks and asks; ``done``: what came of it, by kind."""

    def __init__(self, draw: random.Random, vendor: str, done: Counter[str]) -> None:
        self._draw, self._done = draw, done
        self._requests = [_word_request(vendor, stream=stream) for stream in (False, True)]
        self._transport: asyncio.Transport | None = None
        self._kind, self._got, self._leaves_at = "", b"", 0
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.ask()

    def ask(self) -> None:
        """The next request."""
        assert self._transport is not None
        (self._kind,) = self._draw.choices(_KINDS, _WEIGHTS)
        self._got = b""
        streamed = self._kind == "stream" or (self._kind == "hang up" and self._draw.random() < 0.5)
        topic = self._draw.randrange(50) if self._draw.random() < 0.1 else self._draw.getrandbits(60)
        request = self._requests[streamed] % topic
        if self._kind == "hang up":
            self._leaves_at = self._draw.randrange(3000)
            if self._draw.random() < 0.3:
                self._transport.write(request[: self._draw.randrange(len(request))])
                self.leave()
                return
        self._transport.write(request)

    def leave(self) -> None:
        """Hang up, rudely or not."""
        assert self._transport is not None
        self._done["hang up"] += 1
        self._transport.abort() if self._draw.random() < 0.5 else self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._got = got = self._got + data if self._got else data
        if not self._kind:
            return
        if self._kind == "hang up" and len(got) >= self._leaves_at:
            self.leave()
        elif _is_whole(got):
            right = got.startswith(b"HTTP/1.1 200 ")
            self._done[self._kind if right else f"wrong: {got[:300]!r}"] += 1
            if b"\r\nconnection: close\r\n" in got[:1000].lower():  # so MindIE does
                self._kind = ""
            else:
                self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._kind not in ("", "hang up"):
            self._done[f"wrong: the server hung up on {self._kind}: {exc!r}"] += 1
        if not self.over.done():
            self.over.set_result(None)


def work(urls: dict[str, str], seconds: float, seed: str) -> Counter[str]:
    """Ask on all connections for some time; what came of it."""
    return asyncio.run(_work(urls, seconds, seed))


async def _work(urls: dict[str, str], seconds: float, seed: str) -> Counter[str]:
    done: Counter[str] = Counter()
    ends = time.monotonic() + seconds

    async def keep_calling(number: int) -> None:
        draw, vendor = random.Random(f"{seed} {number}"), [*CHATS][number % len(CHATS)]
        url = urlsplit(urls[vendor])
        while time.monotonic() < ends:
            _, caller = await asyncio.get_running_loop().create_connection(
                lambda: Caller(draw, vendor, done), url.hostname or "", url.port or 0
            )
            await asyncio.wait([caller.over], timeout=max(0.0, ends - time.monotonic()))
            if not caller.over.done():
                caller._kind = "hang up"
                caller.leave()
                await caller.over

    await asyncio.gather(*map(keep_calling, range(_CONNECTIONS)))
    return done


async def soak(seconds: float, warm_up: float, seed: int, pauses: int) -> int:
    """Load, look, load again; print a line for each look, and what was found."""
    moments: list[Moment] = []
    done: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryFile() as log, serving(log=log) as (pid, urls), ProcessPoolExecutor(_WORKERS) as workers:
        client = Client(urls, random.Random(seed))
        began, worked, loaded = time.monotonic(), cpu_seconds(pid), 0.0
        for period, length in enumerate((warm_up, *[seconds / pauses] * pauses)):
            seeds = [f"{seed} {period} {worker}" for worker in range(_WORKERS)]
            tasks = [loop.run_in_executor(workers, work, dict(urls), length, each) for each in seeds]
            done = sum(await asyncio.gather(*tasks), done)
            loaded += length
            moments.append(await rest(client, pid, began))
            print(moments[-1], flush=True)
        share = (cpu_seconds(pid) - worked) / loaded
        log.seek(0)
        said = log.read().decode(errors="replace")
    print(f"{done.total()} calls, {done.total() / loaded:.0f} a second; the server had {share:.0%} of a core")
    print(", ".join(f"{count} {name}" for name, count in done.most_common(9)))
    found = [*judge(moments), *[name for name in done if name.startswith("wrong")][:9]]
    found += [f"the log says: {said[:3000]}"] if "Traceback" in said or "bug" in said else []
    for line in found:
        print(line)
    print(f"{'not flat or not right' if found else 'flat'}; seed {seed}")
    return int(bool(found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.full", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="of load, after the warm-up (default 1800)")
    parser.add_argument("--warm-up", type=float, default=480, help="seconds before the first look (default 480)")
    parser.add_argument("--pauses", type=int, default=10, help="how often it looks (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return asyncio.run(soak(options.seconds, options.warm_up, options.seed, options.pauses))


if __name__ == "__main__":
    sys.exit(main())
