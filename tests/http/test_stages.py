"""Stages of a request and what may happen in each: afterwards nothing runs, and the journal has the call once."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from emulator.core.clock import FrozenClock
from emulator.core.cost_limits import INLINE_BYTES
from emulator.core.json import dump_json
from emulator.http.listeners import Listeners
from emulator.http.timeouts import ConnectionPhase
from emulator.scenario.load import load_text
from emulator.serve.application import create_application
from tests.handler.toy import TOY
from tests.http_client import Answer, Running, read_answer
from tests.untyped_json import JSON

_BOUND = 20.0  # seconds that a test waits for what must happen; it takes milliseconds
_AMOUNT = 2_000_000  # tokens of the quota
_LONG = "0123456789abcdef" * 10_000
SCENARIO = f"""
version: 1
name: stages
clock: frozen
latency: {{ttft: 1s, itl: 1s, load: {{capacity: 1, factor: 1}}}}
limits: [{{unit: tokens, amount: {_AMOUNT}, window: 1h, strategy: fixed}}, {{unit: concurrency, amount: 3}}]
rules:
- {{name: long, when: {{prompt: {{contains: long}}}}, latency: {{ttft: 0s, itl: 0s}}, reply: {{text: {_LONG}}}}}
- {{name: quick, when: {{prompt: {{contains: quick}}}}, latency: {{ttft: 0s, itl: 0s}}, reply: {{text: Quick.}}}}
- {{name: hung, when: {{prompt: {{contains: hung}}}}, latency: {{ttft: 0s, itl: 0s}}, faults: [{{type: hang}}]}}
"""


async def until(holds: Callable[[], object]) -> None:
    """Yield to the loop until a condition holds."""
    async with asyncio.timeout(_BOUND):
        while not holds():
            await asyncio.sleep(0)


def call(prompt: str, size: int = 0, **fields: JSON) -> bytes:
    """Return a request of the toy's chat."""
    body = dump_json({"prompt": prompt, "max": 1_000_000 if prompt == "long" else 3, **fields}) + b" " * size
    return b"POST /chat HTTP/1.1\r\nHost: x\r\nx-key: k\r\nContent-Length: %d\r\n\r\n" % len(body) + body


ECHO = b"GET /echo HTTP/1.1\r\nHost: x\r\nx-key: k\r\n\r\n"


class Client:
    """Client that reads only on demand."""

    def __init__(self, served: Running, room: int | None = None) -> None:
        url = urlsplit(served.urls["toy"])
        self.sock = socket.socket()
        if room is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.sock.connect((url.hostname, url.port))
        self.sock.setblocking(False)

    def send(self, data: bytes) -> None:
        assert self.sock.send(data) == len(data)

    async def read(self) -> asyncio.StreamReader:
        """Begin to read."""
        reader, self._writer = await asyncio.open_connection(sock=self.sock)
        return reader

    def leave(self) -> None:
        if hasattr(self, "_writer"):
            self._writer.close()
        else:
            self.sock.close()

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


@dataclass(eq=False)
class Stage:
    """Request that has reached a stage.

    Fields:
        rest: what the client has not sent yet.
        others: clients with calls that hold what the request waits for.
    """

    served: Running
    listeners: Listeners
    client: Client
    rest: bytes = b""
    others: list[Client] = field(default_factory=list)

    @property
    def clock(self) -> FrozenClock:
        clock = self.served.built.clock
        assert isinstance(clock, FrozenClock)
        return clock

    @property
    def in_flight(self) -> int:
        return self.served.built.runtime.metrics["toy"].in_flight()

    @property
    def busy(self) -> list[tuple[int, int]]:
        emulator = self.served.built.runtime.active.emulator
        return [(running, waiting) for _, running, waiting in emulator.busy if running or waiting]

    async def let_time_pass(self, done: Callable[[], object]) -> None:
        """Advance the clock until a condition holds."""

        def advance() -> object:
            if self.clock._sleepers:
                self.clock.advance(1.0)
            return done()

        await until(advance)


