"""Callers of a server with a clock that the test advances."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.core.clock import FrozenClock
from emulator.core.json import dump_json
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

_HELLO: JSON = [{"role": "user", "content": "Hello"}]


@dataclass(frozen=True, slots=True)
class Chat:
    """How one vendor is asked for a chat."""

    vendor: str
    path: str
    model: str | None = None
    headers: Mapping[str, str] | None = None

    async def ask(self, running: Running, max_tokens: int = 5, **headers: str) -> Answer:
        body: dict[str, JSON] = {"messages": _HELLO, "max_tokens": max_tokens}
        if self.model is not None:
            body["model"] = self.model
        given = {**(self.headers or {}), **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await running.ask(self.vendor, self.path, body, headers=given)


DATABRICKS = Chat(
    "databricks",
    "/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations",
    headers={"Authorization": "Bearer search"},
)
AZURE = Chat("azure", "/chat/completions?api-version=2024-05-01-preview", headers={"api-key": "search"})
FOUNDRY = Chat(
    "azure", "/models/chat/completions?api-version=2024-05-01-preview", "Llama-3.3-70B-Instruct", AZURE.headers
)
OPENAI = Chat("azure", "/openai/deployments/gpt-4o-mini/chat/completions?api-version=2024-10-21", None, AZURE.headers)
MINDIE = Chat("mindie", "/v1/chat/completions", "llama_65b")
TGI = Chat("tgi", "/v1/chat/completions", "tgi")
OPENVINO = Chat("openvino", "/v3/chat/completions", "llama3")


def move(running: Running, seconds: float) -> None:
    clock = running.built.clock
    assert isinstance(clock, FrozenClock)
    clock.advance(seconds)


async def wait_for(running: Running, calls: Sequence[asyncio.Task[Answer]], count: int) -> list[Answer]:
    """Return the responses of finished calls, once so many are finished and no other is about to."""
    while sum(call.done() for call in calls) < count:
        await asyncio.sleep(0.001)
    return [call.result() for call in calls if call.done()]


async def toy_stream(running: Running, tokens: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A stream of the made-up vendor, its head read."""
    reader, writer = await running.connect("toy")
    body = dump_json({"prompt": "Hi", "max": tokens, "stream": True})
    head = f"POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def until_busy(running: Running, calls: int) -> None:
    """Return once so many calls are being answered."""
    while running.built.apps[0].service.metrics.in_flight() < calls:
        await asyncio.sleep(0.001)
