"""``Strict-Transport-Security``: browsers would use TLS for every port of the host."""

import json

import pytest

from tests.conftest import Start
from tests.http_client import Running, read_answer
from tests.untyped_json import JSON

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
SENT = [  # every kind of response that a gateway sends
    ("POST", "/openai/v1/chat/completions", CHAT),
    ("POST", "/openai/v1/chat/completions", {**CHAT, "stream": True}),
    ("POST", "/openai/v1/responses", {"model": "gpt-4o", "input": "Hello", "store": True}),
    ("GET", "/openai/v1/models", None),
    ("GET", "/openai/v1/chat/completions", None),
    ("GET", "/openai/v1/responses/none", None),
    ("POST", "/openai/v1/nowhere", {}),
]


async def ask(running: Running, method: str, target: str, host: str, body: JSON) -> str | None:
    """Return the header of a response to a request that was sent to a host."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\napi-key: k\r\nContent-Length: {len(data)}\r\n\r\n"
    reader, writer = await running.connect("azure")
    writer.write(head.encode() + data)
    answer = await read_answer(reader)
    writer.close()
    await writer.wait_closed()
    return answer.header("Strict-Transport-Security")


@pytest.mark.covers("azure/headers of an answer", "Strict-Transport-Security")
@pytest.mark.parametrize(
    ("setting", "host", "is_sent"),
    [
        pytest.param("", "localhost:4012", False, id="this machine"),
        pytest.param("", "a.localhost", False, id="a session's host"),
        pytest.param("", "127.0.0.1:4012", False, id="its address"),
        pytest.param("", "[::1]:4012", False, id="the other one"),
        pytest.param("", "[", False, id="no host"),
        pytest.param("", "res.openai.azure.com", True, id="another host"),
        pytest.param("hsts: false", "res.openai.azure.com", False, id="never"),
        pytest.param("hsts: true", "localhost", True, id="always"),
    ],
)
async def test_browsers_are_not_bound_on_this_machine(start: Start, setting: str, host: str, is_sent: bool) -> None:
    running = await start(f"vendors: {{azure: {{{setting}}}}}\n")
    found = {await ask(running, method, target, host, body) for method, target, body in SENT}
    assert found == {"max-age=31536000; includeSubDomains; preload" if is_sent else None}
