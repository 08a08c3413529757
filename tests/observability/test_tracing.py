"""Tests of the exporter settings from the environment."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.observability.spans import open_spans, wants_traces

pytestmark = pytest.mark.slow

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environ", "wanted", "said"),
    [
        pytest.param({}, False, "", id="not configured"),
        pytest.param(ENDPOINT, True, "", id="an endpoint"),
        pytest.param({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, True, "", id="one for traces"),
        pytest.param({"OTEL_TRACES_EXPORTER": "otlp"}, True, "", id="the usual endpoint"),
        pytest.param({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False, "", id="no traces"),
        pytest.param({**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"}, False, "", id="nothing at all"),
        pytest.param({"OTEL_TRACES_EXPORTER": "console"}, False, "only otlp is known", id="another exporter"),
        pytest.param(
            {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, False, "only http/protobuf", id="another protocol"
        ),
    ],
)
def test_traces_are_enabled_by_environment(
    environ: dict[str, str], wanted: bool, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert wants_traces(environ) == wanted
    assert said in caplog.text
    assert bool(caplog.records) == bool(said)


def test_disabled_tracing_imports_nothing() -> None:
    with open_spans({}) as spans:
        assert spans is None
    code = "import sys, emulator.serve.main; print([name for name in sys.modules if 'opentelemetry' in name])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


async def test_server_exports_traces_to_collector(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length is not None
        heard.put_nowait(head.split(b"\r\n")[0] + await reader.readexactly(int(length[1])))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(collect, "127.0.0.1")
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
    ports = tmp_path / "ports.json"
    flags = ["--port", "0", "--port-file", str(ports), "--log-format", "text"]
    command = [sys.executable, "-m", "emulator", "serve", *flags]
    process = await asyncio.create_subprocess_exec(*command, env=environ, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        banner = b""
        while b"console" not in banner:
            banner = await process.stderr.readline()
        port = int(re.findall(rb":(\d+)/_emulator/", banner)[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        parent = f"00-{7:032x}-{8:016x}-01"
        head = f"GET /tgi/health HTTP/1.1\r\nHost: x\r\ntraceparent: {parent}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        await reader.read()
        writer.close()
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    sent = heard.get_nowait()
    assert sent.startswith(b"POST /v1/traces HTTP/1.1")
    for part in (b"emulator", (7).to_bytes(16), (8).to_bytes(8), b"/health"):
        assert part in sent
    server.close()
