"""Compile and run the load generator, a small C program: one in Python would be slower than the servers."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tools.bench.servers import LOAD_CORE, Running, pinned

SOURCE = Path(__file__).with_name("load.c")


class NoCompiler(Exception):
    """Error: the load generator cannot be compiled here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Behaviour of the clients.

    Fields:
        connections: number of concurrent connections; each sends one request after another.
        ramp: seconds over which they are opened.
        warm: seconds of warm-up after that.
        ttft, itl: planned times of streams, in milliseconds.
        leave: percentage of responses whose client disconnects midway.
        rate: requests a second of all connections together; 0: no limit.
    """

    body: Mapping[str, object]
    connections: int
    ramp: float = 0.0
    warm: float = 0.5
    ttft: float = 0.0
    itl: float = 0.0
    leave: float = 0.0
    rate: float = 0.0


Figures = Mapping[str, float]
"""Figures of one run, by name."""


class Loader:
    """Load generator; the numbers in its requests never repeat."""

    def __init__(self, program: Path) -> None:
        self.path = program
        self._next = 0

    def run(self, load: Load, server: Running, seconds: float) -> Figures:
        """Load a server, and measure for some seconds after the warm-up."""
        with self.start(load, server, seconds) as process:
            return self.finish(process)

    def finish(self, process: subprocess.Popen[bytes]) -> Figures:
        """Wait for the end of a run and return its figures."""
        output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"the load ended with {process.returncode}")
        report = json.loads(output)
        self._next += report["sent"]
        return read_figures(report)

    @contextmanager
    def start(self, load: Load, server: Running, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
        """Start a run in the background; :meth:`finish` returns its figures."""
        options = {
            **{"conns": load.connections, "secs": seconds, "warm": load.warm, "ramp": load.ramp},
            **{"ttft": load.ttft, "itl": load.itl, "leave": load.leave, "rate": load.rate, "start": self._next},
        }
        with tempfile.NamedTemporaryFile(prefix="request-") as file:
            file.write(encode_request(server, load.body))
            file.flush()
            given = [f"{name}={value}" for name, value in options.items()]
            command = [str(self.path), str(server.port), ",".join(map(str, server.pids)), file.name, *given]
            process = subprocess.Popen(pinned(command, LOAD_CORE), stdout=subprocess.PIPE)
            try:
                yield process
            finally:
                process.kill()
                process.wait()


def encode_request(server: Running, body: Mapping[str, object]) -> bytes:
    """Encode a request, head and body."""
    data = json.dumps(body).encode()
    head = f"POST {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer dapi-bench\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def read_figures(report: dict[str, Any]) -> Figures:
    """Return the figures that rows use from the report of the load generator.

    Rates are per second, times in milliseconds. ``latency``: from the request to the end of its response. ``ttft``:
    delay of the first token beyond the planned one. ``drift``: duration from the first token to the last beyond the
    planned one. ``failed``: responses with another status than 200 or that ended early. ``server_cpu``, ``load_cpu``:
    processors used.
    """
    cpu, answers, tokens = report["server_cpu"], report["answers_s"], report["tokens_s"]
    figures = {"answers": answers, "failed": report["bad"] + report["resets"]}
    figures |= {name: report[name] for name in ("left", "server_cpu", "load_cpu")}
    if answers and cpu:
        figures["answers_per_cpu"] = answers / cpu
    if tokens and cpu:
        figures |= {"tokens": tokens, "tokens_per_cpu": tokens / cpu, "cpu_per_token": cpu / tokens}
    for name, times in (("latency", "latency_ms"), ("ttft", "first_error_ms"), ("drift", "drift_ms")):
        quantiles = report[times]
        figures |= {
            f"{name}_{quantile}": quantiles[quantile] for quantile in ("mean", "p50", "p99") if quantiles["count"]
        }
    return figures


@contextmanager
def loader() -> Iterator[Loader]:
    """Compile the load generator; delete it at the end.

    Raises:
        NoCompiler: there is no C compiler, or the system is not Linux.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        raise NoCompiler("the load generator is a C program; it needs Linux and a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        command: Sequence[str] = (compiler, "-O2", "-o", str(program), str(SOURCE))
        subprocess.run(command, check=True)
        yield Loader(program)
