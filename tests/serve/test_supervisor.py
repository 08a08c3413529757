"""Workers that share ports, as processes."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.http.listeners import PortInUse
from emulator.serve.supervisor import reserved
from tests.storage.servers import KINDS, find_server
from tests.storage.servers import running as running_store
from tests.untyped_json import JSON

CALL = "/databricks/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
SAID = b"version: 1\nrules: [{name: said, reply: {text: put}}]\n"
LIMITED = "version: 1\nlimits: [{unit: requests, amount: 6, window: 1h, strategy: sliding}]\n"
ROOT = Path(__file__).parents[2]
_STARTS = r"subprocess\.\w+|asyncio\.create_subprocess_\w+|os\.(system|popen|exec\w+|spawn\w+|posix_spawnp?)"
_PATIENCE = 60.0  # real seconds


@dataclass(frozen=True, slots=True)
class Group:
    """Running supervisor and the URL of its front port."""

    process: subprocess.Popen[str]
    urls: Mapping[str, str]

    def ask(self, method: str, target: str, body: bytes | None = None) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request on a new connection, as many clients would."""
        headers = {"Authorization": "Bearer any", "Content-Type": "application/json"}
        request = urllib.request.Request(self.urls["front"] + target, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def steer(self, method: str, target: str, body: bytes | None = None) -> JSON:
        return json.loads(self.ask(method, f"/_emulator{target}", body)[2])

    def chat(self, prompt: str) -> tuple[int, Mapping[str, str]]:
        body = json.dumps({"messages": [{"role": "user", "content": prompt}], "max_tokens": 2})
        status, headers, _ = self.ask("POST", CALL, body.encode())
        return status, headers

    @property
    def workers(self) -> list[int]:
        """Return the process ids of the workers. Source: proc(5)."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(text) for text in path.read_text(encoding="ascii").split()]


@contextmanager
def running(folder: Path, *flags: str, workers: int = 2, started_in: Path | None = None) -> Iterator[Group]:
    """``started_in``: the current folder of the process, from which it imports nothing."""
    file = folder / "ports.json"
    python = [sys.executable, "-m"] if started_in is None else [sys.executable, "-P", "-m"]
    command = [*python, "emulator", "serve", "--workers", str(workers), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--port-file", str(file), "--log-level", "error", *flags],
        stderr=subprocess.PIPE,
        text=True,
        cwd=started_in,
        env=os.environ if started_in is None else {**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        ends = time.monotonic() + _PATIENCE
        while not file.exists() and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        yield Group(process, json.loads(file.read_text()) if file.exists() else {})
    finally:
        process.kill()
        process.communicate()


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="the system tells no children of processes"
)
needs_shared_ports = pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT"), reason="processes cannot share a port")
pytestmark = [pytest.mark.slow, needs_shared_ports]


def test_control_journal_and_metrics_are_shared_by_workers(tmp_path: Path) -> None:
    with running(tmp_path) as group:
        ids = sorted(group.chat(f"{number}")[1]["x-emulator-request-id"] for number in range(12))
        lists = [group.steer("GET", "/requests")["requests"] for _ in range(4)]
        assert [sorted(call["id"] for call in calls) for calls in lists] == [ids] * 4
        _, _, text = group.ask("GET", "/_emulator/metrics")
        counted = re.findall(r"^emulator_requests_total{[^}]*databricks[^}]*} (.+)$", text.decode(), re.MULTILINE)
        assert sum(map(float, counted)) == 12
        assert group.ask("PUT", "/_emulator/scenario", SAID)[0] == 200
        assert {group.chat(f"{number}")[1].get("x-emulator-rule") for number in range(8)} == {"said"}
        assert group.ask("PUT", "/_emulator/scenario?session=a", b"version: 1\n")[0] == 200
        assert group.ask("POST", "/_emulator/reset")[0] == 200
        assert [len(group.steer("GET", "/requests")["requests"]) for _ in range(4)] == [0] * 4
        refused = group.steer("PUT", "/scenario", LIMITED.encode())
        assert "for several workers pass --state-url" in refused["detail"]


def test_workers_do_not_import_from_current_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "emulator").mkdir(parents=True)
    for name in ("token.py", "yaml.py", "numpy.py", "orjson.py", "sitecustomize.py", "emulator/__init__.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__)\nraise SystemExit(3)\n")
    with running(tmp_path, started_in=folder) as group:
        assert group.process.poll() is None, group.process.stderr and group.process.stderr.read()
        assert group.chat("Hi")[0] == 200
    assert not (tmp_path / "imported").exists()


def test_python_is_started_with_safe_path() -> None:
    """The package starts Python with ``-P``, or a command given by the user."""
    started, pythons = set(), []
    for file in sorted((ROOT / "emulator").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert "multiprocessing" not in text, file
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and re.fullmatch(_STARTS, ast.unparse(node.func)):
                started.add(file.name)
            if isinstance(node, ast.Tuple) and ast.unparse(node).startswith("(sys.executable, '-P', "):
                pythons.append(file.name)
        assert text.count("sys.executable") == pythons.count(file.name), file
    # ``command.py`` and ``preload.py`` run the command that they are given, ``earlier_report.py`` git
    assert started == {"supervisor.py", "process.py", "command.py", "preload.py", "earlier_report.py"}


@needs_proc
def test_supervisor_restarts_dead_worker(tmp_path: Path) -> None:
    with running(tmp_path) as group:
        assert group.ask("PUT", "/_emulator/scenario", SAID)[0] == 200
        first, second = group.workers
        os.kill(first, signal.SIGKILL)
        ends = time.monotonic() + _PATIENCE
        while len(group.workers) < 2 or first in group.workers:
            assert time.monotonic() < ends
            time.sleep(0.02)
        while {group.chat(f"{n}")[1].get("x-emulator-rule") for n in range(8)} != {"said"}:
            assert time.monotonic() < ends
        workers = group.workers
        assert second in workers
        group.process.send_signal(signal.SIGTERM)
        assert group.process.wait(_PATIENCE) == 0
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
        assert not (tmp_path / "ports.json").exists()


@needs_proc
def test_workers_end_with_supervisor(tmp_path: Path) -> None:
    with running(tmp_path) as group:
        workers = group.workers
        group.process.kill()
        group.process.wait()
        ends = time.monotonic() + _PATIENCE
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < ends
            time.sleep(0.02)


@pytest.mark.parametrize("flags", [(), ("--state-url", "MEMORY:///")], ids=["no store", "a memory for each"])
def test_scenario_with_limits_is_rejected_without_shared_store(flags: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "limited.yaml"
    file.write_text(LIMITED, encoding="utf-8")
    with running(tmp_path, str(file), *flags) as group:
        assert group.process.wait(_PATIENCE) == 2
        assert group.process.stderr is not None
        reported = group.process.stderr.read()
        reason = "a limit counts the requests of all processes; for several workers pass --state-url"
        assert f"{file}:2:10: limits[0]: {reason}" in reported


def test_workers_share_limits_through_store(tmp_path: Path) -> None:
    """Any kind of server will do: ``tests/storage`` runs over each."""
    kind = next(filter(find_server, KINDS), None)
    if kind is None:
        pytest.skip("no server for a store is installed")
    file = tmp_path / "limited.yaml"
    file.write_text(LIMITED, encoding="utf-8")
    with running_store(kind, tmp_path) as url, running(tmp_path, str(file), "--state-url", url) as group:
        statuses = [group.chat(f"{number}")[0] for number in range(10)]
        assert statuses == [200] * 6 + [429] * 4
        assert len(group.steer("GET", "/requests")["requests"]) == 10


def test_ports_are_reserved_for_workers() -> None:
    with reserved("127.0.0.1", {"front": 0, "toy": 0}) as ports:
        assert len(set(ports.values())) == 2
        with socket.create_server(("127.0.0.1", ports["front"]), reuse_port=True) as shared:
            assert shared.getsockname()[1] == ports["front"]
            with pytest.raises(PortInUse), reserved("127.0.0.1", {"front": ports["front"]}):
                pass