Reach = Callable[[Stage], Awaitable[None]]


async def send_half(stage: Stage, data: bytes, at: int, phase: ConnectionPhase) -> None:
    stage.rest = data[at:]
    stage.client.send(data[:at])
    await until(lambda: [client.phase for client in stage.served.clients] == [phase])


async def send_half_a_head(stage: Stage) -> None:
    await send_half(stage, call("quick"), 30, ConnectionPhase.HEAD)


async def send_half_a_body(stage: Stage) -> None:
    await send_half(stage, call("quick"), -5, ConnectionPhase.BODY)


async def send_half_a_body_to_a_remembered_head(stage: Stage) -> None:
    assert (await stage.served.ask("toy", "/echo", headers={"x-key": "k"})).status == 200
    other = Client(stage.served)
    other.send(call("quick"))
    await read_answer(await other.read())
    other.leave()
    await until(lambda: len(stage.served.clients) == 1)
    stage.served.built.runtime.reset()
    await send_half_a_body(stage)


async def send_half_a_long_body(stage: Stage) -> None:
    await send_half(stage, call("quick", INLINE_BYTES), -5, ConnectionPhase.BODY)
    await until(lambda: stage.in_flight)


async def wait_for_a_slot(stage: Stage) -> None:
    holder = Client(stage.served)
    stage.others.append(holder)
    holder.send(call("holder"))
    await until(lambda: stage.busy == [(1, 0)])
    stage.client.send(call("waits"))
    await until(lambda: stage.busy == [(1, 1)])


async def wait_for_its_time(stage: Stage) -> None:
    stage.client.send(call("timed"))
    await until(lambda: stage.clock._sleepers)


async def pace_a_stream(stage: Stage) -> None:
    stage.client.send(call("paced", stream=True))
    await until(lambda: stage.clock._sleepers)
    stage.clock.advance(1.0)
    await until(lambda: stage.clock._sleepers)


async def stream_to_a_slow_reader(stage: Stage) -> None:
    await until(lambda: stage.served.clients)
    transport = stage.served.clients[0].transport
    assert transport is not None
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    stage.client.send(call("long", stream=True))
    await until(lambda: [client.phase for client in stage.served.clients] == [ConnectionPhase.UNREAD])


async def hang(stage: Stage) -> None:
    stage.client.send(call("hung"))
    await until(lambda: stage.in_flight)


async def answer_unread(stage: Stage) -> None:
    stage.client.send(call("quick"))
    await until(lambda: list(stage.served.built.journal) and not stage.in_flight)


STAGES = [
    pytest.param(send_half_a_head, 0, id="half a head"),
    pytest.param(send_half_a_body, 0, id="half a body"),
    pytest.param(send_half_a_body_to_a_remembered_head, 0, id="half a body to a remembered head"),
    pytest.param(send_half_a_long_body, 1, id="half a long body"),
    pytest.param(wait_for_a_slot, 1, id="waiting for a slot"),
    pytest.param(wait_for_its_time, 1, id="waiting for its time"),
    pytest.param(pace_a_stream, 1, id="in a paced stream"),
    pytest.param(stream_to_a_slow_reader, 1, id="a stream that is read slowly"),
    pytest.param(hang, 1, id="hanging"),
    pytest.param(answer_unread, 1, id="written but unread"),
]


@asynccontextmanager
async def reached(reach: Reach) -> AsyncIterator[Stage]:
    """Bring a request to a stage; check that no object of it remains when its connections are closed."""
    built = create_application(load_text(SCENARIO), vendors={"toy": TOY})
    listeners = Listeners(built.runtime, built.control, _BOUND)
    await listeners.open("127.0.0.1", {"front": 0, "toy": 0})
    served = Running(built, listeners.urls, listeners=listeners)
    before = asyncio.all_tasks()
    stage = Stage(served, listeners, Client(served, 4096))
    try:
        await reach(stage)
        yield stage
        for other in stage.others:
            other.leave()
        await until(lambda: not served.clients)
        await until(lambda: not asyncio.all_tasks() - before)
        assert stage.in_flight == 0
        assert stage.busy == []
        await check_quotas(stage)
    finally:
        stage.client.leave()
        await listeners.close()


