"""Emulator under attack: a separate process; its time and memory are measured from outside."""

import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.tools.fuzz.wire import Connection
from tests.untyped_json import JSON

_STARTS = 60.0  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A running emulator; ``urls``: host and port by vendor, and ``front``."""

    def __init__(self, *flags: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="emulator-fuzz-"))
        ports = self.folder / "ports.json"
        command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--port-file", str(ports), *flags]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--log-level", "warning"], cwd=self.folder, stdout=log, stderr=log
            )
        ends = time.monotonic() + _STARTS
        while not (ports.exists() and ports.stat().st_size):
            if self._process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)
        found = json.loads(ports.read_text())
        self._context = ssl._create_unverified_context() if "--tls" in flags else None
        self.urls = {name: _address(url) for name, url in found.get("urls", found).items() if isinstance(url, str)}

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def connect(self, place: str, patience: float = _STARTS) -> Connection:
        """A connection to a vendor, or to ``front``."""
        return Connection(self.urls[place], self._context, patience)

    def control(self, method: str, path: str, body: JSON = None) -> JSON:
        """What the control plane answers; it must be pleased."""
        connection = http.client.HTTPConnection(*self.urls["front"], timeout=30)
        if self._context is not None:
            connection = http.client.HTTPSConnection(*self.urls["front"], timeout=30, context=self._context)
        try:
            payload = None if body is None else json.dumps(body).encode()
            connection.request(method, f"/_emulator/{path}", payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            data = answer.read()
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {data!r}")
            return json.loads(data) if data.startswith(b"{") else None
        finally:
            connection.close()

    def cpu(self) -> float:
        """Seconds of work so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Resident MiB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def begin_peak(self) -> float:
        """Reset the peak memory and return the current one. Source: proc(5), ``clear_refs``."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")
        return self.memory()

    def peak(self) -> float:
        """The most resident MiB since."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def files(self) -> int:
        """Open files and sockets."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80
