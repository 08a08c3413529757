"""Services to record in tests: a recording server before them, and one that answers as a test says."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from emulator.http.connection import IncomingRequest
from emulator.http.listeners import ConnectionServer
from emulator.recording.folder import ExchangeFolder
from emulator.recording.relay import Relay
from emulator.recording.server import RecordServer

Answer = Callable[[IncomingRequest], Coroutine[object, object, bool]]


@asynccontextmanager
async def recording(upstreams: Mapping[str, str], path: Path, silence: float = 60.0) -> AsyncIterator[RecordServer]:
    """A recording server; its folder is complete once the block has ended."""
    folder = ExchangeFolder(path)
    folder.prepare()
    server = RecordServer(Relay(upstreams, silence=silence), folder)
    await server.open("127.0.0.1", {})
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def serving(answer: Answer, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of a service that writes its bytes itself."""
    web = ConnectionServer(answer)
    server = await asyncio.get_running_loop().create_server(web, "127.0.0.1", 0, ssl=context)
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await web.finish(0.1)