async def check_quotas(stage: Stage) -> None:
    """Check that each call costs the tokens it was sent, and that none counts as running."""
    entries = [entry for entry in stage.served.built.journal if entry.completion_tokens]
    spent = sum(entry.prompt_tokens + entry.sent_tokens for entry in entries)
    emulator = stage.served.built.runtime.active.emulator
    levels = await emulator.state.levels("", emulator.clock.now() - emulator.started)
    left = {level.quota.unit: level.left for level in levels}
    assert (left.get("tokens", _AMOUNT), left.get("concurrency", 3)) == (_AMOUNT - spent, 3)


def outcomes(stage: Stage) -> list[tuple[bool, bool]]:
    """Return for each call of the client whether it is whole, and whether the client left before."""
    return [
        (entry.whole, entry.client_left)
        for entry in stage.served.built.journal
        if entry.payload is not None and b"holder" not in entry.payload.request.body
    ]


LEAVE = [
    pytest.param(Client.leave, id="closes"),
    pytest.param(Client.reset, id="resets"),
    pytest.param(lambda client: client.sock.shutdown(socket.SHUT_WR), id="half-closes"),
]


@pytest.mark.parametrize("leave", LEAVE)
@pytest.mark.parametrize(("reach", "count"), STAGES)
async def test_a_client_that_leaves(reach: Reach, count: int, leave: Callable[[Client], None]) -> None:
    async with reached(reach) as stage:
        leave(stage.client)
        if stage.client.sock.fileno() >= 0 and reach is stream_to_a_slow_reader:
            reader = await stage.client.read()  # the server closes once what it has written is read
            assert not (await reader.read()).endswith(b"0\r\n\r\n")
        await until(lambda: len(stage.served.clients) == len(stage.others))
        assert outcomes(stage) == [(reach is answer_unread, reach is not answer_unread)] * count


@pytest.mark.parametrize(("reach", "count"), STAGES)
async def test_a_client_that_asks_again_meanwhile(reach: Reach, count: int) -> None:
    async with reached(reach) as stage:
        stage.client.send(stage.rest + ECHO)
        reader = await stage.client.read()
        if reach is hang:
            stage.client.leave()
            await until(lambda: len(stage.served.clients) == len(stage.others))
            assert outcomes(stage) == [(False, True)]
            return
        answers: list[Answer] = []

        async def read() -> None:
            answers.extend([await read_answer(reader), await read_answer(reader)])

        reading = asyncio.create_task(read())
        await stage.let_time_pass(reading.done)
        await reading
        assert [answer.status for answer in answers] == [200, 200]
        assert answers[1].json()["path"] == "/echo"
        assert outcomes(stage) == [(True, False)] * 2
        stage.client.leave()


@pytest.mark.parametrize(("reach", "count"), STAGES)
async def test_a_server_that_shuts_down(reach: Reach, count: int) -> None:
    """What has begun is answered to its end; half a head is not waited for."""
    async with reached(reach) as stage:
        closing = asyncio.create_task(stage.listeners.close())
        await until(lambda: stage.served.built.runtime.closing.is_set())
        clients = stage.served.clients
        has_begun = reach not in (send_half_a_head, hang)
        if has_begun and stage.rest:
            await until(lambda: all(client._is_ending for client in clients))
            stage.client.send(stage.rest)
        reader = await stage.client.read()
        if has_begun:
            assert (await read_answer(reader)).status == 200
        assert await reader.read() == b""
        stage.client.leave()
        await closing
        assert outcomes(stage) == [(True, False)] * has_begun or (reach is hang and outcomes(stage) == [(False, False)])
