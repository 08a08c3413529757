"""Start servers as processes on the first processor; the load generator runs on the second."""

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
NUMBER = "########"  # in a path or body: eight digits that differ in each request
_START_TIMEOUT = 60.0  # seconds
_STOP_TIMEOUT = 5.0  # seconds until a server that is to end is killed
_SCHEDULED = 2  # CPUCLOCK_SCHED: the clock of a process's processor time on Linux


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One server of a comparison.

    Fields:
        command: command line; the file for the base URLs is appended.
        key: key of the server's base URL in that file.
        path: path of the requests, after the base URL.
        folder: working directory, from which the emulator is imported.
        scenario: YAML text; its file is appended to the command. Empty: none.
    """

    name: str
    command: Sequence[str]
    key: str
    path: str
    folder: Path
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens; ``began``: start of its process, by ``time.perf_counter``."""

    port: int
    path: str
    pid: int
    began: float

    @property
    def pids(self) -> list[int]:
        """Process ids of the server and of its workers."""
        found = [self.pid]
        for pid in found:
            for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, tasks.read_text(encoding="ascii").split())
        return found

    @property
    def memory(self) -> float:
        """Resident memory in MiB, without that of workers."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def ask(self, body: bytes) -> bytes:
        """Send one request and return the body of its response."""
        path = self.path.replace(NUMBER, "0" * len(NUMBER))
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body)
        request.add_header("Authorization", "Bearer dapi-bench")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            whole: bytes = answer.read()
            return whole


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 on other systems than Linux."""
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)  # far finer than the ticks that /proc counts
    except OSError:
        return 0.0


def pinned(command: Sequence[str], core: int) -> list[str]:
    """Return the command, pinned to one processor if there are two."""
    if (os.cpu_count() or 1) < 2 or shutil.which("taskset") is None:
        return list(command)
    return ["taskset", "-c", str(core), *command]


@contextmanager
def serving(side: Side) -> Iterator[Running]:
    """Run a server."""
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports.json"
        command = [*side.command, str(ports)]
        if side.scenario:
            scenario = Path(folder) / "scenario.yaml"
            scenario.write_text(side.scenario, encoding="utf-8")
            command.append(str(scenario))
        began = time.perf_counter()
        process = subprocess.Popen(
            pinned(command, SERVER_CORE),
            stderr=subprocess.DEVNULL,
            cwd=side.folder,
            env={**os.environ, "PYTHONPATH": str(side.folder)},
        )
        try:
            while not ports.exists() or not ports.read_text(encoding="utf-8"):
                if process.poll() is not None or time.perf_counter() - began > _START_TIMEOUT:
                    raise RuntimeError(f"{side.name} does not start: {' '.join(command)}")
                time.sleep(0.002)
            url = urlsplit(json.loads(ports.read_text(encoding="utf-8"))[side.key])
            yield Running(url.port or 80, url.path.rstrip("/") + side.path, process.pid, began)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process by SIGTERM, or by SIGKILL if that takes too long."""
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
