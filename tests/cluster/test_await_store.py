"""A store that is unreachable when an emulator starts."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest

from emulator.cluster.replica import await_store, join_cluster
from emulator.core.storage import StoreLostError
from emulator.runtime.runtime import Runtime
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from emulator.storage import show_url
from tests.handler.shared import PLAIN, TOYS, chat, open_replica, steer
from tests.storage.servers import find_server, free_port, running

PATIENCE = 60  # seconds, however busy the machine is
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_server("redis") is None, reason="redis-server is not installed"),
]


@contextmanager
def starting(port: int, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Run ``emulator serve`` with a store at a port."""
    url = f"redis://team:s3cret@127.0.0.1:{port}?prefix=mine"
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--log-format", "json", "--state-url", url]
    process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_row(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stderr is not None
    row: dict[str, object] = json.loads(process.stderr.readline())
    return row


def test_unreachable_store_error_names_setting_without_password() -> None:
    port = free_port()
    with starting(port, "--state-wait", "300ms") as process:
        _, said = process.communicate(timeout=PATIENCE)
    waiting, error = said.splitlines()
    assert json.loads(waiting)["message"].startswith(f"waiting up to 0.3 s for the store redis://127.0.0.1:{port}: ")
    assert error.startswith(
        f"emulator: error: --state-url (EMULATOR_STATE_URL): redis://127.0.0.1:{port} has not answered within 0.3 s: "
    )
    assert process.returncode == 2
    assert "s3cret" not in said


class Swallowing:
    """Runtime with a store that fails while it is cancelled."""

    def __init__(self) -> None:
        self.store = self
        self.asked = asyncio.Event()

    async def begin(self) -> None:
        self.asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise StoreLostError("away")

    async def release(self) -> None:
        pass


async def test_await_store_ends_when_store_swallows_cancellation() -> None:
    runtime = Swallowing()
    task = asyncio.create_task(await_store(cast(Runtime, runtime), "redis://here", 3600.0))
    await runtime.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_stops_wait_for_store(how: signal.Signals, code: int) -> None:
    with starting(free_port(), "--state-wait", "1h") as process:
        assert str(read_row(process)["message"]).startswith("waiting up to 3600 s")
        process.send_signal(how)
        assert process.wait(timeout=PATIENCE) == code


async def test_server_starts_once_store_is_up(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "emulator", "serve", "--port", "0", "--log-format", "json"]
    url = f"redis://127.0.0.1:{port}"
    with subprocess.Popen([*command, "--state-url", url], stderr=subprocess.PIPE, text=True) as process:
        assert str(read_row(process)["message"]).startswith("waiting up to 30 s")
        with running("redis", tmp_path, port):
            assert read_row(process)["message"] == "listening"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=PATIENCE) == 0


async def test_zero_wait_fails_at_once() -> None:
    built = create_application(load_text(PLAIN, "shared"), vendors=TOYS, state_url=f"redis://127.0.0.1:{free_port()}")
    with pytest.raises(StoreLostError, match=r"^here has not answered within 0 s: "):
        await await_store(built.runtime, "here", 0)
    with pytest.raises(StoreLostError):
        async with join_cluster(built.runtime):
            raise AssertionError("it joined nobody")
    await built.runtime.store.close()


async def test_replica_with_local_loss_starts_alone_and_joins_later(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}"
    async with AsyncExitStack() as stack:
        early = await open_replica(stack, url, loss="local")
        assert (await chat(early)).status == 200
        assert not early.built.runtime.store.health.up  # type: ignore[union-attr]  # it has one
        with running("redis", tmp_path, port):
            late = await open_replica(stack, url, "version: 1\nname: other\n")
            async with asyncio.timeout(PATIENCE):
                while (await steer(late, "GET", "/replicas/metrics")).body.count(b"\nemulator_store_up{") < 2:
                    await asyncio.sleep(0.05)
            assert (await steer(late, "PUT", "/scenario", "version: 1\nname: news\n")).status == 200
            assert (await steer(early, "GET", "/scenario")).json()["name"] == "news"
            assert (await chat(early)).status == 200
            await stack.aclose()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://team:s3cret@store:6379/3?prefix=a", "redis://store:6379/3"),
        ("rediss://:s3cret@[::1]:6379", "rediss://[::1]:6379"),
        ("redis://store", "redis://store"),
        ("memory://", "memory:"),
    ],
)
def test_show_url_hides_credentials(url: str, shown: str) -> None:
    assert show_url(url) == shown
