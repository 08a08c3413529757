"""Helpers that send requests to the control API and to a toy vendor."""

import asyncio
from collections.abc import Mapping

from emulator.core.json import Object, as_object
from tests.http_client import Answer, Running
from tests.untyped_json import JSON

KEY: Mapping[str, str] = {"x-key": "k"}


async def control(running: Running, method: str, target: str, body: JSON | bytes = None) -> Answer:
    """Send a request under ``/_emulator``; a string is sent unchanged."""
    payload = body.encode() if isinstance(body, str) else body
    return await running.ask("toy", f"/_emulator{target}", payload, method=method)


async def ask(running: Running, prompt: str = "Hi", session: str = "", **fields: JSON) -> Answer:
    """Send a chat request."""
    headers = {**KEY, **({"x-emulator-session": session} if session else {})}
    return await running.ask("toy", "/chat", {"prompt": prompt, "max": 3, **fields}, headers=headers)


async def whole(running: Running, answer: Answer) -> Object:
    """Return the journal entry of a request."""
    return as_object((await control(running, "GET", f"/requests/{answer.header('x-emulator-request-id')}")).json())


async def until_waiting(running: Running) -> None:
    """Wait until the journal has a watcher."""
    while not running.built.journal.watchers:
        await asyncio.sleep(0)
