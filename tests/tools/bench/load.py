"""Runs the load, a small program in C: one written in Python would be the limit of what it measures."""

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
NUMBER = "########"  # in a body, eight digits that never come twice


class NoCompiler(Exception):
    """The load cannot be made here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What clients do.

    Fields:
        connections: open at the same time, each with one request after another.
        ramp: seconds over which they are opened.
        warm: seconds after that before anything is measured.
        ttft, itl: milliseconds that streams are held to.
        leave: per cent of answers whose client hangs up midway.
        rate: requests a second of all connections together; 0: as many as are answered.
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
"""What one run found out, by name."""


class Loader:
    """Makes load; no two requests of one are ever the same if their body has a number."""

    def __init__(self, program: Path) -> None:
        self.path = program
        self._next = 0

    def run(self, load: Load, server: Running, seconds: float) -> Figures:
        """Load a server for a while; everything before the measured seconds is warm-up."""
        with self.start(load, server, seconds) as process:
            return self.finish(process)

    def finish(self, process: subprocess.Popen[bytes]) -> Figures:
        """Wait until a load is over; what comes next begins after its numbers."""
        output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"the load ended with {process.returncode}")
        told = json.loads(output)
        self._next += told["sent"]
        return read_figures(told)

    @contextmanager
    def start(self, load: Load, server: Running, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
        """The same, while something else goes on; :meth:`finish` ends it."""
        options = {
            **{"conns": load.connections, "secs": seconds, "warm": load.warm, "ramp": load.ramp},
            **{"ttft": load.ttft, "itl": load.itl, "leave": load.leave, "rate": load.rate, "start": self._next},
        }
        with tempfile.NamedTemporaryFile(prefix="request-") as file:
            file.write(word_request(server, load.body))
            file.flush()
            given = [f"{name}={value}" for name, value in options.items()]
            command = [str(self.path), str(server.port), str(server.pid), file.name, *given]
            process = subprocess.Popen(pinned(command, LOAD_CORE), stdout=subprocess.PIPE)
            try:
                yield process
            finally:
                process.kill()
                process.wait()


def word_request(server: Running, body: Mapping[str, object]) -> bytes:
    """A whole request."""
    data = json.dumps(body).encode()
    head = f"POST {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer dapi-bench\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def read_figures(told: dict[str, Any]) -> Figures:
    """What the program says, as rows ask for it.

    Rates are by the second, times in milliseconds: ``latency`` from a request to the end of its answer, ``ttft`` by
    how much the first token came later than planned, ``drift`` by how much the time from the first token to the last
    was longer than planned. ``failed``: answers that were not 200 or ended in the middle. ``cpu``: processors used.
    """
    cpu, answers, tokens = told["server_cpu"], told["answers_s"], told["tokens_s"]
    figures = {"answers": answers, "failed": told["bad"] + told["resets"]}
    figures |= {name: told[name] for name in ("left", "server_cpu", "load_cpu")}
    if answers and cpu:
        figures["answers_per_cpu"] = answers / cpu
    if tokens and cpu:
        figures |= {"tokens": tokens, "tokens_per_cpu": tokens / cpu, "cpu_per_token": cpu / tokens}
    for name, times in (("latency", "latency_ms"), ("ttft", "first_error_ms"), ("drift", "drift_ms")):
        quantiles = told[times]
        figures |= {
            f"{name}_{quantile}": quantiles[quantile] for quantile in ("mean", "p50", "p99") if quantiles["count"]
        }
    return figures


@contextmanager
def loader() -> Iterator[Loader]:
    """Make the program, and remove it at the end.

    Raises:
        NoCompiler: there is none, or this is no Linux.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        raise NoCompiler("the load is made by a small program in C: it needs Linux and a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        command: Sequence[str] = (compiler, "-O2", "-o", str(program), str(SOURCE))
        subprocess.run(command, check=True)
        yield Loader(program)
