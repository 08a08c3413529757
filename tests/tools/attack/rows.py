"""What one row of the list is: requests, and what an emulator has to be for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Answer, Desynchronised, Lost
from tests.untyped_json import JSON

CHATS = {
    "azure": ("/chat/completions?api-version=2024-05-01-preview", "mistral-small-2503"),
    "databricks": ("/serving-endpoints/databricks-meta-llama-3-3-70b-instruct/invocations", "x"),
    "mindie": ("/v1/chat/completions", "llama_65b"),
    "tgi": ("/v1/chat/completions", "tgi"),
    "openvino": ("/v3/chat/completions", "llama3"),
}
PLAIN: JSON = {"version": 1, "name": "plain"}
Act = Callable[[Server], Sequence[Answer | None]]


@dataclass(frozen=True, slots=True)
class Row:
    """One attack.

    Fields:
        vendor: receives the request and the ordinary call after it.
        act: does it; the answers, ``None`` where there was none.
        scenario: put to work before.
        flags: of ``emulator serve``.
        drops: the client may be hung up on.
        grown: MiB that memory may grow by meanwhile.
    """

    vendor: str
    name: str
    act: Act
    scenario: JSON = None
    flags: tuple[str, ...] = ()
    drops: bool = False
    grown: float = 100.0


def write(method: str, target: str, body: bytes = b"", *lines: str) -> bytes:
    """A whole request."""
    given = {line.partition(":")[0].lower() for line in lines}
    usual = {"host": "127.0.0.1", "authorization": "Bearer k", "content-type": "application/json"}
    head = [
        f"{method} {target} HTTP/1.1",
        *lines,
        *(f"{name}: {value}" for name, value in usual.items() if name not in given),
    ]
    if body:
        head = [
            *(line for line in head if not line.lower().startswith("content-length:")),
            f"Content-Length: {len(body)}",
        ]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def send(server: Server, place: str, data: bytes) -> Answer | None:
    """The answer to one request on a connection of its own; ``None``: there was none."""
    try:
        connection = server.connect(place)
    except OSError:
        return None
    with suppress(Lost):  # it may have answered before it had read all
        connection.send([data])
    try:
        return connection.read(is_head=data.startswith(b"HEAD "))
    except (Lost, TimeoutError, Desynchronised):
        return None
    finally:
        connection.close()


def sending(vendor: str, *makes: Callable[[], bytes]) -> Act:
    """One request after the other, each made before it is sent."""

    def act(server: Server) -> Sequence[Answer | None]:
        return [send(server, vendor, make()) for make in makes]

    return act


def chat(vendor: str, **fields: JSON) -> bytes:
    """Return the body of an ordinary chat with additional members."""
    messages = [{"role": "user", "content": "Hi"}]
    return json.dumps({"model": CHATS[vendor][1], "messages": messages, "max_tokens": 5, **fields}).encode()
