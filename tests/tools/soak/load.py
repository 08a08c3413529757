"""What clients do to a server in an ordinary week: they ask, hang up, read slowly, send rubbish, reset and swap."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.http_client import Answer, read_answer
from tests.test_fuzz import CORPUS, make_request
from tests.untyped_json import JSON

_PATIENCE = 60.0  # seconds after which an answer counts as lost
CHATS: Mapping[str, tuple[str, str]] = {
    "databricks": ("/serving-endpoints/chat/completions", "databricks-meta-llama-3-3-70b-instruct"),
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "Phi-4"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
_SCENARIOS = (
    "version: 1\nname: plain\nlatency: {ttft: 5ms, itl: 1ms}\n",
    "version: 1\nname: strange\nlatency: {ttft: {type: lognormal, median: 10ms, p99: 60ms}, itl: 2ms}\n"
    "limits: [{unit: requests, amount: 400, window: 10s, per: principal}]\n"
    "rules:\n"
    "  - {name: cut, times: {probability: 0.1}, faults: [{type: disconnect, after_tokens: 3}]}\n"
    "  - {name: busy, times: {every: 5}, error: {kind: rate_limited, retry_after: 1s}}\n"
    "  - {name: slow, times: {probability: 0.05}, latency: {ttft: 300ms}, pass: true}\n",
    "version: 1\nname: instant\nclock: instant\nlatency: {ttft: 2s, itl: 20ms}\n",
)
_FAULTS = ("disconnect; after_tokens=3", "truncate; after_bytes=90", "garbage; after_tokens=2", "empty_body", "split")


@dataclass(slots=True)
class Client:
    """One client with a connection that it keeps as long as the server does.

    Fields:
        done: what it did, and how often.
        lost: what should have been answered and was not.
    """

    urls: Mapping[str, str]
    draw: random.Random
    done: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    async def act(self) -> None:
        """Do one thing that clients do."""
        (name, action), *_ = self.draw.choices([*_ACTIONS.items()], _WEIGHTS)
        try:
            async with asyncio.timeout(_PATIENCE):
                await action(self)
        except TimeoutError:
            self.lost.append(f"{name}: no end within {_PATIENCE:g} s")
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            if name in _SURE:
                self.lost.append(f"{name}: {error!r}")
        self.done[name] += 1

    async def ask(self) -> None:
        """A chat, or anything else that a vendor offers, whole."""
        vendor = self._vendor()
        if self.draw.random() < 0.5:
            await self._exchange(vendor, self._chat(vendor, stream=self.draw.random() < 0.5))
        else:
            method, target, body = self.draw.choice(CORPUS[vendor])
            await self._exchange(vendor, self._request(method, target, body))

    async def mutate(self) -> None:
        """A request that is wrong somewhere."""
        vendor = self._vendor()
        await self._exchange(vendor, make_request(vendor, self.draw))

    async def bend(self) -> None:
        """An answer that a fault bends."""
        vendor = self._vendor()
        headers = {"x-emulator-fault": self.draw.choice(_FAULTS)}
        await self._exchange(vendor, self._chat(vendor, stream=True, headers=headers))

    async def hang_up(self) -> None:
        """Leave in the middle of a stream, without a word."""
        vendor = self._vendor()
        reader, writer = await self._connect(vendor)
        writer.write(self._chat(vendor, stream=True, tokens=400))
        await reader.read(self.draw.randrange(1, 3000))
        writer.transport.abort() if self.draw.random() < 0.5 else writer.close()

    async def read_slowly(self) -> None:
        """Read a stream in small pieces, and leave before its end."""
        vendor = self._vendor()
        reader, writer = await self._connect(vendor, limit=1024)
        writer.write(self._chat(vendor, stream=True, tokens=2000))
        for _ in range(self.draw.randrange(5, 40)):
            if not await reader.read(512):
                break
            await asyncio.sleep(0.05)
        writer.transport.abort()

    async def send_half(self) -> None:
        """Half a head or half a body, then nothing."""
        vendor = self._vendor()
        _, writer = await self._connect(vendor)
        whole = self._chat(vendor, stream=False)
        writer.write(whole[: self.draw.randrange(1, len(whole))])
        await asyncio.sleep(self.draw.random() * 2)
        writer.close()

    async def send_rubbish(self) -> None:
        """Bytes that are no request."""
        reader, writer = await self._connect(self._vendor())
        writer.write(self.draw.randbytes(self.draw.randrange(1, 400)) + b"\r\n\r\n")
        await asyncio.wait({asyncio.ensure_future(reader.read())}, timeout=1)
        writer.transport.abort()

    async def work_apart(self) -> None:
        """A session with a scenario, a clock and a port of its own; one in two is never ended."""
        session = f"soak-{self.draw.getrandbits(40):x}"
        await self._control("PUT", f"/scenario?session={session}", self.draw.choice(_SCENARIOS))
        vendor = self._vendor()
        listening = await self._control("POST", f"/sessions/{session}/listen", {"vendor": vendor})
        if listening.status == 200:
            await self._exchange(listening.json()["url"], self._chat(vendor, stream=True))
        await self._control("POST", f"/clock?session={session}", {"advance": "1h"})
        if self.draw.random() < 0.5:
            await self._control("DELETE", f"/sessions/{session}")

    async def look(self) -> None:
        """Read the journal, or watch it for a moment."""
        target = self.draw.choice(["/requests?limit=200&detail=true", "/metrics", "/events?since=0", "/status"])
        if not target.startswith("/events"):
            await self._control("GET", target)
            return
        reader, writer = await self._connect("front")
        writer.write(self._request("GET", f"/_emulator{target}", None))
        await reader.read(100_000)
        writer.transport.abort()

    async def steer(self) -> None:
        """Swap the scenario of all, or begin it again."""
        if self.draw.random() < 0.5:
            await self._control("PUT", "/scenario", self.draw.choice(_SCENARIOS))
        else:
            await self._control("POST", "/reset")

    def _vendor(self) -> str:
        return self.draw.choice([*CHATS])

    def _chat(self, vendor: str, *, stream: bool, tokens: int = 60, headers: Mapping[str, str] | None = None) -> bytes:
        target, model = CHATS[vendor]
        number = self.draw.randrange(50) if self.draw.random() < 0.5 else self.draw.getrandbits(60)
        messages = [{"role": "user", "content": f"What should I know about topic {number}, in a few words?"}]
        body = {"model": model, "messages": messages, "max_tokens": tokens, **({"stream": True} if stream else {})}
        return self._request("POST", target, body, headers)

    def _request(self, method: str, target: str, body: JSON, headers: Mapping[str, str] | None = None) -> bytes:
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        token = f"soak-{self.draw.randrange(40)}"
        lines = {"Host": "localhost", "Authorization": f"Bearer {token}", "api-key": token, **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        kind = "Content-Type: application/json\r\n" if body is not None else ""
        return f"{method} {target} HTTP/1.1\r\n{head}{kind}Content-Length: {len(data)}\r\n\r\n".encode() + data

    async def _connect(self, place: str, limit: int = 2**26) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = urlsplit(self.urls.get(place, place))
        return await asyncio.open_connection(url.hostname, url.port, limit=limit)

    async def _exchange(self, place: str, request: bytes) -> Answer:
        reader, writer = await self._connect(place)
        try:
            writer.write(request)
            answer = await read_answer(reader)
        finally:
            writer.close()
        if answer.header("x-emulator-bug") is not None:
            self.lost.append(f"a bug of the emulator: {request[:300]!r}")
        return answer

    async def _control(self, method: str, target: str, body: JSON = None) -> Answer:
        answer = await self._exchange("front", self._request(method, f"/_emulator{target}", body))
        if answer.status == 403:  # then nothing that follows would be what it says
            raise PermissionError(answer.body)
        return answer


_ACTIONS: Mapping[str, Callable[[Client], Awaitable[None]]] = {
    "ask": Client.ask,
    "mutate": Client.mutate,
    "bend": Client.bend,
    "hang up": Client.hang_up,
    "read slowly": Client.read_slowly,
    "send half": Client.send_half,
    "send rubbish": Client.send_rubbish,
    "work apart": Client.work_apart,
    "look": Client.look,
    "steer": Client.steer,
}
_WEIGHTS = (50, 10, 8, 8, 4, 5, 5, 5, 3, 2)
_SURE = ("look", "steer")  # no scenario touches these
