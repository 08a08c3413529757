"""Calls that an equal later request may use again: nothing in them depends on who asks when."""

import json

import pytest

from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.server.routing import Router
from emulator.vendors.mindie import VENDOR as MINDIE
from emulator.vendors.tgi import VENDOR as TGI
from tests.parsed import JSON
from tests.vendors.mindie.direct import PROMPT, service

MESSAGES = [{"role": "user", "content": PROMPT}]
CALLED = [
    {"role": "user", "content": PROMPT},
    {
        "role": "assistant",
        "tool_calls": [{"id": "call_x", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "content": "1", "tool_call_id": "call_x"},
]


def read(name: str, path: str, body: JSON, key: bytes) -> Call:
    vendor = {"mindie": MINDIE, "tgi": TGI}[name]
    headers = {"Content-Type": "application/json", "X-Request-Id": key.hex()}
    request = WireRequest(method="POST", path=path, headers=headers, body=json.dumps(body).encode(), key=key)
    endpoint, request.params = Router(vendor.endpoints).resolve("POST", path)
    call = endpoint.parse(request, service(name))
    assert isinstance(call, Call)
    return call


@pytest.mark.parametrize(
    ("vendor", "path", "body"),
    [
        pytest.param("mindie", "/", {"inputs": PROMPT, "parameters": {"details": True}}, id="MindIE root"),
        pytest.param("mindie", "/generate", {"prompt": PROMPT}, id="MindIE in vLLM's form"),
        pytest.param("mindie", "/infer", {"inputs": PROMPT}, id="MindIE's own form"),
        pytest.param("mindie", "/v1/chat/completions", {"model": "llama_65b", "messages": MESSAGES}, id="MindIE chat"),
        pytest.param("mindie", "/v1/completions", {"model": "llama_65b", "prompt": PROMPT}, id="MindIE completions"),
        pytest.param("mindie", "/v2/models/llama_65b/generate", {"text_input": PROMPT}, id="MindIE Triton"),
        pytest.param("tgi", "/", {"inputs": PROMPT, "parameters": {"details": True}}, id="TGI root"),
        pytest.param("tgi", "/v1/chat/completions", {"messages": MESSAGES}, id="TGI chat"),
        pytest.param("tgi", "/v1/chat/completions", {"messages": CALLED}, id="TGI chat after a foreign call id"),
        pytest.param("tgi", "/v1/completions", {"prompt": PROMPT}, id="TGI completions"),
    ],
)
def test_equal_requests_are_read_alike(vendor: str, path: str, body: JSON) -> None:
    one, other = (read(vendor, path, body, bytes([number] * 16)) for number in (1, 2))
    assert one.repeatable
    assert (one.ask, one.stream, one.prompt_tokens) == (other.ask, other.stream, other.prompt_tokens)
    assert repr(one.context) == repr(other.context)


def test_headers_that_are_read_are_named() -> None:
    assert set(MINDIE.reads) == {"req-type", "req-id", "d-target"}
    assert TGI.reads == ("Content-Type",)
