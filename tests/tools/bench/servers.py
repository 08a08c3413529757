"""Servers in processes of their own, each on the first processor; the load has the second to itself."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

SERVER_CORE, LOAD_CORE = 0, 1
_PATIENCE = 60.0  # seconds for a server to start
_MANNERS = 5.0  # seconds for it to end
_SCHEDULED = 2  # of a process's clocks on Linux, the one of its time on a processor: CPUCLOCK_SCHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of those that are compared.

    Fields:
        command: starts it; the name of a file for its base URLs is added.
        key: its URL in that file.
        path: of what is asked, from there on.
        folder: what it runs of ours.
    """

    name: str
    command: Sequence[str]
    key: str
    path: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens; ``began``: when its process was started, by ``time.perf_counter``."""

    port: int
    path: str
    pid: int
    began: float

    @property
    def memory(self) -> float:
        """Resident, in MiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def ask(self, body: bytes) -> bytes:
        """One whole answer."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{self.path}", body)
        request.add_header("Authorization", "Bearer dapi-bench")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            whole: bytes = answer.read()
            return whole


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; Linux only, else 0."""
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)  # far finer than the ticks that /proc counts
    except OSError:
        return 0.0


def pinned(command: Sequence[str], core: int) -> list[str]:
    """The command, kept to one processor where there are two."""
    if (os.cpu_count() or 1) < 2 or shutil.which("taskset") is None:
        return list(command)
    return ["taskset", "-c", str(core), *command]


@contextmanager
def serving(side: Side) -> Iterator[Running]:
    """Start a server and end it."""
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports.json"
        began = time.perf_counter()
        process = subprocess.Popen(
            pinned([*side.command, str(ports)], SERVER_CORE),
            stderr=subprocess.DEVNULL,
            cwd=side.folder,
            env={**os.environ, "PYTHONPATH": str(side.folder)},
        )
        try:
            while not ports.exists() or not ports.read_text(encoding="utf-8"):
                if process.poll() is not None or time.perf_counter() - began > _PATIENCE:
                    raise RuntimeError(f"{side.name} does not start: {' '.join(side.command)}")
                time.sleep(0.002)
            url = urlsplit(json.loads(ports.read_text(encoding="utf-8"))[side.key])
            yield Running(url.port or 80, url.path.rstrip("/") + side.path, process.pid, began)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """As a user would, then in earnest."""
    process.terminate()
    try:
        process.wait(_MANNERS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
