"""Tests of waiting for journal records."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from urllib.parse import urlsplit

import pytest

from tests.conftest import Start
from tests.http_client import Running

PATH = "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations"
HEAD = f"POST {PATH} HTTP/1.1\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n".encode()
BODY = b'{"messages": [{"role": "user", "content": "Good morning"}], "max_tokens": 4}'
RULE = "rules: [{name: greets, when: {prompt: {contains: Good}}, reply: {text: Good day}}]\n"
Steps = Counter[str]
_LEAVING = "emulator.http.connection.Connection.connection_lost"  # soon after its client has left, or later


@contextmanager
def counted() -> Iterator[Steps]:
    """Count the calls of each function of the package in the context."""
    steps: Steps = Counter()

    def see(frame: FrameType, event: str, said: object) -> None:
        if frame.f_code.co_name == "__del__":  # of objects that the garbage collector finds meanwhile
            return
        if event == "call" and "/emulator/" in frame.f_code.co_filename.replace("\\", "/"):
            steps[f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"] += 1

    sys.setprofile(see)
    try:
        yield steps
    finally:
        sys.setprofile(None)


async def steps_of(running: Running, count: int) -> Steps:
    """Count the function calls of the server for equal chat requests; new texts would be parsed again."""
    journal = running.built.journal
    others = len(running.clients)
    len(journal)  # reading the length adds pending records: the count stays the same
    with counted() as steps:
        for _ in range(count):
            answer = await running.send("databricks", HEAD, BODY)
            assert answer.status == 200
        len(journal)
        async with asyncio.timeout(10):
            while len(running.clients) > others:  # the last closes later
                await asyncio.sleep(0)
    del steps[_LEAVING]
    return steps


async def look(running: Running) -> asyncio.StreamWriter:
    """Open the event stream until the writer is closed."""
    url = urlsplit(running.urls["front"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(b"GET /_emulator/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    await asyncio.wait_for(reader.readuntil(b"as they come"), 10)
    return writer


@pytest.mark.parametrize("scenario", [pytest.param("", id="without a rule"), pytest.param(RULE, id="with a rule")])
async def test_calls_skip_notification_after_viewer_leaves(start: Start, scenario: str) -> None:
    running = await start(f"journal: {{entries: 20}}\n{scenario}")
    await steps_of(running, 30)  # until each lets an older one go; from 100 on calls are counted for the metrics
    before = await steps_of(running, 20)
    viewer = await look(running)
    watched = await steps_of(running, 20)
    viewer.close()
    async with asyncio.timeout(10):
        while running.built.journal.watchers or running.clients:
            await asyncio.sleep(0)
    after = await steps_of(running, 20)
    assert watched["emulator.control.watcher.JournalWatcher._wake"] == 20
    assert after == before
