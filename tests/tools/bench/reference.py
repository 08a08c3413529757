"""Serve bare aiohttp handlers to compare with; each does one part of the emulator's work and nothing else.

Run as ``python -m tests.tools.bench.reference SAMPLE PORT_FILE``. The sample has responses of the emulator: one of a
chat request, and the events of two streams. So both sides write the same content. The handlers run on the event loop
that the emulator selects, by the same function.
"""

import asyncio
import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from aiohttp import web
from pydantic import BaseModel

from emulator.serve import server

TTFT, ITL = 0.100, 0.020  # seconds
_TICK = 0.001  # seconds
_DONE = b"data: [DONE]\n\n"
_LAST_CHUNK = b"0\r\n\r\n"
_CONTENT = b'"content":'


class Message(BaseModel):
    role: str
    content: str | list[dict[str, object]] | None = None
    tool_calls: list[dict[str, object]] | None = None


class ChatRequest(BaseModel):
    model: str
    messages: list[Message]
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    stream: bool = False


class EmbeddingRequest(BaseModel):
    model: str
    input: str | list[str]
    encoding_format: str = "float"


class Wheel:
    """Timer of all streams, with one slot a millisecond."""

    def __init__(self) -> None:
        self._slots: dict[int, list[Callable[[], None]]] = {}

    def at(self, due: float, step: Callable[[], None]) -> None:
        tick = int(due / _TICK) + 1
        slot = self._slots.get(tick)
        if slot is None:
            self._slots[tick] = [step]
            asyncio.get_running_loop().call_at(tick * _TICK, self._turn, tick)
        else:
            slot.append(step)

    def _turn(self, tick: int) -> None:
        for step in self._slots.pop(tick):
            step()


class Stream:
    """Writer of one stream at its due times; late events are written in one piece."""

    def __init__(self, transport: asyncio.Transport, started: float, events: list[bytes], wheel: Wheel) -> None:
        self._transport = transport
        self._started = started
        self._events = events
        self._wheel = wheel
        self._next = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._plan()

    def _due(self) -> float:
        return self._started + TTFT + self._next * ITL

    def _plan(self) -> None:
        self._wheel.at(self._due(), self._step)

    def _step(self) -> None:
        if self._transport.is_closing():
            self._end()
            return
        now = time.monotonic()
        first = self._next
        while self._next < len(self._events) and self._due() <= now:
            self._next += 1
        self._transport.write(b"".join(self._events[first : self._next]))
        if self._next < len(self._events):
            self._plan()
        else:
            self._end()

    def _end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class Reference:
    """The handlers; ``answer`` and the events of the streams come from the sample."""

    def __init__(self, answer: bytes, joined: list[bytes], paced: list[bytes]) -> None:
        self._answer = answer
        self._fields = orjson.loads(answer)
        texts = [event for event in joined if _CONTENT in event]
        before, _, rest = texts[1].partition(_CONTENT)
        self._before, self._after = before + _CONTENT, rest[rest.index(b"}") :]
        self._tokens = [event.split(_CONTENT)[1].split(b"}")[0] for event in texts]
        framed = [b"%x\r\n%b\r\n" % (len(event), event) for event in paced if event != _DONE]
        first, last = framed[0] + framed[1], framed[-1] + b"%x\r\n%b\r\n" % (len(_DONE), _DONE) + _LAST_CHUNK
        self._paced = [first, *framed[2:-2], framed[-2] + last]
        self._wheel = Wheel()

    async def constant(self, request: web.Request) -> web.Response:
        return web.Response(body=self._answer, headers={"Content-Type": "application/json"})

    async def validating(self, request: web.Request) -> web.Response:
        parsed = ChatRequest.model_validate_json(await request.read())
        answer = {**self._fields, "model": parsed.model, "created": int(time.time())}
        return web.Response(body=orjson.dumps(answer), headers={"Content-Type": "application/json"})

    async def joined(self, request: web.Request) -> web.StreamResponse:
        """Render all events from a template and write them at once."""
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        between = self._after + self._before
        await response.write(b"%b%b%b%b" % (self._before, between.join(self._tokens), self._after, _DONE))
        await response.write_eof()
        return response

    async def paced(self, request: web.Request) -> web.StreamResponse:
        """Write the sample's events to the transport at their due times, by one timer."""
        started = time.monotonic()
        await request.read()
        transport = request.transport
        assert transport is not None
        transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        await Stream(transport, started, self._paced, self._wheel).done
        return Written()

    async def embeddings(self, request: web.Request) -> web.Response:
        """Draw unit vectors from a random number generator and encode them."""
        import numpy as np

        parsed = EmbeddingRequest.model_validate_json(await request.read())
        texts = [parsed.input] if isinstance(parsed.input, str) else parsed.input
        generator = np.random.Generator(np.random.SFC64(len(texts)))
        rows = generator.standard_normal((len(texts), 1024), dtype=np.float32)
        rows /= np.sqrt((rows * rows).sum(1, keepdims=True))
        as_text = parsed.encoding_format == "base64"
        vectors = [base64.b64encode(row.tobytes()).decode() if as_text else row for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        answer = {"object": "list", "model": parsed.model, "data": data, "usage": usage}
        body = orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
        return web.Response(body=body, headers={"Content-Type": "application/json"})


class Written(web.StreamResponse):
    """Response that is already written; it uses no member of the base class."""

    def __init__(self) -> None:
        """Leave the base class uninitialised."""

    @property
    def keep_alive(self) -> bool | None:
        return True

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


async def serve(sample: Path, port_file: Path) -> None:
    content = json.loads(sample.read_text(encoding="utf-8"))
    joined, paced = ([event.encode() for event in content[name]] for name in ("joined", "paced"))
    reference = Reference(content["answer"].encode(), joined, paced)
    app = web.Application(client_max_size=2**26)
    for name in ("constant", "validating", "joined", "paced", "embeddings"):
        app.router.add_post(f"/{name}", getattr(reference, name))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    whole = port_file.with_suffix(".whole")
    whole.write_text(json.dumps({"reference": f"http://127.0.0.1:{runner.addresses[0][1]}"}), encoding="utf-8")
    whole.replace(port_file)
    await asyncio.Event().wait()


if __name__ == "__main__":
    server.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))
