"""Run one of several worker processes (``--workers``): the program that ``supervisor.py`` starts for each.

Orders come as one line on stdin; the URLs that the worker serves go out as one line on stdout.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from emulator.core.deferred import defer_package
from emulator.settings import SettingsError

if TYPE_CHECKING:
    from emulator.serve.server import PreparedServer
    from emulator.serve.supervisor import WorkerOrders


def main() -> int:
    """Serve until a signal, or until the parent process ends."""
    defer_package("aiohttp")  # as ``emulator serve`` does, before what imports its modules
    from emulator.observability.spans import open_spans
    from emulator.serve.server import prepare

    orders: WorkerOrders = pickle.loads(base64.b64decode(sys.stdin.buffer.readline()))  # noqa: S301  # from the parent, by a pipe
    settings = orders.settings if orders.number == 0 else replace(orders.settings, report=None)  # worker 0 writes it
    with open_spans(os.environ) as spans:
        prepared = prepare(settings, spans)
        return 2 if prepared is None else prepared.run(_work(prepared, orders.ports))


async def _work(prepared: PreparedServer, ports: Mapping[str, int]) -> int:
    from emulator.serve.server import serve

    lifeline = asyncio.create_task(_follow_stdin())
    try:
        return await serve(prepared, ports, _announce, shares_ports=True)
    finally:
        lifeline.cancel()


def _announce(urls: Mapping[str, str]) -> None:
    """Report the URLs to the parent on stdout, which carries nothing else."""
    os.write(sys.stdout.fileno(), json.dumps(dict(urls)).encode() + b"\n")


async def _follow_stdin() -> None:
    """Stop the process when its stdin closes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SettingsError as error:
        print(f"emulator: error: {error}", file=sys.stderr)
        sys.exit(2)
