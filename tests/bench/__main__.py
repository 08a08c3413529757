"""What the emulator costs, beside a bare aiohttp handler that does the same work.

Run as ``python -m tests.bench``; it takes about two minutes and needs Linux for processor times. Rates are per
second of the server's processor time, so that a busy machine or a slow client does not blur them; ratios are what
counts, as both sides are measured in turn in the same run. A client's
load test repeats its requests, so twenty prompts come again and again; how much less is reached when no prompt ever
comes twice stands in a row of its own.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import rules, streams
from tests.bench.load import Rate, measure

_CHAT = "databricks-meta-llama-3-3-70b-instruct"
_EMBED = "databricks-gte-large-en"
_EMULATOR = ("-m", "emulator", "serve", "--port", "0", "--log-level", "warning", "--port-file")
_REFERENCE = ("-m", "tests.bench.reference")
_PACED = (
    *_EMULATOR[:-1],
    "--ttft",
    f"{streams.TTFT * 1000:.0f}ms",
    "--itl",
    f"{streams.ITL * 1000:.0f}ms",
    "--port-file",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of request; ``units``: events or vectors in one answer."""

    name: str
    path: str
    bodies: Sequence[bytes]
    connections: int
    units: int = 1


def _chat(stream: bool, tokens: int) -> list[bytes]:
    text = "Please tell me in a few words what I should know about topic number {} before I start."
    body = {"model": _CHAT, "max_tokens": tokens, **({"stream": True} if stream else {})}
    return [
        json.dumps({**body, "messages": [{"role": "user", "content": text.format(i)}]}).encode() for i in range(20_000)
    ]


def _embed(batch: int, encoding: str) -> list[bytes]:
    texts = [f"A short passage about subject {i} that somebody wants to find again." for i in range(4000)]
    return [
        json.dumps({"model": _EMBED, "input": texts[i : i + batch], "encoding_format": encoding}).encode()
        for i in range(0, len(texts) - batch, batch)
    ]


def cases() -> list[Case]:
    """Everything that is measured under load."""
    return [
        Case("chat, 64 tokens", "/chat/completions", _chat(False, 64)[:20], 32),
        Case("chat, never the same prompt", "/chat/completions", _chat(False, 64), 32),
        Case("stream, 256 events", "/chat/completions", _chat(True, 256), 16, 256),
        *(
            Case(f"embeddings, batch {batch}, {encoding}", "/embeddings", _embed(batch, encoding), 8, batch)
            for batch in (1, 64)
            for encoding in ("float", "base64")
        ),
    ]


@contextmanager
def server(arguments: Sequence[str], name: str) -> Iterator[tuple[str, int, float]]:
    """A server in a process of its own: base URL, process id, and seconds until it listened."""
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports.json"
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *arguments, str(ports)], stderr=subprocess.DEVNULL)
        try:
            while not ports.exists() or not ports.read_text():
                time.sleep(0.005)
            yield json.loads(ports.read_text())[name], process.pid, started
        finally:
            process.terminate()
            process.wait()


def _memory(pid: int) -> float:
    """Resident memory in MiB; Linux only."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def _first_answer(url: str, path: str) -> None:
    request = urllib.request.Request(url + path, _chat(False, 64)[0])
    request.add_header("Authorization", "Bearer dapi-bench")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        answer.read()


def cold_start(arguments: Sequence[str], name: str, prefix: str) -> tuple[float, float, float]:
    """Seconds from start to first answer (median of five), and memory idle and after it."""
    times, idle, used = [], 0.0, 0.0
    for _ in range(5):
        with server(arguments, name) as (url, pid, started):
            idle = _memory(pid)
            _first_answer(url, prefix + "/chat/completions")
            times.append(time.perf_counter() - started)
            used = _memory(pid)
    return statistics.median(times), idle, used


def _pin(processor: int) -> None:
    """Keep to one processor, and whatever is started from now on: servers to the first, the load to the second."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {processor})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run (default 3)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side, in turn (default 3)")
    options = parser.parse_args()
    own, bare = cold_start(_EMULATOR, "databricks", "/serving-endpoints"), cold_start(_REFERENCE, "reference", "")
    print(f"{'cold start to first answer':<34} {own[0]:10.2f} s       bare {bare[0]:10.2f} s")
    print(
        f"{'memory, idle / after one answer':<34} {own[1]:5.0f} / {own[2]:3.0f} MiB   "
        f" bare {bare[1]:5.0f} / {bare[2]:3.0f} MiB"
    )
    print(rules.report())
    _pin(0)
    with server(_EMULATOR, "databricks") as (url, pid, _), server(_REFERENCE, "reference") as (bare_url, bare_pid, _):
        _pin(1)
        print("per second of one processor:")
        for case in cases():
            _report(case, url, pid, bare_url, bare_pid, options.seconds, options.rounds)
    _pin(0)
    with server(_PACED, "databricks") as (url, _, _):
        _pin(1)
        arrivals = asyncio.run(streams.run(url, "/serving-endpoints/chat/completions", _chat(True, streams.TOKENS)[0]))
        print(f"{streams.STREAMS} paced streams of {streams.TOKENS} tokens: {streams.report(arrivals)}")


def _report(case: Case, url: str, pid: int, bare_url: str, bare_pid: int, seconds: float, rounds: int) -> None:
    rates: tuple[list[Rate], list[Rate]] = [], []
    for _ in range(rounds):
        for side, (base, prefix, process) in enumerate(((url, "/serving-endpoints", pid), (bare_url, "", bare_pid))):
            run = measure(
                base, prefix + case.path, case.bodies, pid=process, connections=case.connections, seconds=seconds
            )
            rates[side].append(asyncio.run(run))
    own, bare = ([r.answers_per_cpu * case.units for r in side] for side in rates)
    seen = statistics.median(r.answers * case.units for r in rates[0])
    ratio = statistics.median(a / b for a, b in zip(own, bare, strict=True))
    print(
        f"{case.name:<34} {statistics.median(own):10.0f}       bare {statistics.median(bare):10.0f}"
        f"       ratio {ratio:5.2f}      ({seen:.0f} a second as the client saw it)"
    )


if __name__ == "__main__":
    main()
