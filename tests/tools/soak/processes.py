"""``emulator serve`` in processes of its own, as one server, workers or replicas; asked, watched and ended."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.http_client import Answer, read_answer
from tests.storage.servers import KINDS, find_server
from tests.untyped_json import JSON

CHAT = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
PATIENCE = 60.0  # real seconds


@dataclass(frozen=True, slots=True)
class Serving:
    """``emulator serve`` in processes of its own."""

    process: subprocess.Popen[bytes]
    urls: Mapping[str, str]

    async def ask(self, prompt: str, most: int = 4, *, stream: bool = False) -> Answer:
        """A chat on a connection of its own."""
        reader, writer = await self.open(prompt, most, stream=stream)
        try:
            return await asyncio.wait_for(read_answer(reader), PATIENCE)
        finally:
            writer.close()

    async def open(self, prompt: str, most: int, *, stream: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = urlsplit(self.urls["databricks"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(write_chat(prompt, most, stream=stream))
        return reader, writer

    async def steer(self, method: str, target: str, body: bytes = b"") -> JSON:
        """What the control plane answers; on a busy machine a store may be away for a moment, and is waited for."""
        ends = time.monotonic() + PATIENCE
        while (answer := await self._steer(method, target, body)).status == 503 and time.monotonic() < ends:
            await asyncio.sleep(0.2)
        if answer.status >= 400:
            raise RuntimeError(f"{method} {target}: {answer.status} {answer.body!r}")
        return answer.json() if answer.body else None

    async def _steer(self, method: str, target: str, body: bytes) -> Answer:
        url = urlsplit(self.urls["front"])
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(_head(f"{method} /_emulator{target}", len(body)) + body)
        answer = await asyncio.wait_for(read_answer(reader), PATIENCE)
        writer.close()
        return answer

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


def write_chat(prompt: str, most: int, *, stream: bool = False) -> bytes:
    """A whole request."""
    messages = [{"role": "user", "content": prompt}]
    body = json.dumps({"messages": messages, "max_tokens": most, "stream": stream}).encode()
    return _head(f"POST {CHAT}", len(body)) + body


def find_kind() -> str:
    """Which store there is on this machine."""
    kind = next((kind for kind in KINDS if find_server(kind)), None)
    if kind is None:
        raise SystemExit("neither redis-server nor valkey-server is installed")
    return kind


@contextmanager
def serving(folder: Path, scenario: str, *flags: str, log: Path | None = None) -> Iterator[Serving]:
    """One emulator, or its workers; their errors are in ``log``."""
    name = f"{time.monotonic_ns()}"
    ports, file = folder / f"{name}.json", folder / f"{name}.yaml"
    file.write_text(scenario, encoding="utf-8")
    command = [sys.executable, "-m", "emulator", "serve", str(file), "--port", "0", "--port-file", str(ports)]
    with open(log or os.devnull, "ab") as found:
        process = subprocess.Popen([*command, "--log-level", "error", *flags], stdout=subprocess.DEVNULL, stderr=found)
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


def write_limit(unit: str, amount: int) -> str:
    window = "" if unit == "concurrency" else ", window: 1h, strategy: sliding"
    return f"  - {{unit: {unit}, amount: {amount}{window}}}\n"
