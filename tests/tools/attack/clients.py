"""Clients that open much and finish nothing, and calls that leave much behind."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from tests.tools.attack.rows import CHATS, Row, send, write
from tests.tools.fuzz.server import Server
from tests.tools.fuzz.wire import Answer
from tests.untyped_json import JSON

_CLIENTS = 1000
_LOOKS = 3.0  # seconds that they stay
_HELLO = bytes.fromhex("160301020001fc0303") + bytes(200)  # how TLS begins, cut short
_RESPONSES = "/openai/v1/responses"


def list_clients() -> Iterator[Row]:
    """Each with a server of its own where that needs a flag."""
    yield Row("front", f"{_CLIENTS} that begin TLS and never finish", _shake, flags=("--tls", "--tls-dir", "tls"))
    yield Row("tgi", f"{_CLIENTS} connections that say nothing", lambda server: _open(server, b""))
    head = b"POST / HTTP/1.1\r\nx: " + b"a" * 8000
    yield Row("tgi", f"{_CLIENTS} heads that do not end", lambda server: _open(server, head))
    half = write("POST", CHATS["tgi"][0], b"x" * 30_000)[:-1]
    yield Row("tgi", f"{_CLIENTS} bodies that do not end", lambda server: _open(server, half))
    yield Row("azure", "300 responses of 280 KB each that are kept", _keep)
    yield Row("azure", "a chain of 150 responses", _chain)
    yield Row("databricks", "1,500 endpoints that are made", _make_endpoints)
    yield Row("databricks", "300 endpoints of 1 MB each", lambda server: _make_endpoints(server, 300, 1_000_000))


def _open(server: Server, data: bytes, place: str = "tgi") -> Sequence[Answer | None]:
    with ExitStack() as opened:
        for _ in range(_CLIENTS):
            client = opened.enter_context(socket.create_connection(server.urls[place], timeout=20))
            if data:
                client.sendall(data)
        time.sleep(_LOOKS)
    return []


def _shake(server: Server) -> Sequence[Answer | None]:
    return _open(server, _HELLO, "front")


def _respond(server: Server, **fields: JSON) -> Answer | None:
    body = json.dumps({"model": "gpt-4o", "max_output_tokens": 16, **fields}).encode()
    return send(server, "azure", write("POST", _RESPONSES, body))


def _keep(server: Server) -> Sequence[Answer | None]:
    return [_respond(server, input=f"{number} " + "a text " * 40_000) for number in range(300)]


def _chain(server: Server) -> Sequence[Answer | None]:
    answers: list[Answer | None] = []
    before: dict[str, JSON] = {}
    for number in range(150):
        answer = _respond(server, input=f"{number} " + "go on " * 3_000, **before)
        answers.append(answer)
        before = {"previous_response_id": json.loads(answer.body)["id"]} if answer and answer.status == 200 else {}
    return answers


def _make_endpoints(server: Server, count: int = 1500, size: int = 10) -> Sequence[Answer | None]:
    answers = []
    for number in range(count):
        entity = {"name": "a", "entity_name": "system.ai.x", "entity_version": "1", "workload_size": "Small"}
        tags = [{"key": "k", "value": "v" * size}]
        asked = {"name": f"e{number}", "config": {"served_entities": [entity]}, "tags": tags}
        answers.append(
            send(server, "databricks", write("POST", "/api/2.0/serving-endpoints", json.dumps(asked).encode()))
        )
    return answers
